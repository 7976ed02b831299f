"""Retention: messages really expire, whatever their state, with and without the sweep."""

import pytest

from tests.contract.sqs.conftest import QueueMaker
from tests.support.longpoll import LongPoll
from tests.support.refusal import refused
from tests.support.service import RunningService
from tests.support.sqs_queue import SqsQueue


@pytest.fixture(params=["1", "3"])
def brief(make: QueueMaker, request: pytest.FixtureRequest) -> SqsQueue:
    """The shortest retention there is, on one and on several physical queues."""
    return make(MessageRetentionPeriod="60", RockdovePhysicalQueues=request.param)


def test_a_message_stays_to_the_end_of_its_time(service: RunningService, brief: SqsQueue) -> None:
    brief.send("x")
    service.advance(59)
    service.sweep()
    assert brief.bodies(VisibilityTimeout=0) == ["x"]


def test_a_receive_never_gives_an_expired_message(service: RunningService, brief: SqsQueue) -> None:
    brief.send_all("1", "2", "3")
    service.advance(30)
    brief.send_all("4", "5", "6")
    service.advance(31)
    assert sorted(brief.bodies()) == ["4", "5", "6"]
    assert brief.counts() == (0, 3, 0)
    service.advance(30)
    assert brief.receive() == []
    assert sum(brief.counts()) <= 3


def test_the_sweep_removes_visible_messages(service: RunningService, brief: SqsQueue) -> None:
    brief.send_all("1", "2", "3")
    service.advance(61)
    # Or the service's own round was quicker.
    service.sweep()
    assert brief.counts() == (0, 0, 0)


def test_the_sweep_removes_messages_in_flight(service: RunningService, brief: SqsQueue) -> None:
    brief.send("x")
    message = brief.receive_one(VisibilityTimeout=43_200)
    service.advance(61)
    service.sweep()
    assert brief.counts() == (0, 0, 0)
    with refused("InvalidParameterValue"):
        brief.hide(message, 0)
    brief.delete(message)
    service.advance(43_200)
    assert brief.receive() == []


def test_the_sweep_removes_delayed_messages(service: RunningService, brief: SqsQueue) -> None:
    brief.send("x", DelaySeconds=900)
    assert brief.counts() == (0, 0, 1)
    service.advance(61)
    service.sweep()
    assert brief.counts() == (0, 0, 0)
    service.advance(900)
    assert brief.receive() == []


def test_without_a_sweep_they_are_not_given_either(service: RunningService, brief: SqsQueue) -> None:
    brief.send("delayed", DelaySeconds=100)
    brief.send("in flight")
    brief.receive_one(VisibilityTimeout=100)
    service.advance(101)
    assert brief.receive() == []
    assert brief.counts() == (0, 0, 0)


def test_receives_and_changes_do_not_prolong_it(service: RunningService, brief: SqsQueue) -> None:
    brief.send("x")
    for _ in range(6):
        message = brief.receive_one(VisibilityTimeout=5)
        service.advance(4)
        brief.hide(message, 5)
        service.advance(5)
    service.advance(7)
    assert brief.receive() == []


def test_a_shorter_period_holds_for_what_is_there(service: RunningService, make: QueueMaker) -> None:
    """Documented: a change "will impact existing messages ... potentially causing them to be expired"."""
    queue = make()
    queue.send("old")
    service.advance(100)
    queue.send("new")
    queue.set(MessageRetentionPeriod="60")
    assert queue.bodies(VisibilityTimeout=0) == ["new"]
    service.sweep()
    assert queue.counts() == (1, 0, 0)


def test_a_longer_period_holds_for_what_is_there(service: RunningService, brief: SqsQueue) -> None:
    brief.send("x")
    service.advance(50)
    brief.set(MessageRetentionPeriod="1209600")
    service.advance(1_209_000)
    service.sweep()
    assert brief.bodies() == ["x"]
    service.advance(600)
    service.sweep()
    assert brief.counts() == (0, 0, 0)


def test_four_days_are_the_default(service: RunningService, queue: SqsQueue) -> None:
    queue.send("x")
    service.advance(345_599)
    assert queue.bodies(VisibilityTimeout=0) == ["x"]
    service.advance(2)
    assert queue.receive() == []


def test_fifo_groups_go_on_behind_what_has_expired(service: RunningService, make: QueueMaker) -> None:
    fifo = make.fifo(MessageRetentionPeriod="60")
    fifo.post("g", "old 1", "old 2")
    fifo.receive_one(VisibilityTimeout=1000)
    service.advance(30)
    fifo.post("g", "new")
    assert fifo.receive() == []
    service.advance(31)
    service.sweep()
    assert fifo.counts() == (1, 0, 0)
    assert fifo.bodies() == ["new"]


def test_fifo_receives_skip_what_has_expired(service: RunningService, make: QueueMaker) -> None:
    fifo = make.fifo(MessageRetentionPeriod="60")
    fifo.post("g", "old 1", "old 2")
    service.advance(30)
    fifo.post("g", "new")
    service.advance(31)
    assert fifo.bodies() == ["new"]
    assert fifo.counts() == (0, 1, 0)


def test_an_expired_message_is_no_dead_letter(service: RunningService, make: QueueMaker) -> None:
    dead, queue = make(), make(MessageRetentionPeriod="60")
    queue.redrive_to(dead, 1)
    queue.send("x")
    queue.receive_one(VisibilityTimeout=61)
    service.advance(61)
    assert queue.receive() == []
    assert (queue.counts(), dead.counts()) == ((0, 0, 0), (0, 0, 0))


def test_many_expire_in_one_sweep(service: RunningService, make_json: QueueMaker) -> None:
    queue = make_json(MessageRetentionPeriod="60")
    queue.send_all(*map(str, range(1500)))
    service.advance(61)
    # The service sweeps by itself, too, and may have been quicker: what counts is that one sweep leaves nothing.
    service.sweep()
    assert queue.counts() == (0, 0, 0)


def test_who_waits_gets_what_stood_behind_an_expired_message(service: RunningService, make: QueueMaker) -> None:
    queue = make.fifo(MessageRetentionPeriod="60")
    queue.post("g", "old")
    queue.receive_one(VisibilityTimeout=43_200)
    service.advance(50)
    queue.post("g", "young")
    waiter = LongPoll(service.port, queue.url)
    service.advance(11)
    service.sweep()
    assert waiter.bodies() == ["young"]
