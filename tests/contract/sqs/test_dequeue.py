"""Dequeue policies of queues with several physical ones: what a consumer sees of each."""

import itertools
import time
from collections import Counter

import pytest

from tests.contract.sqs.conftest import QueueMaker
from tests.support.longpoll import LongPoll
from tests.support.refusal import refused
from tests.support.service import RunningService
from tests.support.sqs_queue import SqsQueue

POLICIES = ("conventional", "pms", "rds", "wake")


def drain(queue: SqsQueue, most: int = 10, **options: int) -> list[str]:
    """Receive and delete until many receives in a row have found nothing."""
    bodies: list[str] = []
    empty = 0
    while empty < 12:
        found = queue.receive(most, **options)
        empty = 0 if found else empty + 1
        for message in found:
            bodies.append(message["Body"])
            queue.delete(message)
    return bodies


@pytest.mark.parametrize("policy", POLICIES)
@pytest.mark.parametrize("physical", ["1", "7"])
def test_every_message_is_received_once(make_live: QueueMaker, policy: str, physical: str) -> None:
    queue = make_live(RockdoveDequeuePolicy=policy, RockdovePhysicalQueues=physical, RockdoveMonitorMs="1")
    sent = [str(number) for number in range(60)]
    queue.send_all(*sent)
    assert Counter(drain(queue)) == Counter(sent)
    assert queue.counts() == (0, 0, 0)


@pytest.mark.parametrize("policy", POLICIES)
def test_groups_stay_in_order(make_live: QueueMaker, policy: str) -> None:
    queue = make_live.fifo(RockdoveDequeuePolicy=policy, RockdovePhysicalQueues="3", RockdoveMonitorMs="1")
    for group in "abc":
        queue.post(group, *(f"{group}{number}" for number in range(10)))
    got = drain(queue, 4)
    for group in "abc":
        assert [body for body in got if body[0] == group] == [f"{group}{number}" for number in range(10)]


def test_conventional_replies_at_once(live: RunningService, make_live: QueueMaker) -> None:
    queue = make_live(RockdoveDequeuePolicy="conventional", RockdovePhysicalQueues="5")
    # If it waited, it would be for twenty seconds, and the message would be in the answer.
    poll = LongPoll(live.port, queue.url)
    assert poll.bodies() == []


def test_conventional_visits_only_so_many(make_live: QueueMaker) -> None:
    queue = make_live(RockdoveDequeuePolicy="conventional", RockdovePhysicalQueues="10", RockdoveMaxVisits="2")
    queue.send_all(*map(str, range(10)))
    # One message in each: two visits bring two.
    assert [len(queue.receive(10)) for _ in range(5)] == [2, 2, 2, 2, 2]


@pytest.mark.parametrize("spread", ["true", "false"])
def test_pms_leaves_out_what_is_behind_others_in_flight(
    live: RunningService, make_live: QueueMaker, spread: str
) -> None:
    queue = make_live.fifo(
        RockdoveDequeuePolicy="pms",
        RockdovePhysicalQueues="10",
        RockdoveMaxVisits="1",
        RockdoveMonitorMs="1",
        RockdoveMonitorSpread=spread,
    )
    for group in "abcdef":
        queue.post(group, *(f"{group}{number}" for number in range(5)))
    # One of each group is in flight, and the others count as waiting.
    held: set[str] = set()
    while len(held) < 6:
        held |= set(queue.bodies(1, WaitTimeSeconds=20))
    assert held == {"a0", "b0", "c0", "d0", "e0", "f0"}
    # The store may not know that: then each is visited in vain once.
    polls = (LongPoll(live.port, queue.url) for _ in range(50))
    poll = next(poll for poll in polls if poll.is_waiting() or poll.bodies() != [])
    assert poll.is_waiting()
    # Of a group in another physical queue than those.
    queue.post("q", "free")
    answers = itertools.chain([poll.bodies()], (LongPoll(live.port, queue.url).bodies() for _ in range(50)))
    assert next(bodies for bodies in answers if bodies) == ["free"]


@pytest.mark.parametrize(("policy", "sleep"), [("rds", "20"), ("rds", "auto"), ("pms", "100"), ("wake", "100")])
def test_a_held_receive_gets_what_comes(live: RunningService, make_live: QueueMaker, policy: str, sleep: str) -> None:
    queue = make_live(
        RockdoveDequeuePolicy=policy, RockdovePhysicalQueues="4", RockdoveRetrySleepMs=sleep, RockdoveMonitorMs="20"
    )
    poll = LongPoll(live.port, queue.url)
    assert poll.is_waiting()
    queue.send("late")
    assert poll.bodies() == ["late"]


def test_rds_looks_once_more_before_it_gives_up(live: RunningService, make_live: QueueMaker) -> None:
    queue = make_live(RockdoveDequeuePolicy="rds", RockdovePhysicalQueues="2", RockdoveRetrySleepMs="20000")
    poll = LongPoll(live.port, queue.url, WaitTimeSeconds=1)
    queue.send("meanwhile")
    assert poll.bodies() == ["meanwhile"]


@pytest.mark.parametrize("policy", ["rds", "pms"])
def test_who_does_not_wait_is_not_held(make_live: QueueMaker, policy: str) -> None:
    queue = make_live(
        RockdoveDequeuePolicy=policy,
        RockdovePhysicalQueues="2",
        RockdoveRetrySleepMs="20000",
        RockdoveMonitorMs="20000",
    )
    assert queue.receive() == []


def test_the_queues_own_wait_holds_too(live: RunningService, make_live: QueueMaker) -> None:
    queue = make_live(
        RockdoveDequeuePolicy="rds",
        RockdovePhysicalQueues="2",
        RockdoveRetrySleepMs="10",
        ReceiveMessageWaitTimeSeconds="20",
    )
    poll = LongPoll(live.port, queue.url, WaitTimeSeconds=None)
    queue.send("late")
    assert poll.bodies() == ["late"]


@pytest.mark.parametrize("before", POLICIES[1:])
@pytest.mark.parametrize("after", POLICIES)
def test_another_policy_while_somebody_waits(
    live: RunningService, make_live: QueueMaker, before: str, after: str
) -> None:
    queue = make_live(
        RockdoveDequeuePolicy=before,
        RockdovePhysicalQueues="3",
        RockdoveRetrySleepMs="20000",
        RockdoveMonitorMs="20000",
    )
    poll = LongPoll(live.port, queue.url)
    assert poll.is_waiting()
    queue.set(RockdoveDequeuePolicy=after, RockdoveRetrySleepMs="10", RockdoveMonitorMs="10")
    if after == "conventional":
        assert poll.bodies() == []
    else:
        queue.send("late")
        assert poll.bodies() == ["late"]


@pytest.mark.parametrize("policy", ["rds", "wake"])
def test_another_policy_while_many_look_at_numbers(live: RunningService, make_live: QueueMaker, policy: str) -> None:
    """Wherever a receive is when the policy changes, it goes on by the new one."""
    queue = make_live(RockdoveDequeuePolicy="pms", RockdovePhysicalQueues="8", RockdoveMonitorMs="1")
    polls = [LongPoll(live.port, queue.url, patient=False, MaxNumberOfMessages=1) for _ in range(30)]
    queue.set(RockdoveDequeuePolicy=policy, RockdoveRetrySleepMs="10")
    queue.send_all(*map(str, range(30)))
    assert sorted(int(body) for poll in polls for body in poll.bodies()) == list(range(30))


@pytest.mark.parametrize("policy", ["rds", "pms"])
def test_a_held_receive_whose_client_went_away_takes_nothing(
    live: RunningService, make_live: QueueMaker, policy: str
) -> None:
    queue = make_live(
        RockdoveDequeuePolicy=policy, RockdovePhysicalQueues="3", RockdoveRetrySleepMs="10", RockdoveMonitorMs="10"
    )
    polls = [LongPoll(live.port, queue.url) for _ in range(5)]
    for poll in polls:
        poll.wire.close()
    time.sleep(0.1)
    queue.send_all("a", "b", "c")
    time.sleep(0.1)
    assert queue.counts() == (3, 0, 0)
    assert sorted(drain(queue)) == ["a", "b", "c"]


@pytest.mark.parametrize("policy", ["rds", "pms"])
def test_a_held_receive_of_a_queue_that_is_deleted(live: RunningService, make_live: QueueMaker, policy: str) -> None:
    queue = make_live(
        RockdoveDequeuePolicy=policy,
        RockdovePhysicalQueues="3",
        RockdoveRetrySleepMs="20000",
        RockdoveMonitorMs="20000",
    )
    poll = LongPoll(live.port, queue.url)
    queue.sqs.delete_queue(QueueUrl=queue.url)
    assert poll.reply().status == 400


def test_what_is_told(make: QueueMaker) -> None:
    names = ("DequeuePolicy", "MaxVisits", "MonitorMs", "MonitorSpread", "RetrySleepMs")
    ours = [f"Rockdove{name}" for name in names]
    assert list(make().attributes(*ours).values()) == ["wake", "3", "100", "true", "100"]
    given = dict(zip(ours, ["pms", "9", "5", "false", "auto"], strict=True))
    assert make(**given).attributes(*ours) == given
    assert not set(make().attributes("All")) & set(ours)


@pytest.mark.parametrize(
    ("name", "value"),
    [
        ("RockdoveDequeuePolicy", "Wake"),
        ("RockdoveDequeuePolicy", ""),
        ("RockdoveMaxVisits", "0"),
        ("RockdoveMaxVisits", "1001"),
        ("RockdoveMonitorMs", "0"),
        ("RockdoveMonitorMs", "20001"),
        ("RockdoveMonitorSpread", "yes"),
        ("RockdoveRetrySleepMs", "0"),
        ("RockdoveRetrySleepMs", "20001"),
        ("RockdoveRetrySleepMs", "none"),
    ],
)
def test_what_is_refused(make: QueueMaker, name: str, value: str) -> None:
    with refused("InvalidAttributeValue", f"Invalid value for the parameter {name}. Reason:"):
        make(**{name: value})
    with refused("InvalidAttributeValue", f"Invalid value for the parameter {name}. Reason:"):
        make().set(**{name: value})
