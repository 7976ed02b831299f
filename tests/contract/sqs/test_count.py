"""The three counts are exact, whatever happens to the messages and whenever."""

import pytest

from tests.contract.sqs.conftest import QueueMaker
from tests.support.service import RunningService
from tests.support.sqs_queue import SqsQueue


@pytest.mark.parametrize("parts", ["1", "3"])
def test_every_state_and_every_step(service: RunningService, make: QueueMaker, parts: str) -> None:
    queue = make(RockdovePhysicalQueues=parts)
    assert queue.counts() == (0, 0, 0)
    queue.send_all("1", "2", "3", "4")
    queue.send("5", DelaySeconds=10)
    assert queue.counts() == (4, 0, 1)
    first, second = queue.receive(2)
    assert queue.counts() == (2, 2, 1)
    queue.delete(first)
    assert queue.counts() == (2, 1, 1)
    service.advance(9.9)
    assert queue.counts() == (2, 1, 1)
    service.advance(0.1)
    assert queue.counts() == (3, 1, 0)
    queue.hide(second, 0)
    assert queue.counts() == (4, 0, 0)
    assert len(queue.receive()) == 4
    assert queue.counts() == (0, 4, 0)
    service.advance(30)
    assert queue.counts() == (4, 0, 0)
    messages = queue.receive()
    entries = [{"Id": str(at), "ReceiptHandle": one["ReceiptHandle"]} for at, one in enumerate(messages)]
    queue.sqs.delete_message_batch(QueueUrl=queue.url, Entries=entries)
    assert queue.counts() == (0, 0, 0)


def test_a_change_of_visibility_moves_the_moment(service: RunningService, queue: SqsQueue) -> None:
    queue.send()
    message = queue.receive_one()
    queue.hide(message, 100)
    service.advance(99)
    assert queue.counts() == (0, 1, 0)
    service.advance(1)
    assert queue.counts() == (1, 0, 0)


def test_a_received_message_that_comes_back_is_not_delayed(service: RunningService, make: QueueMaker) -> None:
    queue = make(DelaySeconds="5")
    queue.send()
    assert queue.counts() == (0, 0, 1)
    service.advance(5)
    queue.receive_one()
    assert queue.counts() == (0, 1, 0)
    service.advance(30)
    assert queue.counts() == (1, 0, 0)


def test_deleting_what_is_visible_again_counts_once(service: RunningService, queue: SqsQueue) -> None:
    queue.send_all("1", "2")
    message = queue.receive_one()
    service.advance(30)
    assert queue.counts() == (2, 0, 0)
    queue.delete(message)
    queue.delete(message)
    assert queue.counts() == (1, 0, 0)


@pytest.mark.parametrize("parts", ["1", "3"])
def test_fifo_queues_count_blocked_messages_as_visible(service: RunningService, make: QueueMaker, parts: str) -> None:
    """Recorded from SQS: of five, four received, one is available."""
    fifo = make.fifo(RockdovePhysicalQueues=parts)
    fifo.post("a", "a1", "a2", "a3")
    fifo.post("b", "b1")
    assert fifo.counts() == (4, 0, 0)
    fifo.receive_one()
    assert fifo.counts() == (3, 1, 0)
    service.advance(30)
    assert fifo.counts() == (4, 0, 0)
    messages = fifo.receive()
    assert fifo.counts() == (0, 4, 0)
    for message in messages:
        fifo.delete(message)
    assert fifo.counts() == (0, 0, 0)


def test_a_duplicate_does_not_count(fifo: SqsQueue) -> None:
    fifo.post("a", "same")
    fifo.post("a", "same")
    assert fifo.counts() == (1, 0, 0)


def test_a_failed_send_does_not_count(queue: SqsQueue) -> None:
    entries = [{"Id": "1", "MessageBody": "good"}, {"Id": "2", "MessageBody": "bad\x01"}]
    queue.sqs.send_message_batch(QueueUrl=queue.url, Entries=entries)
    assert queue.counts() == (1, 0, 0)
