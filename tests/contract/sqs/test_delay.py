"""Delays: of the queue, of a message, and what a change of the queue's delay does to messages that wait."""

import pytest

from tests.contract.sqs.conftest import QueueMaker
from tests.support.refusal import refused
from tests.support.service import RunningService
from tests.support.sqs_queue import SqsQueue


def test_a_queues_delay_holds_for_each_message(service: RunningService, make: QueueMaker) -> None:
    queue = make(DelaySeconds="10")
    queue.send("first")
    service.advance(5)
    queue.send("second")
    service.advance(4.9)
    assert queue.receive() == []
    service.advance(0.1)
    assert queue.bodies() == ["first"]
    service.advance(5)
    assert queue.bodies() == ["second"]


def test_a_messages_own_delay_comes_before_the_queues(service: RunningService, make: QueueMaker) -> None:
    queue = make(DelaySeconds="10")
    queue.send("later", DelaySeconds=20)
    queue.send("at once", DelaySeconds=0)
    queue.send("as the queue")
    assert queue.bodies() == ["at once"]
    service.advance(10)
    assert queue.bodies() == ["as the queue"]
    service.advance(10)
    assert queue.bodies() == ["later"]


def test_a_delay_is_up_to_fifteen_minutes(service: RunningService, queue: SqsQueue) -> None:
    queue.send("longest", DelaySeconds=900)
    service.advance(899)
    assert queue.receive() == []
    service.advance(1)
    assert queue.bodies() == ["longest"]


@pytest.mark.parametrize("delay", [-1, 901])
def test_other_delays_are_refused(queue: SqsQueue, delay: int) -> None:
    text = f"Value {delay} for parameter DelaySeconds is invalid. Reason: DelaySeconds must be >= 0 and <= 900."
    with refused("InvalidParameterValue", text):
        queue.send("x", DelaySeconds=delay)


def test_the_entries_of_a_batch_have_their_own_delays(service: RunningService, make: QueueMaker) -> None:
    """Documented: without DelaySeconds an entry has the queue's."""
    queue = make(DelaySeconds="5")
    queue.sqs.send_message_batch(
        QueueUrl=queue.url,
        Entries=[
            {"Id": "a", "MessageBody": "queue's"},
            {"Id": "b", "MessageBody": "none", "DelaySeconds": 0},
            {"Id": "c", "MessageBody": "longer", "DelaySeconds": 7},
        ],
    )
    assert queue.bodies() == ["none"]
    service.advance(5)
    assert queue.bodies() == ["queue's"]
    service.advance(2)
    assert queue.bodies() == ["longer"]


def test_a_change_does_not_touch_what_waits_in_a_standard_queue(service: RunningService, make: QueueMaker) -> None:
    """Documented in the developer guide: on standard queues the setting is not retroactive."""
    queue = make(DelaySeconds="10")
    queue.send("old")
    queue.set(DelaySeconds="0")
    queue.send("new")
    assert queue.bodies() == ["new"]
    service.advance(10)
    assert queue.bodies() == ["old"]


def test_a_change_holds_for_what_waits_in_a_fifo_queue(service: RunningService, make: QueueMaker) -> None:
    """Documented in the developer guide: on FIFO queues the setting is retroactive."""
    fifo = make.fifo(DelaySeconds="100")
    fifo.post("g", "old")
    fifo.set(DelaySeconds="10")
    assert fifo.receive() == []
    assert fifo.counts() == (0, 0, 1)
    service.advance(10)
    assert fifo.counts() == (1, 0, 0)
    assert fifo.bodies() == ["old"]
    fifo.post("other", "newer")
    fifo.set(DelaySeconds="50")
    service.advance(10)
    assert "newer" not in fifo.bodies()
    fifo.set(DelaySeconds="0")
    assert "newer" in fifo.bodies()


def test_fifo_queues_have_a_delay_of_their_own(service: RunningService, make: QueueMaker) -> None:
    fifo = make.fifo(DelaySeconds="2")
    fifo.post("g", "1", "2", "3")
    assert fifo.receive() == []
    service.advance(2)
    assert fifo.bodies() == ["1", "2", "3"]


def test_fifo_messages_have_none(fifo: SqsQueue) -> None:
    """Documented: "When you set FifoQueue, you can't set DelaySeconds per message"."""
    text = (
        "Value 2 for parameter DelaySeconds is invalid. "
        "Reason: The request include parameter that is not valid for this queue type."
    )
    with refused("InvalidParameterValue", text):
        fifo.send("x", MessageGroupId="g", DelaySeconds=2)
    assert fifo.counts() == (0, 0, 0)


def test_a_delay_of_zero_is_no_delay_to_fifo_queues_either(make: QueueMaker) -> None:
    """Recorded from SQS: zero is taken."""
    fifo = make.fifo()
    fifo.send("x", MessageGroupId="g", DelaySeconds=0)
    assert fifo.bodies() == ["x"]


def test_a_message_that_comes_back_is_not_delayed_again(service: RunningService, make: QueueMaker) -> None:
    queue = make(DelaySeconds="100", VisibilityTimeout="5")
    queue.send("x")
    service.advance(100)
    assert queue.bodies() == ["x"]
    service.advance(5)
    assert queue.bodies() == ["x"]
