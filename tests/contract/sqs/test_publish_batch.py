"""Publishing a batch as a whole over HTTP: attempts only stage, and those that somebody names are sent, all or none."""

import asyncio
import threading
from concurrent.futures import ThreadPoolExecutor
from typing import Any

import pytest

from rockdove.broker.lander import Lander
from rockdove.broker.receive import Receive
from rockdove.core.publication import Winner
from tests.contract.sqs.conftest import QueueMaker
from tests.support.raw import Reply, Web
from tests.support.service import RunningService
from tests.support.sqs_queue import SqsQueue


@pytest.fixture
def queue(make_json: QueueMaker) -> SqsQueue:
    return make_json()


def _stage(web: Web, queue: SqsQueue, attempt: str, *bodies: str, chunk: int = 0, **members: Any) -> Any:
    entries = [{"Id": str(at), "MessageBody": body} for at, body in enumerate(bodies)]
    asked = {"QueueUrl": queue.url, "Application": "app", "Batch": 0, "Attempt": attempt, "Chunk": chunk}
    reply = web.call("Rockdove.StageBatch", {**asked, "Entries": entries, **members})
    assert reply.status == 200, reply
    return reply.json


def _ask(web: Web, queue: SqsQueue, *winners: Winner, **members: Any) -> Reply:
    attempts = [{"Attempt": each.attempt, "Chunks": each.chunks, "Partition": each.partition} for each in winners]
    asked = {"QueueUrl": queue.url, "Application": "app", "Batch": 0, "Attempts": attempts, **members}
    return web.call("Rockdove.PublishBatch", asked)


def _publish(web: Web, queue: SqsQueue, *winners: Winner, **members: Any) -> Any:
    reply = _ask(web, queue, *winners, **members)
    assert reply.status == 200, reply
    return reply.json


def _refused(reply: Reply) -> tuple[int, str]:
    return reply.status, reply.json["__type"].partition("#")[2]


def test_the_attempts_that_count_and_no_others(web: Web, queue: SqsQueue) -> None:
    assert _stage(web, queue, "one", "a", "b") == {"Published": False, "Messages": 2}
    assert _stage(web, queue, "one", "c", chunk=1) == {"Published": False, "Messages": 3}
    _stage(web, queue, "copy of one", "a", "b")
    _stage(web, queue, "two", "d")
    assert queue.counts() == (0, 0, 0)
    answer = _publish(web, queue, Winner("two", 1, 1), Winner("one", 2, 0), Winner("none", 0, 2))
    assert answer == {"Published": True, "Messages": 4, "Landed": True}
    assert queue.counts() == (4, 0, 0)
    assert queue.bodies() == ["d", "a", "b", "c"]


def test_any_other_cut_of_a_published_batch_takes_nothing(web: Web, queue: SqsQueue) -> None:
    _stage(web, queue, "one", "a", "b")
    _publish(web, queue, Winner("one", 1, 0))
    assert _stage(web, queue, "half", "a") == {"Published": True, "Messages": 2}
    again = {"Published": False, "Messages": 2, "Landed": True}
    assert _publish(web, queue, Winner("half", 1, 0), Winner("other half", 1, 1)) == again
    assert _publish(web, queue, Winner("one", 1, 0)) == again
    assert queue.counts() == (2, 0, 0)


def test_a_batch_without_rows_is_published_too(web: Web, queue: SqsQueue) -> None:
    assert _publish(web, queue) == {"Published": True, "Messages": 0, "Landed": True}
    assert _stage(web, queue, "late", "a") == {"Published": True, "Messages": 0}


def test_chunks_that_are_missing_publish_nothing(web: Web, queue: SqsQueue) -> None:
    _stage(web, queue, "one", "a")
    _stage(web, queue, "two", "b", chunk=1)
    for winner in (Winner("one", 2, 0), Winner("two", 1, 0), Winner("two", 2, 0), Winner("nobody", 1, 0)):
        reply = _ask(web, queue, winner)
        assert _refused(reply) == (400, "InvalidParameterValueException")
        assert f"Value {winner.attempt} for parameter Attempt is invalid" in reply.json["message"]
    assert queue.counts() == (0, 0, 0)
    assert _publish(web, queue, Winner("one", 1, 0))["Messages"] == 1


def test_what_is_named_twice_is_refused(web: Web, queue: SqsQueue) -> None:
    _stage(web, queue, "one", "a")
    for twice in ((Winner("one", 1, 0), Winner("one", 1, 1)), (Winner("one", 1, 0), Winner("two", 0, 0))):
        assert _refused(_ask(web, queue, *twice)) == (400, "InvalidParameterValueException")
    assert _refused(_ask(web, queue, Winner("one", 1, 0), Partly="perhaps"))[0] == 400
    assert queue.counts() == (0, 0, 0)


def test_an_aborted_run_leaves_nothing(web: Web, queue: SqsQueue) -> None:
    _stage(web, queue, "run-1/0", "a")
    _stage(web, queue, "run-2/0", "a")
    asked = {"QueueUrl": queue.url, "Application": "app", "Batch": 0, "Prefix": "run-1/"}
    assert web.call("Rockdove.AbortBatch", asked).status == 200
    assert _refused(_ask(web, queue, Winner("run-1/0", 1, 0)))[0] == 400
    assert _publish(web, queue, Winner("run-2/0", 1, 0))["Published"]


def test_one_of_many_at_the_same_time_publishes(service: RunningService, web: Web, queue: SqsQueue) -> None:
    names = [f"attempt-{number}" for number in range(8)]
    for name in names:
        _stage(web, queue, name, *[f"{name}/{at}" for at in range(50)])

    def publish(name: str) -> Any:
        own = Web(service.port)
        try:
            return _publish(own, queue, Winner(name, 1, 0))
        finally:
            own.close()

    with ThreadPoolExecutor(len(names)) as pool:
        answers = list(pool.map(publish, names))
    assert sum(answer["Published"] for answer in answers) == 1
    assert queue.counts() == (50, 0, 0)


def _publish_alone(web: Web, queue: SqsQueue, partition: int, *bodies: str) -> None:
    """As 0.1 did."""
    entries = [{"Id": str(at), "MessageBody": body} for at, body in enumerate(bodies)]
    asked = {"Application": "app", "Batch": 0, "Partition": partition, "Attempt": "old", "Chunk": 0, "Final": True}
    assert web.call("Rockdove.PublishOnce", {"QueueUrl": queue.url, **asked, "Entries": entries}).status == 200


def test_partitions_that_were_published_on_their_own_are_left_out(web: Web, queue: SqsQueue) -> None:
    _publish_alone(web, queue, 1, "b", "c")
    _stage(web, queue, "0", "a")
    _stage(web, queue, "1", "b", "c")
    both = (Winner("0", 1, 0), Winner("1", 1, 1))
    # As many messages need not be the same messages: somebody has to say so.
    assert _refused(_ask(web, queue, *both)) == (400, "BatchPartlyPublished")
    answer = _publish(web, queue, *both, Partly="match")
    assert answer == {"Published": True, "Messages": 3, "Landed": True}
    assert queue.counts() == (3, 0, 0)


@pytest.mark.parametrize(("partly", "messages"), [("skip", 2), ("again", 3)])
def test_a_batch_that_is_partly_published_and_cut_otherwise(
    web: Web, queue: SqsQueue, partly: str, messages: int
) -> None:
    _publish_alone(web, queue, 1, "b", "c")
    _stage(web, queue, "0", "a", "b", "c")
    reply = _ask(web, queue, Winner("0", 1, 0))
    assert _refused(reply) == (400, "BatchPartlyPublished")
    assert _refused(_ask(web, queue, Winner("0", 1, 0), Partly="match")) == (400, "BatchPartlyPublished")
    assert "skip takes the batch for published as it is" in reply.json["message"]
    answer = _publish(web, queue, Winner("0", 1, 0), Partly=partly)
    assert answer == {"Published": True, "Messages": messages, "Landed": True}
    assert queue.counts()[0] == (2 if partly == "skip" else 5)


def test_delays_and_deduplication_count_from_publishing(web: Web, make_json: QueueMaker) -> None:
    fifo = make_json.fifo()
    entries = [
        {"Id": "0", "MessageBody": "a", "MessageGroupId": "g", "MessageDeduplicationId": "1"},
        {"Id": "1", "MessageBody": "a", "MessageGroupId": "g", "MessageDeduplicationId": "1"},
        {"Id": "2", "MessageBody": "b", "MessageGroupId": "g", "MessageDeduplicationId": "2"},
    ]
    asked = {"QueueUrl": fifo.url, "Application": "app", "Batch": 0, "Attempt": "one", "Chunk": 0, "Entries": entries}
    assert web.call("Rockdove.StageBatch", asked).json == {"Published": False, "Messages": 3}
    assert _publish(web, fifo, Winner("one", 1, 0))["Messages"] == 3
    assert fifo.bodies() == ["a", "b"]


def test_the_delay_of_a_fifo_queue_is_the_one_at_publishing(
    service: RunningService, web: Web, make_json: QueueMaker
) -> None:
    fifo = make_json.fifo()
    entry = {"Id": "0", "MessageBody": "a", "MessageGroupId": "g", "MessageDeduplicationId": "1"}
    asked = {"QueueUrl": fifo.url, "Application": "app", "Batch": 0, "Attempt": "one", "Chunk": 0, "Entries": [entry]}
    web.call("Rockdove.StageBatch", asked)
    fifo.set(DelaySeconds="10")
    _publish(web, fifo, Winner("one", 1, 0))
    assert fifo.counts() == (0, 0, 1)
    service.advance(10)
    assert fifo.bodies() == ["a"]


def test_wrong_entries_are_named_and_nothing_is_staged(web: Web, queue: SqsQueue) -> None:
    answer = _stage(web, queue, "one", "good", "bad \x00")
    assert [each["Id"] for each in answer["Failed"]] == ["1"]
    assert _refused(_ask(web, queue, Winner("one", 1, 0)))[0] == 400


def test_a_purge_takes_what_is_published_not_what_is_staged(web: Web, queue: SqsQueue) -> None:
    _stage(web, queue, "one", "a")
    _publish(web, queue, Winner("one", 1, 0))
    _stage(web, queue, "next", "b", Batch=1)
    web.call("AmazonSQS.PurgeQueue", {"QueueUrl": queue.url})
    assert queue.counts() == (0, 0, 0)
    assert _publish(web, queue, Winner("next", 1, 0), Batch=1)["Messages"] == 1
    assert queue.bodies() == ["b"]


@pytest.fixture
def slowly_landing(monkeypatch: pytest.MonkeyPatch) -> None:
    land = Lander._land

    async def slowly(self: Lander, landings: Any, landing: Any, queue: Any) -> None:
        await asyncio.sleep(0.1)
        await land(self, landings, landing, queue)

    monkeypatch.setattr(Lander, "_land", slowly)


@pytest.mark.usefixtures("slowly_landing")
@pytest.mark.parametrize("parts", ["1", "4"])
@pytest.mark.parametrize("group", [None, "g"])
def test_a_consumer_meets_no_end_before_all_is_there(
    service: RunningService, web: Web, make_json: QueueMaker, group: str | None, parts: str
) -> None:
    """It takes what is there as quickly as it can, from the first message to the first empty answer."""
    queue, more = make_json(RockdovePhysicalQueues=parts), {} if group is None else {"MessageGroupId": group}
    for chunk in range(8):
        entries = [{"Id": str(at), "MessageBody": f"{chunk}/{at}", **more} for at in range(1_000)]
        _stage(web, queue, "one", chunk=chunk, Entries=entries)
    found: list[str] = []

    def consume() -> None:
        own = Web(service.port)
        asked = {"QueueUrl": queue.url, "MaxNumberOfMessages": 100}
        while not (some := own.call("Rockdove.Receive", asked).json.get("Messages", [])):
            pass
        while some:
            found.extend(message["Body"] for message in some)
            some = own.call("Rockdove.Receive", asked).json.get("Messages", [])
        own.close()

    with ThreadPoolExecutor(1) as pool:
        consuming = pool.submit(consume)
        _publish(web, queue, Winner("one", 8, 0))
        consuming.result()
    assert len(found) == len(set(found)) == 8_000


@pytest.mark.parametrize("wait_s", [0, 1])
def test_no_receive_waits_longer_than_it_should(
    service: RunningService, web: Web, queue: SqsQueue, wait_s: int, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Also if its time is over while it looks for messages, and more are still on their way."""
    may_land, land, visited = threading.Event(), Lander._land, Receive.claimed

    async def held(self: Lander, *arguments: Any) -> None:
        while not may_land.is_set():
            await asyncio.sleep(0.01)
        await land(self, *arguments)

    def late(self: Receive, *arguments: Any) -> None:
        asyncio.get_running_loop().call_later(0.3 + wait_s, visited, self, *arguments)

    monkeypatch.setattr(Lander, "_land", held)
    monkeypatch.setattr(Receive, "claimed", late)
    monkeypatch.setattr("rockdove.broker.receive.LANDING_S", 0.2)
    monkeypatch.setattr("rockdove.broker.publish.LANDING_S", 0.1)
    _stage(web, queue, "one", "a")
    try:
        assert _publish(web, queue, Winner("one", 1, 0))["Landed"] is False
        asked = {"QueueUrl": queue.url, "WaitTimeSeconds": wait_s}
        reply = web.call("AmazonSQS.ReceiveMessage", asked)
        assert (reply.status, reply.json) == (200, {})
    finally:
        may_land.set()
        monkeypatch.undo()
    assert _publish(web, queue, Winner("one", 1, 0))["Landed"]
    assert queue.bodies() == ["a"]


@pytest.mark.usefixtures("slowly_landing")
@pytest.mark.parametrize("group", [None, "g"])
def test_no_lease_is_empty_before_all_is_there(
    service: RunningService, web: Web, make_json: QueueMaker, group: str | None
) -> None:
    queue, more = make_json(), {} if group is None else {"MessageGroupId": group}
    for chunk in range(3):
        _stage(web, queue, "one", chunk=chunk, Entries=[{"Id": "0", "MessageBody": str(chunk), **more}])
    found: list[str] = []

    def lease(sequence: int, **members: int) -> list[str]:
        asked = {"QueueUrl": queue.url, "Consumer": "c", "Shard": 0, "Sequence": sequence, "Max": 1, **members}
        return [message["Body"] for message in own.call("Rockdove.LeaseBatch", asked).json["Messages"]]

    own = Web(service.port)
    with ThreadPoolExecutor(1) as pool:
        publishing = pool.submit(_publish, web, queue, Winner("one", 3, 0))
        some, sequence = lease(0, WaitTimeSeconds=10), 0
        while some:
            found += some
            sequence += 1
            some = lease(sequence)
        publishing.result()
    own.close()
    assert sorted(found) == ["0", "1", "2"]
