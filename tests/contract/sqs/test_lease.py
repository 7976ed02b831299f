"""Leases over HTTP: Rockdove.LeaseBatch, AckThrough, ReleaseConsumer and ListLeases."""

import base64
import time
from collections.abc import Iterator
from typing import Any

import pytest

from tests.contract.sqs.conftest import QueueMaker
from tests.support.longpoll import LongPoll
from tests.support.patience import wait_until
from tests.support.raw import Reply, Web, Wire, json_request
from tests.support.refusal import refused
from tests.support.service import RunningService, Services
from tests.support.sqs_queue import SqsQueue


@pytest.fixture
def queue(make_json: QueueMaker) -> SqsQueue:
    return make_json()


def _call(web: Web, operation: str, queue: SqsQueue, **members: Any) -> dict[str, Any]:
    reply = web.call(f"Rockdove.{operation}", {"QueueUrl": queue.url, "Consumer": "reader", **members})
    assert reply.status == 200, reply
    result: dict[str, Any] = reply.json
    return result


def _lease(web: Web, queue: SqsQueue, sequence: int, shard: int = 0, **members: Any) -> list[dict[str, Any]]:
    messages: list[dict[str, Any]] = _call(web, "LeaseBatch", queue, Shard=shard, Sequence=sequence, **members)[
        "Messages"
    ]
    return messages


def _bodies(web: Web, queue: SqsQueue, sequence: int, shard: int = 0, **members: Any) -> list[str]:
    return [message["Body"] for message in _lease(web, queue, sequence, shard, **members)]


def _refused(reply: Reply) -> tuple[int, str]:
    return reply.status, reply.json["__type"].partition("#")[2]


def test_a_lease_is_given_again(service: RunningService, web: Web, queue: SqsQueue) -> None:
    sent = queue.send("a", MessageAttributes={"color": {"DataType": "String", "StringValue": "red"}})
    queue.send_all("b", "c")
    asked = {"MessageSystemAttributeNames": ["All"], "MessageAttributeNames": ["All"]}
    first = _call(web, "LeaseBatch", queue, Shard=3, Sequence=2**62, Max=2, **asked)
    assert first["LeasedTimestamp"] == service.now_s * 1000
    assert [message["Body"] for message in first["Messages"]] == ["a", "b"]
    message = first["Messages"][0]
    assert message["MessageId"] == sent["MessageId"]
    assert message["MD5OfBody"] == sent["MD5OfMessageBody"]
    assert message["MD5OfMessageAttributes"] == sent["MD5OfMessageAttributes"]
    assert message["MessageAttributes"]["color"]["StringValue"] == "red"
    assert message["Attributes"]["ApproximateReceiveCount"] == "1"
    assert message["PhysicalQueue"] == 0
    assert "ReceiptHandle" not in message
    service.advance(100_000)
    assert _call(web, "LeaseBatch", queue, Shard=3, Sequence=2**62, Max=9, **asked) == first
    assert "Attributes" not in _lease(web, queue, 2**62, 3)[0]
    assert queue.counts() == (1, 2, 0)


def test_acknowledged_is_deleted(web: Web, queue: SqsQueue) -> None:
    queue.send_all("a", "b", "c")
    assert _bodies(web, queue, 0, Max=1) == ["a"]
    assert _bodies(web, queue, 0, shard=1, Max=1) == ["b"]
    assert _call(web, "AckThrough", queue, Shard=1, Sequence=0) == {"Leases": 1, "Messages": 1}
    assert _call(web, "AckThrough", queue, Sequence=0) == {"Leases": 1, "Messages": 1}
    assert _call(web, "AckThrough", queue, Sequence=0) == {"Leases": 0, "Messages": 0}
    assert queue.counts() == (1, 0, 0)
    reply = web.call("Rockdove.LeaseBatch", {"QueueUrl": queue.url, "Consumer": "reader", "Shard": 5, "Sequence": 0})
    assert _refused(reply) == (400, "LeaseEnded")
    assert reply.headers["x-amzn-query-error"] == "LeaseEnded;Sender"
    assert "Sequence 0 of shard 5 of consumer reader was acknowledged or released" in reply.json["message"]


def test_released_is_visible(web: Web, queue: SqsQueue) -> None:
    queue.send_all("a", "b")
    assert _bodies(web, queue, 0) == ["a", "b"]
    assert queue.receive() == []
    assert _call(web, "ReleaseConsumer", queue) == {"Leases": 1, "Messages": 2}
    assert queue.bodies() == ["a", "b"]
    reply = web.call("Rockdove.LeaseBatch", {"QueueUrl": queue.url, "Consumer": "reader", "Shard": 0, "Sequence": 0})
    assert _refused(reply) == (400, "LeaseEnded")
    assert _call(web, "ReleaseConsumer", queue, Forget=True) == {"Leases": 0, "Messages": 0}
    assert _bodies(web, queue, 0) == []


def test_retention_and_handles_from_before(service: RunningService, web: Web, make_json: QueueMaker) -> None:
    queue = make_json(MessageRetentionPeriod="60", VisibilityTimeout="1")
    queue.send_all("a", "b")
    held = queue.receive()
    service.advance(2)
    assert _bodies(web, queue, 0) == ["a", "b"]
    with pytest.raises(queue.sqs.exceptions.MessageNotInflight):
        queue.hide(held[0], 0)
    service.advance(100)
    service.sweep()
    assert _bodies(web, queue, 0) == ["a", "b"]
    queue.delete(held[1])
    assert _bodies(web, queue, 0) == ["a"]
    assert queue.counts() == (0, 1, 0)


def test_what_stands_behind_a_leased_message_expires(service: RunningService, web: Web, make_json: QueueMaker) -> None:
    queue = make_json.fifo(MessageRetentionPeriod="60")
    queue.post("g", "leased", "waiting")
    assert _bodies(web, queue, 0, Max=1) == ["leased"]
    service.advance(61)
    service.sweep()
    assert queue.counts() == (0, 1, 0)
    assert _bodies(web, queue, 0) == ["leased"]


def test_dead_letters_are_not_leased(service: RunningService, web: Web, make_json: QueueMaker) -> None:
    queue, dead = make_json(VisibilityTimeout="1"), make_json()
    queue.redrive_to(dead, after=1)
    queue.send_all("worn")
    queue.receive()
    service.advance(2)
    queue.send_all("fresh")
    assert _bodies(web, queue, 0) == ["fresh"]
    assert dead.bodies() == ["worn"]


def test_what_stands_behind_the_dead_is_leased(service: RunningService, web: Web, make_json: QueueMaker) -> None:
    queue, dead = make_json.fifo(VisibilityTimeout="1"), make_json.fifo()
    queue.redrive_to(dead, after=1)
    queue.post("g", "worn")
    queue.receive()
    service.advance(2)
    queue.post("g", "fresh")
    assert _bodies(web, queue, 0) == ["fresh"]
    assert dead.bodies() == ["worn"]


def test_groups_in_order(web: Web, make_json: QueueMaker) -> None:
    queue = make_json.fifo()
    queue.post("g", *map(str, range(20)))
    assert _bodies(web, queue, 0, Max=12) == [str(number) for number in range(12)]
    assert _bodies(web, queue, 1) == []
    assert queue.receive() == []
    _call(web, "AckThrough", queue, Sequence=1)
    assert _bodies(web, queue, 2) == [str(number) for number in range(12, 20)]


def test_physical_queues(web: Web, make_json: QueueMaker) -> None:
    queue = make_json(RockdovePhysicalQueues="3")
    queue.send_all(*map(str, range(30)))
    leased = [_lease(web, queue, 0, shard, Max=10) for shard in range(3)]
    assert sorted(int(message["Body"]) for part in leased for message in part) == list(range(30))
    assert [{message["PhysicalQueue"] for message in part} for part in leased] == [{0}, {1}, {2}]
    assert _call(web, "AckThrough", queue, Sequence=0) == {"Leases": 3, "Messages": 30}
    assert queue.counts() == (0, 0, 0)


def test_a_purged_queue_has_empty_leases(web: Web, queue: SqsQueue) -> None:
    queue.send_all("a")
    assert "Deleted" not in _call(web, "LeaseBatch", queue, Shard=0, Sequence=0)
    queue.sqs.purge_queue(QueueUrl=queue.url)
    purged = _call(web, "LeaseBatch", queue, Shard=0, Sequence=0)
    assert (purged["Messages"], purged["Deleted"]) == ([], 1)
    queue.send_all("b")
    assert _bodies(web, queue, 0) == []
    assert _bodies(web, queue, 1) == ["b"]


def test_a_look_shows_leased_messages(web: Web, queue: SqsQueue) -> None:
    queue.send_all("a")
    _lease(web, queue, 0)
    [message] = web.call("Rockdove.Peek", {"QueueUrl": queue.url}).json["Messages"]
    assert (message["State"], message.get("VisibleFrom")) == ("leased", None)


def test_who_holds_what(service: RunningService, web: Web, queue: SqsQueue) -> None:
    queue.send_all("a", "b", "c")
    start = round(service.now_s * 1000)
    _lease(web, queue, 0, Max=2)
    _lease(web, queue, 1, shard=4)
    service.advance(10)
    _lease(web, queue, 7, Consumer="another")
    listed = web.call("Rockdove.ListLeases", {"QueueUrl": queue.url}).json
    assert listed["Consumers"] == [
        {"Consumer": "reader", "Leases": 2, "Messages": 3, "LastCallTimestamp": start},
        {"Consumer": "another", "Leases": 1, "Messages": 0, "LastCallTimestamp": start + 10_000},
    ]
    everything = [
        {"Consumer": "another", "Shard": 0, "Sequence": 7, "Messages": 0, "LeasedTimestamp": start + 10_000},
        {"Consumer": "reader", "Shard": 0, "Sequence": 0, "Messages": 2, "LeasedTimestamp": start},
        {"Consumer": "reader", "Shard": 4, "Sequence": 1, "Messages": 1, "LeasedTimestamp": start},
    ]
    assert listed["Leases"] == everything
    assert "NextToken" not in listed
    found: list[dict[str, Any]] = []
    members: dict[str, Any] = {"QueueUrl": queue.url, "MaxResults": 1}
    for _ in range(3):
        page = web.call("Rockdove.ListLeases", members).json
        found += page["Leases"]
        members["NextToken"] = page.get("NextToken")
    assert found == everything
    assert members["NextToken"] is None
    assert _call(web, "ListLeases", queue)["Leases"] == everything[1:]


@pytest.mark.parametrize(
    ("operation", "members"),
    [
        ("LeaseBatch", {"Consumer": ""}),
        ("LeaseBatch", {"Consumer": "x" * 257}),
        ("LeaseBatch", {"Consumer": "ü"}),
        ("LeaseBatch", {"Shard": -1}),
        ("LeaseBatch", {"Shard": 100_000}),
        ("LeaseBatch", {"Sequence": -1}),
        ("LeaseBatch", {"Max": 0}),
        ("LeaseBatch", {"Max": 10_001}),
        ("LeaseBatch", {"WaitTimeSeconds": 21}),
        ("AckThrough", {"Shard": -1}),
        ("AckThrough", {"Sequence": -1}),
        ("ReleaseConsumer", {"Consumer": ""}),
        ("ListLeases", {"MaxResults": 1_001}),
        ("ListLeases", {"NextToken": "nonsense"}),
        ("ListLeases", {"NextToken": base64.b64encode(b'["a",99999999999999999999999999,0]').decode()}),
        ("ListLeases", {"NextToken": base64.b64encode(b'["a",0,-1]').decode()}),
    ],
)
def test_what_is_out_of_range_is_refused(web: Web, queue: SqsQueue, operation: str, members: dict[str, Any]) -> None:
    asked = {"QueueUrl": queue.url, "Consumer": "reader", "Shard": 0, "Sequence": 0, **members}
    assert _refused(web.call(f"Rockdove.{operation}", asked)) == (400, "InvalidParameterValueException")


def test_leases_count_as_in_flight_and_are_not_bounded_by_it(services: Services, store: str) -> None:
    service = services(store, max_in_flight=3)
    web = Web(service.port)
    queue = SqsQueue(service.client(), web.create("busy"))
    queue.send_all("a", "b", "c", "d", "e")
    assert _bodies(web, queue, 0, Max=3) == ["a", "b", "c"]
    with refused("OverLimit", status=403):
        queue.receive()
    assert _bodies(web, queue, 1, Max=1) == ["d"]
    assert _bodies(web, queue, 0) == ["a", "b", "c"]
    _call(web, "AckThrough", queue, Sequence=1)
    assert queue.bodies() == ["e"]
    web.close()


# Waiting, which takes real time.


@pytest.fixture
def live_web(live: RunningService) -> Iterator[Web]:
    made = Web(live.port)
    yield made
    made.close()


def _waiting(live: RunningService, number: int) -> None:
    """Go on when so many requests wait; a test that never gets there ends by its timeout."""
    while live.service.broker.context.waiting.number != number:
        time.sleep(0.01)


def _ask(live: RunningService, queue: SqsQueue) -> Wire:
    wire = Wire(live.port, 25)
    asked = {"QueueUrl": queue.url, "Consumer": "reader", "Shard": 0, "Sequence": 0, "WaitTimeSeconds": 20}
    wire.send(json_request("Rockdove.LeaseBatch", asked))
    return wire


def _begin(live: RunningService, queue: SqsQueue) -> Wire:
    wire = _ask(live, queue)
    _waiting(live, 1)
    return wire


def test_a_wait_ends_with_a_message(live: RunningService, live_web: Web, make_live: QueueMaker) -> None:
    queue = make_live()
    wire = _begin(live, queue)
    queue.send("a")
    assert [message["Body"] for message in wire.read().json["Messages"]] == ["a"]
    assert _bodies(live_web, queue, 0) == ["a"]
    wire.close()


def test_a_wait_ends_when_a_moment_comes(live: RunningService, make_live: QueueMaker) -> None:
    """All of them at once, because each takes a second; and before a wait that began later and ends by itself."""
    names = ("delay", "timeout", "group's delay", "group's timeout", "tenant's delay", "tenant's timeout")
    queues = {name: make_live.fifo() if "group" in name else make_live() for name in names}
    queues["one of two"] = make_live(RockdovePhysicalQueues="2")
    queues["one of two"].send("soon", DelaySeconds=1)
    queues["delay"].send("soon", DelaySeconds=1)
    queues["tenant's delay"].send("soon", DelaySeconds=1, MessageGroupId="g")
    queues["group's delay"].set(DelaySeconds="1")
    queues["group's delay"].post("g", "soon")
    queues["timeout"].send("soon")
    queues["group's timeout"].post("g", "soon")
    queues["tenant's timeout"].send("soon", MessageGroupId="g")
    for name in names:
        if "timeout" in name:
            queues[name].receive_one(VisibilityTimeout=1)
    wires = [_ask(live, queue) for queue in queues.values()]
    other = LongPoll(live.port, make_live().url, WaitTimeSeconds=10)
    bodies = [[message["Body"] for message in wire.read().json["Messages"]] for wire in wires]
    assert other.is_waiting(), "only the end of their waits has brought them"
    assert dict(zip(queues, bodies, strict=True)) == {name: ["soon"] for name in queues}
    for wire in [*wires, other.wire]:
        wire.close()
    _waiting(live, 0)


def test_no_lease_is_made_for_who_leaves_before_its_turn(live: RunningService, make_live: QueueMaker) -> None:
    queue = make_live()
    queue.send("x")
    lines = [service.broker.context.lease_turns for service in live.services]
    taken = []

    async def take_all() -> None:
        for line in lines:
            while line.is_free:
                line.take(lambda: None, "others")
                taken.append(line)

    async def give_all() -> None:
        for line in taken:
            line.give()

    live.run(take_all())
    wire = Wire(live.port)
    asked = {"QueueUrl": queue.url, "Consumer": "reader", "Shard": 0, "Sequence": 0}
    wire.send(json_request("Rockdove.LeaseBatch", asked))
    wait_until(lambda: any(line.waiting for line in lines), "request in line")
    before = sum(len(service.connections) for service in live.services)
    wire.close()
    wait_until(lambda: sum(len(service.connections) for service in live.services) < before, "connection less")
    live.run(give_all())
    wait_until(lambda: not any(line.waiting for line in lines), "empty line")
    assert queue.bodies(1) == ["x"]


def test_a_wait_that_finds_nothing_makes_an_empty_lease(live_web: Web, make_live: QueueMaker) -> None:
    queue = make_live()
    assert _bodies(live_web, queue, 0, WaitTimeSeconds=1) == []
    queue.send("late")
    assert _bodies(live_web, queue, 0, WaitTimeSeconds=1) == []
    assert _bodies(live_web, queue, 1, WaitTimeSeconds=20) == ["late"]


def test_who_hangs_up_makes_no_lease(live: RunningService, live_web: Web, make_live: QueueMaker) -> None:
    queue = make_live()
    _begin(live, queue).close()
    _waiting(live, 0)
    queue.send("a")
    assert _bodies(live_web, queue, 0) == ["a"]


def test_a_receive_waits_beside_leased_messages(live: RunningService, live_web: Web, make_live: QueueMaker) -> None:
    """They never become visible by themselves, and no timer is set for that."""
    queue = make_live()
    queue.send("leased")
    assert _bodies(live_web, queue, 0) == ["leased"]
    poll = LongPoll(live.port, queue.url)
    _waiting(live, 1)
    _call(live_web, "ReleaseConsumer", queue)
    assert poll.bodies() == ["leased"]


# What is told of them.


def test_metrics(service: RunningService, web: Web, queue: SqsQueue) -> None:
    queue.send_all("a", "b")
    _lease(web, queue, 0)
    _lease(web, queue, 0)
    service.advance(10)
    text = web.get("/metrics").text
    for line in (
        f'rockdove_leased_messages{{queue="{queue.name}"}} 2.0',
        f'rockdove_lease_consumers{{queue="{queue.name}"}} 1.0',
        f'rockdove_lease_silent_seconds{{queue="{queue.name}"}} 10.0',
        f'rockdove_messages{{queue="{queue.name}",state="in_flight"}} 2.0',
        f'rockdove_events_total{{event="received",queue="{queue.name}"}} 2.0',
    ):
        assert line in text
    _call(web, "AckThrough", queue, Sequence=0)
    text = web.get("/metrics").text
    assert f'rockdove_leased_messages{{queue="{queue.name}"}}' not in text
    assert f'rockdove_events_total{{event="deleted",queue="{queue.name}"}} 2.0' in text


def test_a_silent_consumer_loses_its_leases_if_wanted(services: Services, store: str) -> None:
    service = services(store, lease_keep_s=3_600)
    web = Web(service.port)
    queue = SqsQueue(service.client(), web.create("kept"))
    queue.send_all("a", "b")
    _lease(web, queue, 0, Max=1, Consumer="silent")
    _lease(web, queue, 0, Max=1)
    service.advance(3_000)
    _lease(web, queue, 0)
    service.advance(3_000)
    assert service.look_after_leases() == 1
    assert queue.bodies() == ["a"]
    asked = {"QueueUrl": queue.url, "Consumer": "silent", "Shard": 0, "Sequence": 0}
    assert _refused(web.call("Rockdove.LeaseBatch", asked)) == (400, "LeaseEnded")
    assert _bodies(web, queue, 0) == ["b"]
    web.close()


def test_the_time_when_the_service_was_down_is_no_silence(services: Services) -> None:
    service = services("sqlite", lease_keep_s=3_600)
    web = Web(service.port)
    queue = SqsQueue(service.client(), web.create("down"))
    queue.send_all("a")
    _lease(web, queue, 0)
    web.close()
    service.advance(10_000)
    service.restart()
    assert service.look_after_leases() == 0
    service.advance(3_599)
    assert service.look_after_leases() == 0
    service.advance(2)
    assert service.look_after_leases() == 1
