"""Nothing that clients keep secret is in the log: bodies, attributes, handles, signatures, tokens."""

import json
from collections import Counter
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from rockdove.client import Client
from rockdove.core.errors import NoSuchAccount
from rockdove.wire.member import Listing, Mapping, Shape, Structure, structure
from rockdove.wire.operation import OPERATIONS, SQS, Operation
from rockdove.wire.signature import Credentials, sign
from tests.support.raw import Web, Wire
from tests.support.server import Server, ServerFactory

SECRET = "s3cr3t-nobody-may-read-me"
HEADERS = {
    "Authorization": f"AWS4-HMAC-SHA256 Credential={SECRET}/x, SignedHeaders=host, Signature={SECRET}",
    "X-Amz-Security-Token": SECRET,
    "Cookie": SECRET,
}


@pytest.fixture(scope="module")
def own(server: ServerFactory, tmp_path_factory: pytest.TempPathFactory, workers: int) -> Server:
    token = tmp_path_factory.mktemp("token") / "token"
    token.write_text(SECRET)
    token.chmod(0o600)
    return server(
        "--log-format",
        "json",
        "--log-level",
        "info",
        "--access-log",
        "--metrics-token-file",
        str(token),
        store="sqlite",
    )


@pytest.fixture
def web(own: Server) -> Iterator[Web]:
    made = Web(own.port)
    yield made
    made.close()


def filled(shape: Shape, url: str) -> Any:
    """A value with the secret wherever there is text."""
    match shape:
        case Structure(members=members):
            return {member.name: url if member.name == "QueueUrl" else filled(member.shape, url) for member in members}
        case Listing(element=element):
            return [filled(element, url)]
        case Mapping(element=element):
            return {SECRET: filled(element, url)}
    return SECRET


def lines(path: Path) -> list[dict[str, Any]]:
    return [json.loads(line) for line in path.read_text().splitlines()]


def requests(server: Server) -> list[dict[str, Any]]:
    return [line for line in lines(server.process.err) if line["event"] == "request"]


def operation_name(operation: Operation) -> str:
    return operation.name if operation.service == SQS else operation.target


def test_requests_that_succeed(own: Server, web: Web) -> None:
    before = len(requests(own))
    url = web.create("jobs")
    attributes = {SECRET: {"DataType": "String", "StringValue": SECRET}}
    sent = {"QueueUrl": url, "MessageBody": SECRET, "MessageAttributes": attributes}
    assert web.call("SendMessage", sent, HEADERS).status == 200
    received = web.call("ReceiveMessage", {"QueueUrl": url, "MessageAttributeNames": ["All"]}, HEADERS)
    handle = received.json["Messages"][0]["ReceiptHandle"]
    assert web.call("DeleteMessage", {"QueueUrl": url, "ReceiptHandle": handle}, HEADERS).status == 200
    assert web.call("TagQueue", {"QueueUrl": url, "Tags": {SECRET: SECRET}}, HEADERS).status == 200
    assert web.get("/metrics", {"Authorization": f"Bearer {SECRET}"}).status == 200
    log = own.process.err.read_text()
    assert SECRET not in log
    assert handle not in log
    found = requests(own)[before:]
    assert [line["operation"] for line in found] == [
        *("CreateQueue", "SendMessage", "ReceiveMessage", "DeleteMessage", "TagQueue")
    ]
    assert {line["status"] for line in found} == {200}


@pytest.mark.parametrize("operation", OPERATIONS.values(), ids=lambda operation: operation.name)
def test_requests_that_fail(own: Server, web: Web, operation: Operation) -> None:
    url = web.create(f"for-{operation.name}")
    content = filled(structure(operation.request), url)
    statuses = {
        web.call(operation_name(operation), content, HEADERS).status,
        web.call(operation_name(operation), json.dumps(content).encode()[:-1], HEADERS).status,
        web.call(operation_name(operation), dict.fromkeys(content, 1.5) | {SECRET: SECRET}, HEADERS).status,
        web.post("/", HEADERS, Action=operation.name, QueueUrl=url, MessageBody=SECRET, ReceiptHandle=SECRET).status,
        web.get(f"/{SECRET}/{SECRET}", HEADERS, Action=operation.name).status,
    }
    assert max(statuses) < 500
    assert SECRET not in own.process.err.read_text()


def test_what_is_no_request(own: Server) -> None:
    for nonsense in (SECRET, f"GET /{SECRET} HTTP/9.9\r\n\r\n", f"POST / HTTP/1.1\r\n{SECRET}\r\n\r\n"):
        wire = Wire(own.port)
        wire.send(nonsense.encode() + b"\r\n\r\n")
        assert wire.read().status == 400
        wire.close()
    assert SECRET not in own.process.err.read_text()


def test_who_changes_accounts_and_who_is_throttled(server: ServerFactory) -> None:
    own = server("--log-format", "json", "--log-level", "info", store="sqlite")
    with Client(own.endpoint) as anybody:
        root = anybody.add_account("root", password=SECRET)
    keys = [root.secret_key]
    with Client(own.endpoint, credentials=Credentials(root.access_key, root.secret_key), retry=None) as admin:
        keys.append(admin.add_account("bob").secret_key)
        keys.append(admin.rotate_account_key("bob").secret_key)
        admin.finish_account_rotation("bob")
        admin.set_account_password("bob", SECRET)
        admin.set_account_state("bob", "disabled")
        admin.remove_account("bob")
        with pytest.raises(NoSuchAccount):
            admin.remove_account("bob")
    web = Web(own.port)
    for _ in range(100):
        assert web.call("ListQueues", {}, _badly_signed()).status in (400, 403)
    web.close()
    assert own.stop() == 0
    found = [line for line in lines(own.process.err) if line["event"] in ("account", "throttled")]
    assert [(line["by"], line["account"], line["change"]) for line in found[:-1]] == [
        ("", "root", "added"),
        ("root", "bob", "added"),
        ("root", "bob", "key-added"),
        ("root", "bob", "key-retired"),
        ("root", "bob", "password"),
        ("root", "bob", "disabled"),
        ("root", "bob", "removed"),
    ]
    assert (found[-1]["event"], found[-1]["address"], found[-1]["level"]) == ("throttled", "127.0.0.1", "warning")
    log = own.process.err.read_text()
    assert not any(secret in log for secret in (SECRET, *keys))


def _badly_signed() -> dict[str, str]:
    """With a key that nobody has."""
    return sign(Credentials("AKNOBODY", SECRET), "us-east-1", "POST", "/", {"Host": "x"}, b"{}") | {"Host": "x"}


def test_the_life_of_a_service(server: ServerFactory, workers: int) -> None:
    own = server("--log-format", "json", "--log-level", "info", store="sqlite")
    assert own.stop() == 0
    events = [line["event"] for line in lines(own.process.err)]
    if workers:
        assert events[0] == "store-open"
        # Each front-end has a life of its own.
        assert Counter(events[1:]) == {"start": workers, "stopping": workers, "stop": workers}
    else:
        assert events == ["start", "stopping", "stop"]
    assert all({"time", "level", "event", "message"} <= set(line) for line in lines(own.process.err))
