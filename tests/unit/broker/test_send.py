"""A send to a queue that another front-end has changed, purged or deleted, which this one has not heard of."""

from types import SimpleNamespace
from typing import Any, cast

import pytest

from rockdove.broker.broker import Broker
from rockdove.broker.event import Events
from rockdove.broker.placing import MOST_TRIES
from rockdove.broker.queue import Queue
from rockdove.broker.route import route
from rockdove.core.errors import QueueDoesNotExist, QueueGone, ServiceUnavailable
from rockdove.core.message import Extra, Message
from rockdove.store.base import Appended, Draft

HERE = [Appended(1, "m")]
DRAFT = Draft(Message(0, b"m", "md5", Extra(group_id="g")), 0)


class Physical:
    """Tells this outcome of appends, and of groups what it is told to."""

    def __init__(self, outcome: Any, number: int = 1) -> None:
        self.outcome = outcome
        self.record = SimpleNamespace(number=number)
        self.appends = 0
        self.asked: list[Any] = []

    def append(self, drafts: Any, done: Any) -> None:
        self.appends += 1
        done(self.outcome)

    def holds(self, groups: Any, done: Any) -> None:
        self.asked.append(done)


class FakeQueue:
    """Of one physical queue, and of a FIFO queue those that leave."""

    is_plain, alive, fifo = True, True, False

    def __init__(self, physical: Physical) -> None:
        self.physical = [physical]
        self.former: list[list[Physical]] = []
        self.events = Events()

    def route(self, group: str) -> Physical:
        return self.physical[0]


def send(queue: Any, heard: Any) -> list[Any]:
    """``heard`` is what becomes of the queue when this front-end hears of all changes."""
    records = SimpleNamespace(catch_up=lambda done: (heard(), done(None)))
    store = SimpleNamespace(full=None, records=records, on_arrival=lambda arrived: None)
    directory = SimpleNamespace(arrived=None)
    context = SimpleNamespace(store=store, directory=directory, receipts=None, clock=None)
    outcomes: list[Any] = []
    Broker(cast(Any, context)).send(cast(Queue, queue), [DRAFT], outcomes.append)
    return outcomes


@pytest.fixture
def queue() -> FakeQueue:
    return FakeQueue(Physical(QueueGone()))


def test_a_queue_that_was_purged_takes_it(queue: FakeQueue) -> None:
    assert send(queue, lambda: setattr(queue, "physical", [Physical(HERE)])) == [HERE]
    assert queue.events.sent == 1


def test_a_queue_that_was_deleted_does_not_exist(queue: FakeQueue) -> None:
    (fault,) = send(queue, lambda: setattr(queue, "alive", False))
    assert isinstance(fault, QueueDoesNotExist)


def test_it_is_not_tried_for_ever(queue: FakeQueue) -> None:
    (fault,) = send(queue, lambda: None)
    assert isinstance(fault, ServiceUnavailable)
    # And once before that without a choice.
    assert queue.physical[0].appends == MOST_TRIES + 1


def test_a_queue_that_changes_while_its_old_physical_queues_are_asked() -> None:
    """What was the newest then was not asked, and may have the group. It says so when the message comes."""
    oldest, middle, newest = (Physical(HERE, number) for number in range(3))
    queue = FakeQueue(middle)
    queue.former = [[oldest]]
    found: list[Any] = []
    route(cast(Any, queue), [DRAFT], found.append)
    queue.physical, queue.former = [newest], [[oldest], [middle]]
    (answer,) = oldest.asked
    answer([False])
    assert found == [[(middle, [0])]]


@pytest.mark.parametrize(
    ("held", "chosen"), [((True, True), 0), ((True, False), 0), ((False, True), 1), ((False, False), 2)]
)
def test_a_group_goes_where_the_oldest_holds_it(held: tuple[bool, bool], chosen: int) -> None:
    places = [Physical(HERE, number) for number in range(3)]
    queue = FakeQueue(places[2])
    queue.former = [[places[0]], [places[1]]]
    found: list[Any] = []
    route(cast(Any, queue), [DRAFT], found.append)
    # In whichever order they answer.
    places[1].asked[0]([held[1]])
    places[0].asked[0]([held[0]])
    assert found == [[(places[chosen], [0])]]
