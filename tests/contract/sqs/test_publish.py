"""Publishing once over HTTP: of all attempts at a partition of a batch, the messages of one are sent, all or none."""

from concurrent.futures import ThreadPoolExecutor
from typing import Any

import pytest

from tests.contract.sqs.conftest import NewName, QueueMaker
from tests.support.raw import Reply, Web
from tests.support.service import RunningService, Services
from tests.support.sqs_queue import SqsQueue


@pytest.fixture
def queue(make_json: QueueMaker) -> SqsQueue:
    return make_json()


def _ask(web: Web, queue: SqsQueue, bodies: list[str], **members: Any) -> Reply:
    asked = {
        "QueueUrl": queue.url,
        "Application": "app",
        "Batch": 0,
        "Partition": 0,
        "Attempt": "one",
        "Chunk": 0,
        "Final": True,
        "Entries": [{"Id": str(at), "MessageBody": body} for at, body in enumerate(bodies)],
        **members,
    }
    return web.call("Rockdove.PublishOnce", asked)


def _publish(web: Web, queue: SqsQueue, *bodies: str, **members: Any) -> dict[str, Any]:
    reply = _ask(web, queue, list(bodies), **members)
    assert reply.status == 200, reply
    result: dict[str, Any] = reply.json
    return result


def _refused(reply: Reply) -> tuple[int, str]:
    return reply.status, reply.json["__type"].partition("#")[2]


def test_all_chunks_of_the_first_attempt(web: Web, queue: SqsQueue) -> None:
    assert _publish(web, queue, "b1", "b2", Final=False, Chunk=1) == {"Published": False, "Messages": 2}
    assert _publish(web, queue, "lost", Final=False, Attempt="two") == {"Published": False, "Messages": 1}
    assert _publish(web, queue, "replaced", Final=False) == {"Published": False, "Messages": 3}
    assert _publish(web, queue, "a", Final=False) == {"Published": False, "Messages": 3}
    assert queue.counts() == (0, 0, 0)
    won = {"Published": True, "Winner": "one", "Messages": 4}
    assert _publish(web, queue, "c", Chunk=2) == won
    assert queue.bodies() == ["a", "b1", "b2", "c"]
    assert _publish(web, queue, "c", Chunk=2) == won
    assert _publish(web, queue, "a", Final=False) == won
    lost = {"Published": False, "Winner": "one", "Messages": 4}
    assert _publish(web, queue, "lost", Attempt="two") == lost
    assert _publish(web, queue, "lost", Attempt="two", Chunk=1, Final=False) == lost
    assert queue.counts() == (0, 4, 0)


def test_names_do_not_meet(web: Web, queue: SqsQueue, make_json: QueueMaker) -> None:
    for members in ({}, {"Application": "other"}, {"Batch": 1}, {"Partition": 1}):
        assert _publish(web, queue, "x", **members)["Published"]
    assert _publish(web, make_json(), "x")["Published"]
    assert queue.counts() == (4, 0, 0)


def test_a_missing_chunk_publishes_nothing(web: Web, queue: SqsQueue) -> None:
    _publish(web, queue, "a", Final=False)
    reply = _ask(web, queue, ["c"], Chunk=2)
    assert _refused(reply) == (400, "InvalidParameterValueException")
    assert "Chunk 1 of attempt one is not staged" in reply.json["message"]
    assert queue.counts() == (0, 0, 0)
    _publish(web, queue, "b", Final=False, Chunk=1)
    assert _publish(web, queue, Chunk=2) == {"Published": True, "Winner": "one", "Messages": 2}


def test_no_messages_are_published_once_too(web: Web, queue: SqsQueue) -> None:
    assert _publish(web, queue) == {"Published": True, "Winner": "one", "Messages": 0}
    assert not _publish(web, queue, "late", Attempt="two")["Published"]
    assert queue.counts() == (0, 0, 0)


def test_wrong_entries_are_named_and_nothing_is_staged(web: Web, queue: SqsQueue) -> None:
    entries = [
        {"Id": "good", "MessageBody": "x"},
        {"Id": "empty", "MessageBody": ""},
        {"Id": "late", "MessageBody": "x", "DelaySeconds": 901},
        {"Id": "large", "MessageBody": "x" * 1_048_577},
    ]
    result = _publish(web, queue, Entries=entries)
    assert (result["Published"], result["Messages"]) == (False, 0)
    assert [(failed["Id"], failed["Code"]) for failed in result["Failed"]] == [
        ("empty", "MissingParameter"),
        ("late", "InvalidParameterValue"),
        ("large", "InvalidParameterValue"),
    ]
    assert _publish(web, queue, Attempt="two")["Published"]
    assert queue.counts() == (0, 0, 0)


def test_what_a_message_has(service: RunningService, web: Web, queue: SqsQueue) -> None:
    attributes = {
        "color": {"DataType": "String", "StringValue": "red"},
        "raw": {"DataType": "Binary", "BinaryValue": "AAE="},
    }
    entries = [{"Id": "0", "MessageBody": "grüße", "DelaySeconds": 5, "MessageAttributes": attributes}]
    _publish(web, queue, Entries=entries, Final=False)
    service.advance(100)
    published = round(service.now_s * 1000)
    _publish(web, queue, Chunk=1)
    assert queue.counts() == (0, 0, 1)
    service.advance(5)
    message = queue.receive_one(MessageAttributeNames=["All"], MessageSystemAttributeNames=["SentTimestamp"])
    assert message["Body"] == "grüße"
    assert message["Attributes"]["SentTimestamp"] == str(published)
    assert message["MessageAttributes"]["color"]["StringValue"] == "red"
    assert message["MessageAttributes"]["raw"]["BinaryValue"] == b"\0\1"


def test_groups_and_deduplication(web: Web, make_json: QueueMaker) -> None:
    queue = make_json.fifo(ContentBasedDeduplication="false")
    good = {"MessageBody": "a", "MessageGroupId": "g", "MessageDeduplicationId": "d"}
    result = _publish(web, queue, Entries=[{"Id": "0", "MessageBody": "x"}, {"Id": "1", **good}])
    assert [failed["Id"] for failed in result["Failed"]] == ["0"]
    entries = [{"Id": "0", **good}, {"Id": "1", **good}, {"Id": "2", **good, "MessageDeduplicationId": "e"}]
    assert _publish(web, queue, Entries=entries)["Published"]
    assert queue.counts() == (2, 0, 0)


def test_physical_queues(web: Web, make_json: QueueMaker) -> None:
    queue = make_json(RockdovePhysicalQueues="3")
    _publish(web, queue, *map(str, range(500)), Final=False)
    assert _publish(web, queue, *map(str, range(500, 1_000)), Chunk=1)["Messages"] == 1_000
    assert queue.counts() == (1_000, 0, 0)


def test_attempts_at_the_same_time(service: RunningService, queue: SqsQueue) -> None:
    def attempt(number: int) -> dict[str, Any]:
        web = Web(service.port)
        try:
            for chunk in range(3):
                result = _publish(web, queue, f"{number}-{chunk}", Attempt=str(number), Chunk=chunk, Final=chunk == 2)
            return result
        finally:
            web.close()

    with ThreadPoolExecutor(8) as pool:
        results = list(pool.map(attempt, range(8)))
    winners = {result["Winner"] for result in results}
    assert len(winners) == 1
    assert [result["Published"] for result in results].count(True) == 1
    winner = winners.pop()
    assert queue.bodies() == [f"{winner}-{chunk}" for chunk in range(3)]


def test_old_batches_are_refused(web: Web, queue: SqsQueue) -> None:
    for number in (0, 7, 106):
        assert _publish(web, queue, "x", Batch=number)["Published"]
    assert _publish(web, queue, "x", Batch=7, Attempt="two") == {"Published": False, "Winner": "one", "Messages": 1}
    for number in (0, 6):
        assert _refused(_ask(web, queue, ["x"], Batch=number)) == (400, "BatchTooOld")
        assert _refused(_ask(web, queue, ["x"], Batch=number, Final=False)) == (400, "BatchTooOld")
    assert _publish(web, queue, "x", Batch=8)["Published"]
    assert _publish(web, queue, "x", Batch=0, Application="other")["Published"]
    assert queue.counts() == (5, 0, 0)


def test_it_survives_a_restart(services: Services, new_name: NewName) -> None:
    service = services("sqlite")
    web = Web(service.port)
    queue = SqsQueue(service.client(), web.create(new_name()))
    _publish(web, queue, "a", Final=False)
    web.close()
    service.restart()
    web = Web(service.port)
    again = SqsQueue(service.client(), queue.url)
    assert _publish(web, again, "b", Chunk=1)["Messages"] == 2
    web.close()
    service.restart()
    web = Web(service.port)
    again = SqsQueue(service.client(), queue.url)
    assert not _publish(web, again, "b", Attempt="two")["Published"]
    assert again.bodies() == ["a", "b"]
    web.close()


@pytest.mark.parametrize(
    "members",
    [
        {"Application": ""},
        {"Attempt": "x" * 257},
        {"Batch": -1},
        {"Partition": -1},
        {"Partition": 100_000},
        {"Chunk": -1},
        {"Chunk": 10_000},
    ],
)
def test_what_is_out_of_range_is_refused(web: Web, queue: SqsQueue, members: dict[str, Any]) -> None:
    assert _refused(_ask(web, queue, ["x"], **members)) == (400, "InvalidParameterValueException")


def test_a_chunk_of_too_many(web: Web, queue: SqsQueue) -> None:
    assert _refused(_ask(web, queue, ["x"] * 1_001)) == (400, "TooManyEntriesInBatchRequest")
    entries = [{"Id": "same", "MessageBody": "x"}] * 2
    assert _refused(_ask(web, queue, [], Entries=entries)) == (400, "BatchEntryIdsNotDistinct")


def test_an_attempt_of_too_much(web: Web, queue: SqsQueue, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("rockdove.core.limits.MAX_STAGED_BYTES", 10)
    _publish(web, queue, "12345678", Final=False)
    assert _refused(_ask(web, queue, ["123"], Chunk=1)) == (403, "OverLimit")


def test_an_attempt_of_too_many(web: Web, queue: SqsQueue, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("rockdove.core.limits.MAX_STAGED", 4)
    _publish(web, queue, "1", "2", "3", Final=False)
    over = _ask(web, queue, ["4", "5"], Chunk=1)
    assert _refused(over) == (403, "OverLimit")
    assert "at most 4 messages" in over.json["message"]
    _publish(web, queue, "4", Chunk=1)
    assert queue.counts() == (4, 0, 0)
    assert _publish(web, queue, "12", Chunk=1)["Published"]
