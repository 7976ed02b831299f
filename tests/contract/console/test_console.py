"""The console over HTTP, with a real service: who may come in, what others see, and how it ends."""

import subprocess
import time
from collections.abc import Iterator
from pathlib import Path

import pytest

from rockdove.server.signin import MOST_WRONG
from tests.support.console import Browser, Console
from tests.support.port import free_port
from tests.support.server import COMMAND, Server

PASSWORD = "correct horse"


def add_account(data: Path, name: str) -> None:
    command = [*COMMAND, "account", "add", name, "--data", str(data), "--password-stdin"]
    subprocess.run(command, input=PASSWORD, text=True, check=True, capture_output=True)


@pytest.fixture(scope="module")
def guarded(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Console]:
    """Of a service with two accounts."""
    folder = tmp_path_factory.mktemp("guarded")
    for name in ("alice", "bob", "carol"):
        add_account(folder / "data", name)
    server = Server(folder, "--workers", "0")
    console = Console(folder, server.endpoint)
    yield console
    console.process.stop()
    server.stop()


@pytest.fixture(scope="module")
def service(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Server]:
    """Without accounts."""
    server = Server(tmp_path_factory.mktemp("open"), "--workers", "0", store="memory")
    yield server
    server.stop()


@pytest.fixture(scope="module")
def console(service: Server) -> Iterator[Console]:
    console = Console(service.folder, service.endpoint)
    yield console
    console.process.stop()


def test_who_is_not_signed_in_is_sent_to_sign_in_and_back(guarded: Console) -> None:
    browser = Browser(guarded)
    asked = browser.get("/?x=1")
    assert (asked.status, asked.headers["location"]) == (303, "/login?next=/%3Fx%3D1")
    assert browser.ask("POST", "/api/queues", "{}", {"Origin": guarded.origin}).json["signed_out"]
    signed_in = browser.sign_in("alice", PASSWORD, "/?x=1")
    assert (signed_in.status, signed_in.headers["location"]) == (303, "/?x=1")
    assert browser.get("/").status == 200


def test_the_cookie_is_for_the_console_alone_and_new_at_every_sign_in(guarded: Console) -> None:
    browser = Browser(guarded)
    cookie = browser.sign_in("alice", PASSWORD).headers["set-cookie"]
    assert "HttpOnly" in cookie
    assert "SameSite=strict" in cookie
    assert "Path=/" in cookie
    first = browser.cookie
    browser.sign_in("alice", PASSWORD)
    assert browser.cookie != first
    earlier = Browser(guarded)
    earlier.cookie = first
    assert earlier.get("/").status == 303


def test_a_wrong_password_is_told_and_the_name_stays(guarded: Console) -> None:
    browser = Browser(guarded)
    told = browser.sign_in("alice", "wrong horse")
    assert "The name or the password is wrong" in told.text
    assert 'value="alice"' in told.text
    assert "wrong horse" not in told.text
    assert not browser.cookie


def test_too_many_wrong_passwords_lock_the_account(guarded: Console) -> None:
    browser = Browser(guarded)
    for _ in range(MOST_WRONG):
        browser.sign_in("carol", "wrong horse")
    assert "Too many wrong passwords" in browser.sign_in("carol", PASSWORD).text
    assert not browser.cookie


def test_an_account_sees_and_changes_its_own_queues_alone(guarded: Console) -> None:
    alice, bob = Browser(guarded), Browser(guarded)
    alice.sign_in("alice", PASSWORD)
    bob.sign_in("bob", PASSWORD)
    assert alice.post("/api/queues", {"name": "alices"}).json["ok"]
    stream, other = alice.stream("page=queues"), bob.stream("page=queues")
    assert [row["name"] for row in stream.until("rows")["rows"]] == ["alices"]
    assert other.until("rows")["rows"] == []
    for deed in ("delete", "purge"):
        assert not bob.post(f"/api/queues/alices/{deed}", {"typed": "alices"}).json["ok"]
    owner = alice.get("/api/session").json["id"]
    assert bob.ask("GET", f"/events?page=queue&account={owner}&name=alices").status == 403
    assert alice.get("/api/queues/alices/attributes").json["attributes"]["QueueArn"].endswith(":alices")
    assert bob.get("/accounts").status == 403
    stream.close()
    other.close()


@pytest.mark.parametrize("headers", [{}, {"Origin": "http://elsewhere.example"}, {"Origin": "null"}])
def test_what_comes_from_another_page_changes_nothing(guarded: Console, headers: dict[str, str]) -> None:
    browser = Browser(guarded)
    browser.sign_in("alice", PASSWORD)
    assert browser.ask("POST", "/api/queues", '{"name": "forged"}', headers).status == 403
    assert browser.ask("POST", "/logout", "", headers).status == 403
    assert browser.get("/").status == 200


def test_signing_out_ends_open_pages_at_once(guarded: Console) -> None:
    browser, elsewhere = Browser(guarded), Browser(guarded)
    browser.sign_in("alice", PASSWORD)
    elsewhere.sign_in("alice", PASSWORD)
    mine, other = browser.stream("page=queues"), elsewhere.stream("page=other")
    mine.until("rows")
    before = browser.cookie
    browser.submit("/logout")
    mine.until("ended")
    assert mine.next() is None
    browser.cookie = before
    assert browser.get("/").status == 303
    assert elsewhere.get("/").status == 200
    browser.sign_in("alice", PASSWORD)
    browser.submit("/logout", everywhere="1")
    other.until("ended")
    assert elsewhere.get("/").status == 303
    mine.close()
    other.close()


def test_without_accounts_nobody_signs_in(console: Console) -> None:
    browser = Browser(console)
    assert browser.get("/").status == 200
    assert browser.get("/login").headers["location"] == "/"


def test_what_is_sent_shows_within_two_seconds(console: Console, service: Server) -> None:
    browser, sqs = Browser(console), service.client()
    stream = browser.stream("page=queues")
    stream.until("rows")
    url = sqs.create_queue(QueueName="seen")["QueueUrl"]
    assert stream.until("rows")["rows"][0]["name"] == "seen"
    began_s = time.monotonic()
    sqs.send_message(QueueUrl=url, MessageBody="hello")
    assert stream.until("rows")["rows"][0]["visible"] == 1
    assert time.monotonic() - began_s < 2
    stream.close()


def test_a_queue_is_made_changed_and_deleted(console: Console, service: Server) -> None:
    browser, sqs = Browser(console), service.client()
    order = {"name": "dead", "fifo": True, "attributes": {"VisibilityTimeout": "", "ContentBasedDeduplication": "true"}}
    assert browser.post("/api/queues", order).json == {"ok": True, "name": "dead.fifo"}
    order = {"name": "work.fifo", "attributes": {"DeadLetterQueue": "dead.fifo", "MaxReceiveCount": "7"}}
    assert browser.post("/api/queues", order).json["ok"]
    url = sqs.get_queue_url(QueueName="work.fifo")["QueueUrl"]
    policy = sqs.get_queue_attributes(QueueUrl=url, AttributeNames=["All"])["Attributes"]["RedrivePolicy"]
    assert policy.endswith(':dead.fifo", "maxReceiveCount": 7}')
    form = browser.get("/api/queues/work.fifo/attributes").json["attributes"]
    assert (form["DeadLetterQueue"], form["MaxReceiveCount"]) == ("dead.fifo", "7")
    changes = {"DeadLetterQueue": "", "DelaySeconds": "3"}
    assert browser.post("/api/queues/work.fifo/attributes", {"attributes": changes}).json["ok"]
    told = sqs.get_queue_attributes(QueueUrl=url, AttributeNames=["All"])["Attributes"]
    assert told["DelaySeconds"] == "3"
    assert "RedrivePolicy" not in told
    assert browser.post("/api/queues/work.fifo/delete", {"typed": "work"}).json["field"] == "typed"
    assert browser.post("/api/queues/work.fifo/delete", {"typed": "work.fifo"}).json["ok"]
    assert [url.rpartition("/")[2] for url in sqs.list_queues(QueueNamePrefix="work").get("QueueUrls", [])] == []


@pytest.mark.parametrize(
    ("order", "field"),
    [
        ({"name": ""}, "name"),
        ({"name": "a b"}, "name"),
        ({"name": "new", "attributes": {"DelaySeconds": "901"}}, "DelaySeconds"),
        ({"name": "new", "attributes": {"DeadLetterQueue": "none"}}, "DeadLetterQueue"),
        ({"name": "new", "attributes": {"RockdoveElastic": "{"}}, "RockdoveElastic"),
    ],
)
def test_what_cannot_be_is_told_beside_its_input(console: Console, order: object, field: str) -> None:
    told = Browser(console).post("/api/queues", order)
    assert told.status == 400
    assert told.json["field"] == field
    assert told.json["error"]


@pytest.mark.parametrize("path", ["/api/queues", "/plan/simulation"])
@pytest.mark.parametrize("body", ["", "[]", '{"name": "\xff"}', '{"other": ' + "[" * 100_000])
def test_what_is_no_order_is_told(console: Console, path: str, body: str) -> None:
    # The text is sent as Latin-1.
    told = Browser(console).ask("POST", path, body, {"Origin": console.origin})
    assert told.status == 400
    assert "did not understand" in told.json["error"]


def test_it_ends_though_pages_are_open(service: Server) -> None:
    console = Console(service.folder, service.endpoint)
    stream = Browser(console).stream("page=queues")
    stream.until("rows")
    began_s = time.monotonic()
    assert console.process.stop() == 0
    assert time.monotonic() - began_s < 10
    # Pages try again; they are not signed out.
    while (event := stream.next()) is not None:
        assert event[0] != "ended"
    stream.close()


def ended(*arguments: str) -> tuple[int, str]:
    done = subprocess.run([*COMMAND, "console", *arguments], capture_output=True, text=True, timeout=60, check=False)
    return done.returncode, done.stderr


def test_others_can_reach_it_only_if_there_are_accounts(service: Server) -> None:
    code, text = ended("--endpoint", service.endpoint, "--host", "0.0.0.0", "--port", str(free_port()))
    assert code == 5
    assert "has no accounts to keep them out" in text


def test_a_port_that_is_taken_is_told(console: Console, service: Server) -> None:
    code, text = ended("--endpoint", service.endpoint, "--port", str(console.port))
    assert code == 1
    assert f"port {console.port} of 127.0.0.1 is in use" in text
