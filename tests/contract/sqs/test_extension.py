"""Our own operations, by AWS JSON: Rockdove.Peek and Rockdove.Receive."""

from itertools import groupby
from typing import Any

import pytest

from tests.contract.sqs.conftest import QueueMaker
from tests.support.digest import attributes_md5
from tests.support.raw import Reply, Web
from tests.support.service import RunningService
from tests.support.sqs_queue import SqsQueue


@pytest.fixture
def queue(make_json: QueueMaker) -> SqsQueue:
    return make_json()


def _peek(web: Web, queue: SqsQueue, **options: Any) -> list[dict[str, Any]]:
    reply = web.call("Rockdove.Peek", {"QueueUrl": queue.url, **options})
    assert reply.status == 200, reply
    messages: list[dict[str, Any]] = reply.json.get("Messages", [])
    return messages


def _receive(web: Web, queue: SqsQueue, **options: Any) -> list[dict[str, Any]]:
    reply = web.call("Rockdove.Receive", {"QueueUrl": queue.url, **options})
    assert reply.status == 200, reply
    messages: list[dict[str, Any]] = reply.json.get("Messages", [])
    return messages


def _is_refused(reply: Reply, kind: str, code: str) -> None:
    assert (reply.status, reply.json["__type"].partition("#")[2]) == (400, kind)
    assert reply.headers["x-amzn-query-error"] == f"{code};Sender"


def test_a_look_disturbs_nothing(service: RunningService, web: Web, queue: SqsQueue) -> None:
    queue.send_all("1", "2", "3")
    before = queue.counts()
    for _ in range(5):
        assert [message["Body"] for message in _peek(web, queue)] == ["1", "2", "3"]
    assert queue.counts() == before
    messages = queue.receive(MessageSystemAttributeNames=["ApproximateReceiveCount"])
    assert [message["Attributes"]["ApproximateReceiveCount"] for message in messages] == ["1"] * 3


def test_a_look_shows_every_state(service: RunningService, web: Web, queue: SqsQueue) -> None:
    queue.send("in flight")
    queue.receive_one()
    queue.send("visible")
    queue.send("delayed", DelaySeconds=10)
    states = {message["Body"]: message["State"] for message in _peek(web, queue)}
    assert states == {"in flight": "in-flight", "visible": "visible", "delayed": "delayed"}
    times = {message["Body"]: message["VisibleFrom"] for message in _peek(web, queue)}
    assert times == {
        "in flight": pytest.approx(service.now_s + 30),
        "visible": pytest.approx(service.now_s),
        "delayed": pytest.approx(service.now_s + 10),
    }
    service.advance(30)
    assert {message["State"] for message in _peek(web, queue)} == {"visible"}


def test_a_look_gives_no_handle(web: Web, queue: SqsQueue) -> None:
    sent = queue.send("x")
    [message] = _peek(web, queue)
    assert message["MessageId"] == sent["MessageId"]
    assert message["MD5OfBody"] == sent["MD5OfMessageBody"]
    assert "ReceiptHandle" not in message


def test_a_look_shows_attributes(service: RunningService, web: Web, queue: SqsQueue) -> None:
    attributes = {"a": {"DataType": "String", "StringValue": "1"}, "b": {"DataType": "String", "StringValue": "2"}}
    queue.send("x", MessageAttributes=attributes, MessageGroupId="tenant")
    [message] = _peek(web, queue, MessageAttributeNames=["All"], MessageSystemAttributeNames=["All"])
    assert message["MessageAttributes"] == attributes
    assert message["MD5OfMessageAttributes"] == attributes_md5(attributes)
    assert message["Attributes"] == {
        "SenderId": "000000000000",
        "SentTimestamp": str(int(service.now_s * 1000)),
        "ApproximateReceiveCount": "0",
        "MessageGroupId": "tenant",
    }
    [message] = _peek(web, queue, MessageAttributeNames=["a"])
    assert message["MessageAttributes"].keys() == {"a"}
    [message] = _peek(web, queue)
    assert message.keys() & {"Attributes", "MessageAttributes", "MD5OfMessageAttributes"} == set()


def test_a_look_shows_up_to_a_hundred(web: Web, queue: SqsQueue) -> None:
    queue.send_all(*map(str, range(120)))
    assert len(_peek(web, queue)) == 10
    assert [message["Body"] for message in _peek(web, queue, MaxNumberOfMessages=100)] == [*map(str, range(100))]
    for number in (0, 101):
        reply = web.call("Rockdove.Peek", {"QueueUrl": queue.url, "MaxNumberOfMessages": number})
        _is_refused(reply, "InvalidParameterValueException", "InvalidParameterValue")


def test_a_look_into_several_physical_queues_and_into_a_fifo_queue(web: Web, make_json: QueueMaker) -> None:
    spread = make_json(RockdovePhysicalQueues="3")
    spread.send_all(*map(str, range(6)))
    seen = _peek(web, spread)
    assert sorted(message["Body"] for message in seen) == [str(number) for number in range(6)]
    assert {message["PhysicalQueue"] for message in seen} == {0, 1, 2}
    fifo = make_json.fifo()
    fifo.post("g", "1", "2")
    fifo.receive_one()
    seen = _peek(web, fifo, MessageSystemAttributeNames=["MessageGroupId"])
    assert sorted((message["Body"], message["State"]) for message in seen) == [("1", "in-flight"), ("2", "visible")]
    assert {message["Attributes"]["MessageGroupId"] for message in seen} == {"g"}


def _pages(web: Web, queue: SqsQueue, **options: Any) -> list[list[dict[str, Any]]]:
    pages: list[list[dict[str, Any]]] = []
    more: dict[str, str] = {}
    while True:
        reply = web.call("Rockdove.Peek", {"QueueUrl": queue.url, "Order": "sent", **more, **options})
        assert reply.status == 200, reply
        if not reply.json.get("Messages"):
            assert "NextToken" not in reply.json
            return pages
        pages.append(reply.json["Messages"])
        more = {"NextToken": reply.json["NextToken"]}


def test_a_look_at_all_has_pages(web: Web, queue: SqsQueue) -> None:
    queue.send_all(*map(str, range(120)))
    queue.receive_one()
    before = queue.counts()
    for most, sizes in ((None, [10] * 12), (50, [50, 50, 20]), (1_000, [120])):
        pages = _pages(web, queue, **({"MaxNumberOfMessages": most} if most else {}))
        assert [len(page) for page in pages] == sizes
        assert [message["Body"] for page in pages for message in page] == [*map(str, range(120))]
    assert pages[0][0]["State"] == "in-flight"
    assert queue.counts() == before


def test_a_look_at_all_of_several_physical_queues_and_of_a_fifo_queue(web: Web, make_json: QueueMaker) -> None:
    spread = make_json(RockdovePhysicalQueues="3")
    spread.send_all(*map(str, range(30)))
    seen = [message for page in _pages(web, spread, MaxNumberOfMessages=7) for message in page]
    assert sorted(int(message["Body"]) for message in seen) == [*range(30)]
    assert sorted(part for part, _ in groupby(message["PhysicalQueue"] for message in seen)) == [0, 1, 2]
    fifo = make_json.fifo()
    fifo.post("g", "1", "2")
    fifo.post("h", "3")
    assert [[message["Body"] for message in page] for page in _pages(web, fifo)] == [["1", "2", "3"]]


def test_a_look_at_some_of_all(web: Web, make_json: QueueMaker) -> None:
    queue = make_json(RockdovePhysicalQueues="3")
    queue.send_all(*map(str, range(30)))
    parts = [
        {message["Body"] for page in _pages(web, queue, PhysicalQueue=part) for message in page} for part in range(3)
    ]
    assert sorted(int(body) for part in parts for body in part) == [*range(30)]
    assert _pages(web, queue, PhysicalQueue=3) == []
    [message] = _peek(web, queue, Order="sent", MaxNumberOfMessages=1, MessageSystemAttributeNames=["SentTimestamp"])
    sent_s = int(message["Attributes"]["SentTimestamp"]) / 1_000
    assert _peek(web, queue, Order="sent", SentUntil=sent_s - 1) == []
    assert _peek(web, queue, Order="sent", SentFrom=sent_s + 60) == []
    assert len(_peek(web, queue, Order="sent", SentFrom=sent_s - 1, SentUntil=sent_s + 60, PhysicalQueue=0)) == 10
    fifo = make_json.fifo()
    fifo.post("g", "1", "2")
    fifo.post("h", "3")
    assert [message["Body"] for message in _peek(web, fifo, Order="sent", MessageGroupId="h")] == ["3"]


def test_a_look_that_chooses_takes_one_physical_queue_at_a_time(web: Web, make_json: QueueMaker) -> None:
    queue = make_json(RockdovePhysicalQueues="3")
    queue.send_all(*map(str, range(30)))
    asked: dict[str, Any] = {"QueueUrl": queue.url, "Order": "sent", "SentFrom": 1, "SentUntil": 2}
    answers = 0
    while True:
        reply = web.call("Rockdove.Peek", asked).json
        assert "Messages" not in reply
        answers += 1
        if "NextToken" not in reply:
            break
        asked["NextToken"] = reply["NextToken"]
    assert answers == 3


def test_what_is_wrong_with_pages_is_told(web: Web, queue: SqsQueue) -> None:
    queue.send("1")
    wrong: tuple[dict[str, Any], ...] = (
        {"Order": "random"},
        {"NextToken": "1"},
        {"Order": "visible", "NextToken": "1"},
        {"Order": "sent", "NextToken": "x"},
        {"Order": "sent", "NextToken": ""},
        {"Order": "sent", "NextToken": "-1"},
        {"Order": "sent", "NextToken": "1" * 40},
        {"Order": "sent", "MaxNumberOfMessages": 1_001},
        {"Order": "visible", "MaxNumberOfMessages": 101},
        {"PhysicalQueue": 0},
        {"MessageGroupId": "g"},
        {"SentFrom": 0},
        {"Order": "visible", "SentUntil": 1},
        {"Order": "sent", "SentFrom": -1},
        {"Order": "sent", "SentUntil": 1e300},
        {"Order": "sent", "PhysicalQueue": -1},
    )
    for options in wrong:
        reply = web.call("Rockdove.Peek", {"QueueUrl": queue.url, **options})
        _is_refused(reply, "InvalidParameterValueException", "InvalidParameterValue")
    far = web.call("Rockdove.Peek", {"QueueUrl": queue.url, "Order": "sent", "NextToken": "9" * 19})
    assert (far.status, far.json) == (200, {})


def test_a_look_at_nothing(web: Web, queue: SqsQueue) -> None:
    assert _peek(web, queue) == []
    url = f"{queue.url}-never-made"
    reply = web.call("Rockdove.Peek", {"QueueUrl": url})
    _is_refused(reply, "QueueDoesNotExist", "AWS.SimpleQueueService.NonExistentQueue")


def test_a_receive_of_up_to_a_hundred(web: Web, queue: SqsQueue) -> None:
    queue.send_all(*map(str, range(150)))
    messages = _receive(web, queue, MaxNumberOfMessages=100)
    assert [message["Body"] for message in messages] == [str(number) for number in range(100)]
    assert queue.counts() == (50, 100, 0)
    assert len(_receive(web, queue, MaxNumberOfMessages=100)) == 50
    queue.delete(messages[99])
    assert queue.counts() == (0, 149, 0)


def test_it_is_otherwise_receive_message(service: RunningService, web: Web, queue: SqsQueue) -> None:
    attributes = {"a": {"DataType": "String", "StringValue": "1"}}
    queue.send("x", MessageAttributes=attributes)
    [message] = _receive(
        web, queue, VisibilityTimeout=5, MessageAttributeNames=["All"], MessageSystemAttributeNames=["SenderId"]
    )
    assert message.keys() == {
        "MessageId",
        "ReceiptHandle",
        "MD5OfBody",
        "Body",
        "Attributes",
        "MD5OfMessageAttributes",
        "MessageAttributes",
    }
    assert _receive(web, queue) == []
    service.advance(5)
    assert len(_receive(web, queue)) == 1
    for number in (0, 101):
        reply = web.call("Rockdove.Receive", {"QueueUrl": queue.url, "MaxNumberOfMessages": number})
        _is_refused(reply, "InvalidParameterValueException", "InvalidParameterValue")


def test_fifo_groups_hold_for_a_hundred_too(web: Web, make_json: QueueMaker) -> None:
    fifo = make_json.fifo()
    fifo.post("g", *map(str, range(40)))
    assert [message["Body"] for message in _receive(web, fifo, MaxNumberOfMessages=30)] == [*map(str, range(30))]
    assert _receive(web, fifo, MaxNumberOfMessages=30) == []


def test_query_knows_nothing_of_them(web: Web, queue: SqsQueue) -> None:
    for action in ("Peek", "Receive", "Rockdove.Peek"):
        reply = web.get("/", Action=action, QueueUrl=queue.url)
        assert (reply.status, "<Code>InvalidAction</Code>" in reply.text) == (400, True)


def test_they_are_not_sqs(web: Web, queue: SqsQueue) -> None:
    for target in ("AmazonSQS.Peek", "Rockdove.ReceiveMessage", "Rockdove.Nothing"):
        reply = web.call(target, {"QueueUrl": queue.url})
        assert reply.status == 400
        assert reply.json["__type"].endswith("#UnknownOperationException")


def test_an_answer_holds_no_more_bytes_than_it_may(web: Web, make_json: QueueMaker) -> None:
    """The ninth message of a megabyte is the last, for then there are more than 8 MiB."""
    for queue in (make_json(), make_json(RockdovePhysicalQueues="3"), make_json.fifo()):
        for number in range(11):
            body = f"{number:02}" + "x" * 999_998
            if queue.url.endswith(".fifo"):
                queue.post("g", body)
            else:
                queue.send(body)
        assert len(_peek(web, queue, MaxNumberOfMessages=100)) == 9
        assert max(len(page) for page in _pages(web, queue, MaxNumberOfMessages=100)) <= 9
        received = _receive(web, queue, MaxNumberOfMessages=100)
        assert len(received) == 9
        for message in received:
            queue.delete(message)
        assert len(_receive(web, queue, MaxNumberOfMessages=100)) == 2
