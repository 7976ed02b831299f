"""One physical queue, addressed as a queue of its own: `name~i`."""

from typing import Any

import pytest
from botocore.exceptions import ClientError

from tests.contract.sqs.conftest import QueueMaker
from tests.contract.sqs.test_physical import change, numbers
from tests.support.longpoll import LongPoll
from tests.support.raw import Web
from tests.support.service import RunningService
from tests.support.sqs_queue import SqsQueue


def part(queue: SqsQueue, index: int | str) -> SqsQueue:
    return SqsQueue(queue.sqs, f"{queue.url}~{index}")


def test_it_takes_and_gives_messages(web: Web, make: QueueMaker) -> None:
    queue = make(RockdovePhysicalQueues="3")
    part(queue, 1).send_all(*"abc")
    assert numbers(web, queue.url) == [0, 3, 0]
    assert part(queue, 0).bodies() == []
    assert part(queue, 1).counts() == (3, 0, 0)
    first, second, third = part(queue, 1).receive()
    # Handles are good for both.
    queue.delete(first)
    part(queue, 1).delete(second)
    part(queue, 0).hide(third, 0)
    assert queue.bodies() == ["c"]
    assert part(queue, 1).counts() == (0, 1, 0)


def test_batches_and_ours(web: Web, make_json: QueueMaker) -> None:
    queue = make_json(RockdovePhysicalQueues="2")
    queue.send_all(*"abcd")
    one = part(queue, 1)
    received = web.call("Rockdove.Receive", {"QueueUrl": one.url, "MaxNumberOfMessages": 100}).json["Messages"]
    assert len(received) == 2
    entries = [{"Id": str(at), "ReceiptHandle": each["ReceiptHandle"]} for at, each in enumerate(received)]
    answer = one.sqs.delete_message_batch(QueueUrl=one.url, Entries=entries)
    assert len(answer["Successful"]) == 2
    peeked = web.call("Rockdove.Peek", {"QueueUrl": part(queue, 0).url}).json["Messages"]
    assert [message["PhysicalQueue"] for message in peeked] == [0, 0]
    assert queue.counts() == (2, 0, 0)


def test_what_it_tells(make: QueueMaker) -> None:
    queue = make(RockdovePhysicalQueues="2", VisibilityTimeout="77")
    told = part(queue, 1).attributes("All")
    assert told["QueueArn"] == f"{queue.arn}~1"
    assert told["VisibilityTimeout"] == "77"
    found = queue.sqs.get_queue_url(QueueName=f"{queue.name}~1")["QueueUrl"]
    assert found == part(queue, 1).url
    assert found not in queue.sqs.list_queues(QueueNamePrefix=queue.name).get("QueueUrls", [])


@pytest.mark.parametrize(
    "index", ["2", "-1", "01", "", "x", "1~1", "99999999999999999999", "\N{ARABIC-INDIC DIGIT ONE}"]
)
def test_what_there_is_not(make: QueueMaker, index: str) -> None:
    queue = make(RockdovePhysicalQueues="2")
    with pytest.raises(ClientError, match="does not exist"):
        part(queue, index).send("m")
    with pytest.raises(ClientError, match="does not exist"):
        queue.sqs.get_queue_url(QueueName=f"{queue.name}~{index}")


@pytest.mark.parametrize(
    ("operation", "more"),
    [
        ("delete_queue", {}),
        ("purge_queue", {}),
        ("set_queue_attributes", {"Attributes": {"DelaySeconds": "1"}}),
        ("tag_queue", {"Tags": {"a": "b"}}),
        ("add_permission", {"Label": "l", "AWSAccountIds": ["111111111111"], "Actions": ["SendMessage"]}),
    ],
)
def test_all_else_is_the_logical_queues(make: QueueMaker, operation: str, more: dict[str, Any]) -> None:
    queue = make(RockdovePhysicalQueues="2")
    queue.send("m")
    with pytest.raises(ClientError, match="one physical queue") as refused:
        getattr(queue.sqs, operation)(QueueUrl=part(queue, 1).url, **more)
    assert "UnsupportedOperation" in refused.value.response["Error"]["Code"]
    assert queue.counts() == (1, 0, 0)


def test_no_queue_can_have_such_a_name(make: QueueMaker) -> None:
    queue = make()
    with pytest.raises(ClientError, match="alphanumeric"):
        queue.sqs.create_queue(QueueName=f"{queue.name}~0")


def test_one_that_is_down(web: Web, make_json: QueueMaker) -> None:
    queue = make_json(RockdovePhysicalQueues="2")
    part(queue, 1).send("m")
    assert change(web, queue.url, 1, State="down").status == 200
    assert part(queue, 1).bodies() == []
    assert web.call("SendMessage", {"QueueUrl": part(queue, 1).url, "MessageBody": "n"}).status == 503
    assert change(web, queue.url, 1, State="up").status == 200
    assert part(queue, 1).bodies() == ["m"]


def test_groups_of_a_fifo_queue_have_their_places(make_json: QueueMaker) -> None:
    queue = make_json.fifo(RockdovePhysicalQueues="2")
    places: dict[str, int] = {}
    for group in "abcdef":
        said = [_refusal(part(queue, index), group) for index in range(2)]
        # The one that refuses it names the other.
        places[group] = said.index("")
        assert f"has its place in {queue.name}~{places[group]}." in said[1 - places[group]]
    assert set(places.values()) == {0, 1}
    for index in range(2):
        assert sorted(part(queue, index).bodies()) == sorted(g for g, place in places.items() if place == index)


def _refusal(queue: SqsQueue, group: str) -> str:
    """Why a message was not taken; empty if it was."""
    try:
        queue.send(group, MessageGroupId=group)
    except ClientError as refused:
        return str(refused)
    return ""


# Waiting.


def test_who_waits_for_one_is_woken_by_it_alone(live: RunningService, make_live: QueueMaker) -> None:
    queue = make_live(RockdovePhysicalQueues="2")
    one, whole = LongPoll(live.port, part(queue, 1).url), LongPoll(live.port, queue.url)
    assert one.is_waiting()
    assert whole.is_waiting()
    part(queue, 0).send("for all")
    assert whole.bodies() == ["for all"]
    assert one.is_waiting()
    part(queue, 1).send("for one")
    assert one.bodies() == ["for one"]


def test_who_waits_for_all_is_still_woken_when_nobody_waits_for_one(
    live: RunningService, make_live: QueueMaker
) -> None:
    queue = make_live(RockdovePhysicalQueues="2")
    whole = LongPoll(live.port, queue.url)
    assert whole.is_waiting()
    assert part(queue, 1).bodies(WaitTimeSeconds=1) == []
    # The store tells that nobody waits for it any more with the next message.
    part(queue, 1).send("a")
    assert whole.bodies() == ["a"]
    again = LongPoll(live.port, queue.url)
    assert again.is_waiting()
    part(queue, 1).send("b")
    assert again.bodies() == ["b"]


def test_who_waits_for_one_that_leaves_is_told(live: RunningService, make_live: QueueMaker) -> None:
    queue = make_live(RockdovePhysicalQueues="2")
    poll = LongPoll(live.port, part(queue, 1).url)
    assert poll.is_waiting()
    queue.set(RockdovePhysicalQueues="1")
    reply = poll.reply()
    assert (reply.status, "QueueDoesNotExist" in reply.json["__type"]) == (400, True)
    with pytest.raises(queue.sqs.exceptions.QueueDoesNotExist):
        part(queue, 1).send("m")
    queue.set(RockdovePhysicalQueues="2")
    part(queue, 1).send("m")
    assert part(queue, 1).bodies() == ["m"]


def test_what_leaves_is_received_by_those_who_stay(make: QueueMaker) -> None:
    """Each physical queue may have a consumer of its own; one that leaves has none."""
    queue = make(RockdovePhysicalQueues="3")
    for at in range(3):
        part(queue, at).send_all(f"{at} a", f"{at} b")
    queue.set(RockdovePhysicalQueues="1")
    stays = part(queue, 0)
    # What is in its own is counted there.
    assert stays.counts() == (2, 0, 0)
    assert sorted(taken(stays)) == ["0 a", "0 b", "1 a", "1 b", "2 a", "2 b"]
    assert queue.counts() == (0, 0, 0)


def test_who_waits_gets_what_leaves(live: RunningService, make_live: QueueMaker) -> None:
    queue = make_live(RockdovePhysicalQueues="2")
    part(queue, 1).send("m")
    (held,) = part(queue, 1).receive()
    poll = LongPoll(live.port, part(queue, 0).url)
    queue.set(RockdovePhysicalQueues="1")
    assert poll.is_waiting()
    queue.hide(held, 0)
    assert poll.bodies() == ["m"]


def test_groups_that_leave_keep_their_order(make: QueueMaker) -> None:
    queue = make.fifo(RockdovePhysicalQueues="2")
    for number in range(12):
        queue.post(f"g{number % 3}", str(number))
    queue.set(RockdovePhysicalQueues="1")
    for number in range(12, 18):
        queue.post(f"g{number % 3}", str(number))
    got = taken(part(queue, 0))
    assert sorted(got, key=int) == [str(number) for number in range(18)]
    for group in range(3):
        assert [int(body) for body in got if int(body) % 3 == group] == list(range(group, 18, 3))


def taken(queue: SqsQueue) -> list[str]:
    """The bodies of all that can be received, which is deleted."""
    bodies = []
    while found := queue.receive():
        for message in found:
            bodies.append(message["Body"])
            queue.delete(message)
    return bodies
