"""A send to a queue that another front-end has purged or deleted, which this one has not heard of."""

from types import SimpleNamespace
from typing import Any, cast

import pytest

from rockdove.broker.broker import Broker
from rockdove.broker.event import Events
from rockdove.broker.queue import Queue
from rockdove.core.errors import QueueDoesNotExist, QueueGone
from rockdove.store.base import Appended

HERE = [Appended(1, "m")]


class Physical:
    def __init__(self, outcome: Any) -> None:
        self.outcome = outcome

    def append(self, drafts: Any, done: Any) -> None:
        done(self.outcome)


def send(queue: Any, heard: Any) -> list[Any]:
    """``heard`` is what becomes of the queue when this front-end hears of all changes."""
    records = SimpleNamespace(catch_up=lambda done: (heard(), done(None)))
    store = SimpleNamespace(full=None, records=records, on_arrival=lambda arrived: None)
    directory = SimpleNamespace(arrived=None)
    context = SimpleNamespace(store=store, directory=directory, receipts=None, clock=None)
    outcomes: list[Any] = []
    Broker(cast(Any, context)).send(cast(Queue, queue), [], outcomes.append)
    return outcomes


@pytest.fixture
def queue() -> Any:
    return SimpleNamespace(physical=[Physical(QueueGone())], is_plain=True, alive=True, events=Events())


def test_a_queue_that_was_purged_takes_it(queue: Any) -> None:
    assert send(queue, lambda: setattr(queue, "physical", [Physical(HERE)])) == [HERE]
    assert queue.events.sent == 1


def test_a_queue_that_was_deleted_does_not_exist(queue: Any) -> None:
    (fault,) = send(queue, lambda: setattr(queue, "alive", False))
    assert isinstance(fault, QueueDoesNotExist)


def test_it_is_not_tried_for_ever(queue: Any) -> None:
    (fault,) = send(queue, lambda: None)
    assert isinstance(fault, QueueDoesNotExist)
