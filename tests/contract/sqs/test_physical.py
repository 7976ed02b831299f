"""Physical queues: what there is of them, their weights, and those that are down."""

from typing import Any

import pytest

from tests.contract.sqs.conftest import NewName, QueueMaker
from tests.support.longpoll import LongPoll
from tests.support.raw import Reply, Web
from tests.support.service import RunningService


def create(web: Web, name: str, number: int = 4, **attributes: str) -> str:
    return web.create(name, RockdovePhysicalQueues=str(number), **attributes)


def change(web: Web, url: str, index: int, **what: Any) -> Reply:
    return web.call("Rockdove.SetPhysicalQueue", {"QueueUrl": url, "Index": index, **what})


def described(web: Web, url: str) -> list[dict[str, Any]]:
    reply = web.call("Rockdove.DescribePhysicalQueues", {"QueueUrl": url})
    assert reply.status == 200, reply
    found: list[dict[str, Any]] = reply.json["PhysicalQueues"]
    return found


def numbers(web: Web, url: str) -> list[int]:
    return [part["ApproximateNumberOfMessages"] for part in described(web, url)]


def send(web: Web, url: str, number: int) -> None:
    for at in range(number):
        assert web.call("SendMessage", {"QueueUrl": url, "MessageBody": str(at)}).status == 200


def test_what_there_is(web: Web, new_name: NewName) -> None:
    url = create(web, new_name(), 3)
    send(web, url, 3)
    web.call("SendMessage", {"QueueUrl": url, "MessageBody": "later", "DelaySeconds": 60})
    assert web.call("ReceiveMessage", {"QueueUrl": url}).json["Messages"]
    found = described(web, url)
    assert [part["Index"] for part in found] == [0, 1, 2]
    assert {(part["State"], part["Weight"]) for part in found} == {("up", 1)}
    assert sum(part["ApproximateNumberOfMessages"] for part in found) == 2
    assert sum(part["ApproximateNumberOfMessagesNotVisible"] for part in found) == 1
    assert sum(part["ApproximateNumberOfMessagesDelayed"] for part in found) == 1
    assert described(web, web.create(new_name()))[0]["Index"] == 0


def test_messages_go_by_weight(web: Web, new_name: NewName) -> None:
    url = create(web, new_name(), 3)
    assert change(web, url, 0, Weight=3).status == 200
    assert change(web, url, 2, Weight=0).status == 200
    send(web, url, 12)
    assert numbers(web, url) == [9, 3, 0]
    assert [part["Weight"] for part in described(web, url)] == [3, 1, 0]
    assert change(web, url, 2, Weight=0.5).status == 200
    assert described(web, url)[2]["Weight"] == 0.5


@pytest.mark.parametrize("policy", ["conventional", "pms", "rds", "wake"])
def test_one_that_is_down_takes_and_gives_nothing(web: Web, new_name: NewName, policy: str) -> None:
    url = create(web, new_name(), 3, RockdoveDequeuePolicy=policy, RockdoveMonitorMs="1")
    send(web, url, 3)
    assert change(web, url, 1, State="down").status == 200
    send(web, url, 4)
    assert sorted(numbers(web, url)) == [1, 3, 3]
    got = [_receive(web, url) for _ in range(12)]
    assert sum(map(len, got)) == 6
    # What it holds comes back with it.
    assert change(web, url, 1, State="up").status == 200
    assert sum(len(_receive(web, url)) for _ in range(12)) == 1


def _receive(web: Web, url: str) -> list[Any]:
    found: list[Any] = web.call("ReceiveMessage", {"QueueUrl": url}).json.get("Messages", [])
    return found


def test_one_that_drains_gives_what_it_has_and_takes_nothing(web: Web, new_name: NewName) -> None:
    url = create(web, new_name(), 2)
    send(web, url, 2)
    assert change(web, url, 0, State="draining").status == 200
    send(web, url, 3)
    assert numbers(web, url) == [1, 4]
    assert sum(len(_receive(web, url)) for _ in range(10)) == 5


def test_with_all_down_nothing_is_taken(web: Web, new_name: NewName) -> None:
    url = create(web, new_name(), 2)
    for index in range(2):
        assert change(web, url, index, State="down").status == 200
    reply = web.call("SendMessage", {"QueueUrl": url, "MessageBody": "m"})
    assert (reply.status, "down" in reply.json["message"]) == (503, True)
    entries = [{"Id": str(number), "MessageBody": "m"} for number in range(3)]
    batch = web.call("SendMessageBatch", {"QueueUrl": url, "Entries": entries})
    assert batch.status == 503 or {each["Id"] for each in batch.json["Failed"]} == {"0", "1", "2"}
    assert _receive(web, url) == []
    assert change(web, url, 1, State="up").status == 200
    send(web, url, 1)
    assert numbers(web, url) == [0, 1]


def test_a_queue_with_one_that_is_down(web: Web, new_name: NewName) -> None:
    url = web.create(new_name())
    send(web, url, 1)
    assert change(web, url, 0, State="down").status == 200
    assert web.call("SendMessage", {"QueueUrl": url, "MessageBody": "m"}).status == 503
    assert _receive(web, url) == []
    assert change(web, url, 0, State="up").status == 200
    assert len(_receive(web, url)) == 1


def test_a_group_does_not_go_elsewhere(web: Web, new_name: NewName) -> None:
    url = create(web, new_name(".fifo"), 2, FifoQueue="true", ContentBasedDeduplication="true")
    assert change(web, url, 0, State="down").status == 200
    statuses = [
        web.call("SendMessage", {"QueueUrl": url, "MessageBody": group, "MessageGroupId": group}).status
        for group in "abcdefgh"
    ]
    assert set(statuses) == {200, 503}
    assert numbers(web, url) == [0, statuses.count(200)]


def test_who_waits_gets_what_a_queue_brings_that_is_up_again(live: RunningService, make_live: QueueMaker) -> None:
    queue = make_live(RockdovePhysicalQueues="2")
    web = Web(live.port)
    queue.send_all("a", "b")
    assert change(web, queue.url, 0, State="down").status == 200
    assert len(queue.receive()) == 1
    poll = LongPoll(live.port, queue.url)
    assert poll.is_waiting()
    assert change(web, queue.url, 0, State="up").status == 200
    assert len(poll.bodies()) == 1
    web.close()


def test_a_purge_leaves_weights_and_states_alone(web: Web, new_name: NewName) -> None:
    url = create(web, new_name(), 2)
    assert change(web, url, 0, Weight=7, State="draining").status == 200
    assert web.call("PurgeQueue", {"QueueUrl": url}).status == 200
    assert [(part["Weight"], part["State"]) for part in described(web, url)] == [(7, "draining"), (1, "up")]


@pytest.mark.parametrize(
    ("what", "said"),
    [
        ({"Index": 4, "Weight": 1}, "Value 4 for parameter Index is invalid."),
        ({"Index": -1, "Weight": 1}, "Value -1 for parameter Index is invalid."),
        ({"Index": 0, "Weight": -1}, "Value -1 for parameter Weight is invalid."),
        ({"Index": 0, "Weight": 1_000_001}, "parameter Weight is invalid."),
        ({"Index": 0, "State": "Up"}, "Value Up for parameter State is invalid."),
        ({"Index": 0}, "The request must contain the parameter Weight or State."),
        ({"Weight": 1}, "Index"),
    ],
)
def test_what_is_refused(web: Web, new_name: NewName, what: dict[str, Any], said: str) -> None:
    url = create(web, new_name())
    reply = web.call("Rockdove.SetPhysicalQueue", {"QueueUrl": url, **what})
    assert reply.status == 400
    assert said in reply.json["message"]


@pytest.mark.parametrize("what", [{"Weight": 2}, {"State": "draining"}])
def test_what_a_fifo_queue_cannot_have(web: Web, new_name: NewName, what: dict[str, Any]) -> None:
    url = create(web, new_name(".fifo"), FifoQueue="true")
    reply = change(web, url, 0, **what)
    assert (reply.status, reply.json["__type"].partition("#")[2]) == (400, "UnsupportedOperation")
