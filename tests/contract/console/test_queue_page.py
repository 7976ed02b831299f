"""The page of one queue over HTTP, with a real service: all that its buttons do."""

import time
from collections.abc import Iterator
from typing import Any

import pytest

from rockdove.client import Client
from rockdove.core.limits import MAX_MESSAGE_BYTES
from tests.support.console import Browser, Console
from tests.support.server import Server

OWNER = "000000000000"
PATIENCE_S = 20.0


@pytest.fixture(scope="module")
def service(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Server]:
    server = Server(tmp_path_factory.mktemp("queue-page"), "--workers", "0", store="memory")
    yield server
    server.stop()


@pytest.fixture(scope="module")
def console(service: Server) -> Iterator[Console]:
    console = Console(service.folder, service.endpoint)
    yield console
    console.process.stop()


class Page:
    """Of a queue, as its scripts use it."""

    def __init__(self, console: Console, name: str) -> None:
        self._browser = Browser(console)
        self._api = f"/api/queue/{OWNER}/{name}"
        self.shown = self._browser.get(f"/queues/{OWNER}/{name}")

    def read(self, what: str) -> Any:
        return self._browser.get(f"{self._api}/{what}").json

    def do(self, what: str, **order: object) -> Any:
        return self._browser.post(f"{self._api}/{what}", order).json


@pytest.fixture
def client(service: Server) -> Iterator[Client]:
    with Client(service.endpoint) as client:
        yield client


@pytest.fixture
def page(console: Console, client: Client, new_name: Any) -> Page:
    name = new_name()
    client.create_queue(name)
    return Page(console, name)


def test_the_page_has_programs_with_the_service_s_address(page: Page, service: Server, console: Console) -> None:
    assert page.shown.status == 200
    assert f"endpoint_url=&#34;{service.endpoint}&#34;" in page.shown.text
    assert console.origin not in page.shown.text


def test_another_account_s_address_is_refused(console: Console) -> None:
    browser = Browser(console)
    assert browser.get("/queues/111111111111/jobs").status == 403
    assert browser.get("/api/queue/111111111111/jobs/peek").status == 403


def test_a_queue_that_there_is_not_is_told(console: Console) -> None:
    assert "There is no such queue" in Page(console, "nowhere").shown.text


def test_what_is_sent_is_seen_and_not_disturbed(page: Page) -> None:
    row = {"place": 1, "name": "size", "kind": "Number", "value": "3"}
    sent = page.do("send", body="é" * 3_000, attributes=[row])
    assert sent["ok"]
    for _ in range(2):
        (seen,) = page.read("peek")["messages"]
    assert (seen["id"], seen["state"], seen.get("receives", 0)) == (sent["id"], "visible", 0)
    assert (len(seen["body"]), seen["size"], seen["is_cut"]) == (2_000, 6_000, True)
    assert seen["message_attributes"] == [{"name": "size", "type": "Number", "value": "3"}]
    whole = page.read(f"message?id={seen['id']}&sent={seen['sent']}&physical={seen['physical']}")
    assert len(whole["body"]) == 3_000


def test_the_largest_message_is_sent_though_it_takes_twice_as_much_as_json(page: Page) -> None:
    assert page.do("send", body='"' * MAX_MESSAGE_BYTES)["ok"]
    (message,) = page.read("peek")["messages"]
    assert message["size"] == MAX_MESSAGE_BYTES


def test_pages_of_messages_hold_each_message_once(page: Page) -> None:
    for number in range(45):
        page.do("send", body=str(number), group="even" if number % 2 == 0 else "odd")
    bodies: list[str] = []
    token = ""
    while True:
        told = page.read(f"peek?token={token}")
        bodies += [message["body"] for message in told["messages"]]
        token = told["next"]
        if token is None:
            break
    assert sorted(bodies, key=int) == [str(number) for number in range(45)]
    assert {message["group"] for message in page.read("peek?group=odd")["messages"]} == {"odd"}
    assert page.read("peek?order=next")["next"] is None


def test_messages_are_received_extended_put_back_and_deleted(page: Page) -> None:
    for number in range(3):
        page.do("send", body=str(number))
    received = page.do("receive", limit="3", visibility="40")
    receipts = [message["receipt"] for message in received["messages"]]
    assert len(receipts) == 3
    assert received["until"] - time.time() == pytest.approx(40, abs=10)
    assert {message["state"] for message in page.read("peek")["messages"]} == {"in-flight"}
    assert page.do("extend", receipts=receipts[:1], seconds="0")["failed"] == {}
    extended = page.do("extend", receipts=receipts[1:], seconds="300")
    assert extended["until"] - time.time() == pytest.approx(300, abs=10)
    assert page.do("delete-messages", receipts=receipts[1:])["failed"] == {}
    assert [message["state"] for message in page.read("peek")["messages"]] == ["visible"]
    again = page.do("extend", receipts=receipts, seconds="10")
    again = page.do("extend", receipts=receipts[1:], seconds="10")
    assert set(again["failed"]) == set(receipts[1:])
    assert page.do("extend", receipts=receipts, seconds="")["field"] == "seconds"


def test_a_wait_for_a_message_ends_with_it(page: Page) -> None:
    assert page.do("receive", wait="1")["messages"] == []
    assert page.do("receive", wait="21")["field"] == "wait"


def test_the_weights_and_states_of_physical_queues_change(console: Console, client: Client, new_name: Any) -> None:
    name = new_name()
    client.create_queue(name, attributes={"RockdovePhysicalQueues": "3"})
    page = Page(console, name)
    assert page.do("physical", index=1, weight="3")["ok"]
    assert page.do("physical", index=2, state="draining")["ok"]
    assert [part["share"] for part in page.read("physical")["parts"]] == [0.25, 0.75, 0.0]
    assert page.do("physical", index=1, weight="-1")["field"] == "weight"


def test_a_consumer_s_leases_are_taken_back(console: Console, client: Client, new_name: Any) -> None:
    name = new_name()
    client.create_queue(name)
    client.send_batch(name, ["a", "b"])
    client.lease_batch(name, "nightly", 0, 0)
    page = Page(console, name)
    (holder,) = page.read("leases")["holders"]
    assert (holder["consumer"], holder["messages"], len(holder["held"])) == ("nightly", 2, 1)
    assert page.do("leases/release", consumer="nightly")["messages"] == 2
    assert page.read("leases")["holders"] == []


def test_dead_letters_go_back_with_progress(console: Console, client: Client, new_name: Any) -> None:
    dead, source = new_name(), new_name()
    client.create_queue(dead)
    arn = client.attributes(dead, ["QueueArn"])["QueueArn"]
    policy = f'{{"deadLetterTargetArn": "{arn}", "maxReceiveCount": 1}}'
    client.create_queue(source, attributes={"RedrivePolicy": policy, "VisibilityTimeout": "0"})
    client.send_batch(source, ["a", "b", "c"])
    page = Page(console, dead)
    deadline = time.monotonic() + PATIENCE_S
    while len(page.read("peek")["messages"]) < 3 and time.monotonic() < deadline:
        client.receive(source, limit=10)
    assert page.read("redrive")["sources"] == [source]
    assert page.do("redrive", destination="nowhere")["field"] == "destination"
    assert page.do("redrive", rate="501")["field"] == "rate"
    handle = page.do("redrive", rate="1")["handle"]
    (task,) = page.read("redrive")["tasks"]
    assert (task["status"], task["handle"], task["rate"], task["to_move"]) == ("RUNNING", handle, 1, 3)
    assert page.do("redrive/cancel", handle=handle)["moved"] <= 3


def test_tags_and_permissions(page: Page) -> None:
    assert page.do("tags", key="team", value="shop")["ok"]
    assert page.read("tags")["tags"] == [{"key": "team", "value": "shop"}]
    assert page.do("tags/remove", key="team")["ok"]
    assert page.read("tags")["tags"] == []
    assert page.do("access/grant", label="one", accounts="12", actions=["SendMessage"])["field"] == "accounts"
    assert page.do("access/grant", label="one", accounts="123456789012", actions=["SendMessage"])["ok"]
    assert page.do("access/grant", label="one", accounts="123456789012", actions=["SendMessage"])["field"] == "label"
    told = page.read("access")
    assert (told["statements"][0]["who"], told["statements"][0]["actions"]) == (["123456789012"], ["SendMessage"])
    assert page.do("access/policy", policy="{}")["field"] == "policy"
    assert page.do("access/policy", policy=told["policy"].replace("SendMessage", "ReceiveMessage"))["ok"]
    assert page.do("access/revoke", label="one")["ok"]
    assert page.read("access")["statements"] == []


def test_topics_that_send_here(page: Page, console: Console, client: Client, new_name: Any) -> None:
    name, topic = new_name(), new_name()
    client.create_queue(name)
    client.create_topic(topic)
    arn = client.attributes(name, ["QueueArn"])["QueueArn"]
    client.subscribe(topic, arn)
    (subscription,) = Page(console, name).read("topics")["subscriptions"]
    assert (subscription["topic"], subscription["raw"]) == (topic, False)
    assert page.read("topics")["subscriptions"] == []
