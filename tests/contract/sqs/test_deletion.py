"""DeleteMessage: what handles do on standard queues (for FIFO queues see test_fifo)."""

import pytest

from tests.contract.sqs.conftest import QueueMaker
from tests.support.refusal import refused
from tests.support.service import RunningService
from tests.support.sqs_queue import SqsQueue


def test_a_deleted_message_never_comes_back(service: RunningService, queue: SqsQueue) -> None:
    queue.send("x")
    queue.delete(queue.receive_one())
    assert queue.counts() == (0, 0, 0)
    service.advance(100)
    assert queue.receive() == []


def test_deleting_twice_is_no_error(queue: SqsQueue) -> None:
    queue.send("x")
    message = queue.receive_one()
    for _ in range(3):
        queue.delete(message)


def test_only_that_message_goes(queue: SqsQueue) -> None:
    queue.send_all("1", "2", "3")
    messages = queue.receive()
    queue.delete(messages[1])
    queue.hide(messages[0], 0)
    queue.hide(messages[2], 0)
    assert queue.bodies() == ["1", "3"]


def test_a_handle_works_after_its_time(service: RunningService, queue: SqsQueue) -> None:
    """Recorded from SQS: the message is visible again, and deleted all the same."""
    queue.send("x")
    message = queue.receive_one()
    service.advance(31)
    queue.delete(message)
    assert queue.counts() == (0, 0, 0)


def test_an_old_handle_works_while_another_consumer_has_the_message(service: RunningService, queue: SqsQueue) -> None:
    """Documented: SQS can delete a message "even if ... locked by another consumer"."""
    queue.send("x")
    old = queue.receive_one()
    service.advance(31)
    new = queue.receive_one()
    queue.delete(old)
    assert queue.counts() == (0, 0, 0)
    queue.delete(new)


def test_every_handle_of_a_message_that_was_never_hidden_works(queue: SqsQueue) -> None:
    queue.send_all("1", "2")
    [first, *_] = queue.receive(VisibilityTimeout=0)
    queue.receive(VisibilityTimeout=0)
    queue.delete(first)
    assert queue.bodies() == ["2" if first["Body"] == "1" else "1"]


@pytest.mark.parametrize(
    "handle",
    ["garbage", "x" * 56, "A" * 1000, "ä", "MbZj6wDWli+JvwwJaBV+3dcjk2YW2vA3+STFFljTM8tJJg6HRG6PYSasuWXPJB+Cw"],
)
def test_what_is_no_handle_is_refused(queue: SqsQueue, handle: str) -> None:
    text = f'The input receipt handle "{handle}" is not a valid receipt handle.'
    with refused("ReceiptHandleIsInvalid", text):
        queue.delete({"ReceiptHandle": handle})
    with refused("ReceiptHandleIsInvalid", text):
        queue.hide({"ReceiptHandle": handle}, 1)


def test_an_empty_handle_is_refused(queue: SqsQueue) -> None:
    with refused("ReceiptHandleIsInvalid"):
        queue.delete({"ReceiptHandle": ""})


def test_a_handle_cannot_be_changed_by_a_letter(queue: SqsQueue) -> None:
    queue.send("x")
    handle = queue.receive_one()["ReceiptHandle"]
    for at in range(len(handle)):
        changed = handle[:at] + ("A" if handle[at] != "A" else "B") + handle[at + 1 :]
        with refused("ReceiptHandleIsInvalid"):
            queue.delete({"ReceiptHandle": changed})
    assert queue.counts() == (0, 1, 0)


def test_a_handle_is_for_its_own_queue(make: QueueMaker) -> None:
    mine, other = make(), make()
    mine.send("x")
    message = mine.receive_one()
    with refused("ReceiptHandleIsInvalid"):
        other.delete(message)
    with refused("ReceiptHandleIsInvalid"):
        other.hide(message, 0)
    assert mine.counts() == (0, 1, 0)


def test_a_message_id_is_no_handle(queue: SqsQueue) -> None:
    """Documented: "use the ReceiptHandle of the message (not the MessageId)"."""
    sent = queue.send("x")
    with refused("ReceiptHandleIsInvalid"):
        queue.delete({"ReceiptHandle": sent["MessageId"]})


def test_a_delayed_message_cannot_be_had_by_guessing(queue: SqsQueue) -> None:
    queue.send("seen")
    queue.send("hidden", DelaySeconds=900)
    message = queue.receive_one()
    queue.delete(message)
    queue.delete(message)
    assert queue.counts() == (0, 0, 1)
