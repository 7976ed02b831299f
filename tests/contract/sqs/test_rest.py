"""Messages over plain HTTP, as devices and scripts have it that cannot sign."""

from typing import Any

import pytest

from tests.contract.sqs.conftest import NewName, QueueMaker
from tests.support.raw import Web
from tests.support.service import RunningService
from tests.support.sqs_queue import SqsQueue

BROWSER = {"User-Agent": "Mozilla/5.0 (X11)"}


@pytest.fixture
def make(service: RunningService, new_name: NewName) -> QueueMaker:
    return QueueMaker(service.client(), new_name)


@pytest.fixture
def queue(make: QueueMaker) -> SqsQueue:
    return make()


def path(queue: SqsQueue, query: str = "") -> str:
    return f"/v1/queues/{queue.name}/messages{query}"


def error(reply: Any) -> tuple[int, str]:
    return reply.status, reply.json["Error"]["Code"]


def test_a_message_there_and_back(web: Web, queue: SqsQueue) -> None:
    sent = web.request("POST", path(queue), 'a "körper"\n'.encode())
    assert (sent.status, sent.headers["content-type"]) == (201, "application/json")
    received = web.request("GET", path(queue))
    assert received.status == 200
    [message] = received.json["Messages"]
    assert (message["Body"], message["MessageId"]) == ('a "körper"\n', sent.json["MessageId"])
    assert message["Attributes"]["ApproximateReceiveCount"] == "1"
    assert web.request("GET", path(queue)).json == {"Messages": []}
    handle = message["ReceiptHandle"].replace("/", "%2F").replace("+", "%2B")
    gone = web.request("DELETE", f"{path(queue)}/{handle}")
    assert (gone.status, gone.json) == (200, {})
    assert queue.counts() == (0, 0, 0)


def test_a_handle_as_it_is(web: Web, queue: SqsQueue) -> None:
    """Some have a slash."""
    handle = ""
    for _ in range(1_000):
        if "/" in handle:
            break
        queue.send("m")
        [message] = web.request("GET", path(queue)).json["Messages"]
        handle = message["ReceiptHandle"]
        assert web.request("DELETE", f"{path(queue)}/{handle}").status == 200
    assert "/" in handle
    assert queue.counts() == (0, 0, 0)


def test_it_is_the_same_message_for_sqs(web: Web, queue: SqsQueue) -> None:
    web.request("POST", path(queue), b"from a device")
    assert queue.bodies() == ["from a device"]
    queue.send("from an SDK", MessageAttributes={"a": {"DataType": "String", "StringValue": "b"}})
    [message] = web.request("GET", path(queue)).json["Messages"]
    assert (message["Body"], message["MessageAttributes"]["a"]["StringValue"]) == ("from an SDK", "b")


def test_what_the_query_says(web: Web, make: QueueMaker, service: RunningService) -> None:
    queue, fifo = make(), make.fifo(ContentBasedDeduplication="false")
    web.request("POST", path(queue, "?delay=10"), b"late")
    assert web.request("GET", path(queue, "?max=10&wait=0")).json["Messages"] == []
    service.advance(10)
    assert len(web.request("GET", path(queue, "?max=10&visibility=5")).json["Messages"]) == 1
    service.advance(5)
    assert len(web.request("GET", path(queue)).json["Messages"]) == 1
    for text in (b"1", b"2"):
        sent = web.request("POST", path(fifo, "?group=g&dedup=same"), text)
        assert "SequenceNumber" in sent.json
    assert fifo.bodies() == ["1"]


def test_curl_says_that_it_sends_a_form(web: Web, queue: SqsQueue) -> None:
    form = {"Content-Type": "application/x-www-form-urlencoded"}
    assert web.request("POST", path(queue), b"a=1&b=2", form).status == 201
    assert queue.bodies() == ["a=1&b=2"]


@pytest.mark.parametrize(
    ("method", "where", "body", "expected"),
    [
        ("POST", "/v1/queues/no-such-queue/messages", b"x", (404, "NonExistentQueue")),
        ("GET", "/v1/queues/no-such-queue/messages", b"", (404, "NonExistentQueue")),
        ("POST", "/v1/queues/a%2Fb/messages", b"x", (404, "NonExistentQueue")),
        ("GET", "/v1/", b"", (404, "UnknownPath")),
        ("GET", "/v1/queues", b"", (404, "UnknownPath")),
        ("POST", "/v1/queues//messages", b"x", (404, "UnknownPath")),
        ("POST", "/v1/queues/{}/letters", b"x", (404, "UnknownPath")),
        ("PUT", "/v1/queues/{}/messages", b"x", (405, "MethodNotAllowed")),
        ("DELETE", "/v1/queues/{}/messages", b"", (405, "MethodNotAllowed")),
        ("GET", "/v1/queues/{}/messages/handle", b"", (405, "MethodNotAllowed")),
        ("DELETE", "/v1/queues/{}/messages/handle", b"", (400, "ReceiptHandleIsInvalid")),
        ("DELETE", "/v1/queues/{}/messages/han/dle", b"", (400, "ReceiptHandleIsInvalid")),
        ("DELETE", "/v1/queues/{}/messages/", b"", (404, "UnknownPath")),
        ("POST", "/v1/queues/{}/messages", b"", (400, "MissingParameter")),
        ("POST", "/v1/queues/{}/messages", b"\xff", (400, "InvalidMessageContents")),
        ("POST", "/v1/queues/{}/messages", b"\0", (400, "InvalidMessageContents")),
        ("POST", "/v1/queues/{}/messages", b"x" * 1_048_577, (400, "InvalidParameterValue")),
        ("POST", "/v1/queues/{}/messages?delay=x", b"x", (400, "InvalidParameterValue")),
        ("POST", "/v1/queues/{}/messages?delay=901", b"x", (400, "InvalidParameterValue")),
        ("POST", "/v1/queues/{}/messages?dealy=1", b"x", (400, "InvalidParameterValue")),
        ("GET", "/v1/queues/{}/messages?max=11", b"", (400, "InvalidParameterValue")),
        ("GET", "/v1/queues/{}/messages?wait=-1", b"", (400, "InvalidParameterValue")),
        ("GET", "/v1/queues/{}/messages?%ff=1", b"", (404, "MalformedQueryString")),
    ],
)
def test_what_is_wrong_is_said(
    web: Web, queue: SqsQueue, method: str, where: str, body: bytes, expected: tuple[int, str]
) -> None:
    reply = web.request(method, where.format(queue.name), body)
    assert error(reply) == expected
    assert reply.json["Error"]["Message"]
    if reply.status == 405:
        assert method not in reply.headers["allow"]
    # The connection goes on.
    assert web.request("POST", path(queue), b"still here").status == 201


def test_web_pages_take_nothing(web: Web, queue: SqsQueue) -> None:
    queue.send("secret")
    assert error(web.request("GET", path(queue), b"", BROWSER)) == (403, "AccessDenied")
    foreign = {"Origin": "https://example.com"}
    assert error(web.request("GET", path(queue), b"", foreign)) == (403, "AccessDenied")
    assert error(web.request("POST", path(queue), b"x", foreign)) == (403, "AccessDenied")
    assert web.request("GET", path(queue), b"", {"Host": "rebound.example.com"}).status == 403
    assert queue.bodies() == ["secret"]


@pytest.mark.parametrize("coding", ["gzip", "br"])
def test_a_body_that_is_encoded(web: Web, queue: SqsQueue, coding: str) -> None:
    reply = web.request("POST", path(queue), b"x", {"Content-Encoding": coding})
    assert error(reply) == (415, "UnsupportedMediaType")


def test_a_body_that_is_too_large_for_any_request(web: Web, queue: SqsQueue) -> None:
    web.close()
    assert error(web.request("POST", path(queue), b"x" * 9_000_000)) == (413, "RequestEntityTooLarge")


def test_a_long_poll(live: RunningService, make_live: QueueMaker) -> None:
    queue = make_live()
    waiting, sending = Web(live.port), Web(live.port)
    waiting._connection.request("GET", path(queue, "?wait=20"))
    assert sending.request("POST", path(queue), b"soon").status == 201
    reply = waiting._connection.getresponse()
    assert b"soon" in reply.read()
    waiting.close()
    sending.close()


def test_large_messages(web: Web, queue: SqsQueue) -> None:
    body = b"x" * 1_048_576
    assert web.request("POST", path(queue), body).status == 201
    [message] = web.request("GET", path(queue)).json["Messages"]
    assert message["Body"].encode() == body
