"""ChangeMessageVisibility on standard queues (for FIFO queues see test_fifo)."""

import pytest

from tests.contract.sqs.conftest import QueueMaker
from tests.support.refusal import refused
from tests.support.service import RunningService
from tests.support.sqs_queue import SqsQueue

BEYOND = "Reason: Total VisibilityTimeout for the message is beyond the limit [43200 seconds]"


def _unavailable(message: dict[str, str]) -> str:
    return (
        f"Value {message['ReceiptHandle']} for parameter ReceiptHandle is invalid. "
        "Reason: Message does not exist or is not available for visibility timeout change."
    )


def test_the_new_timeout_counts_from_the_change(service: RunningService, make: QueueMaker) -> None:
    """The example in the documentation: 60 s, after 15 s changed to 10 s, visible after 25 s in all."""
    queue = make(VisibilityTimeout="60")
    queue.send("x")
    message = queue.receive_one()
    service.advance(15)
    queue.hide(message, 10)
    service.advance(9.9)
    assert queue.receive() == []
    service.advance(0.1)
    assert queue.bodies() == ["x"]


def test_it_can_be_extended_again_and_again(service: RunningService, make: QueueMaker) -> None:
    queue = make(VisibilityTimeout="2")
    queue.send("x")
    message = queue.receive_one()
    for _ in range(5):
        service.advance(1.9)
        queue.hide(message, 2)
        assert queue.receive() == []
    service.advance(2)
    assert queue.bodies() == ["x"]


def test_zero_makes_it_visible_at_once(queue: SqsQueue) -> None:
    queue.send("x")
    queue.hide(queue.receive_one(), 0)
    assert queue.counts() == (1, 0, 0)
    assert queue.bodies() == ["x"]


def test_the_change_is_for_this_receive_only(service: RunningService, queue: SqsQueue) -> None:
    """Documented: at the next receive the timeout "reverts to the original timeout value"."""
    queue.send("x")
    queue.hide(queue.receive_one(), 5)
    service.advance(5)
    queue.receive_one()
    service.advance(5)
    assert queue.receive() == []
    service.advance(25)
    assert queue.bodies() == ["x"]


def test_an_older_handle_changes_it_too(service: RunningService, queue: SqsQueue) -> None:
    """Recorded from SQS, on standard queues."""
    queue.send("x")
    old = queue.receive_one(VisibilityTimeout=0)
    queue.receive_one(VisibilityTimeout=30)
    queue.hide(old, 0)
    assert queue.bodies() == ["x"]


def test_a_message_that_is_visible_again_is_hidden_again(service: RunningService, queue: SqsQueue) -> None:
    """That it is no error was recorded from SQS."""
    queue.send("x")
    message = queue.receive_one()
    service.advance(30)
    assert queue.counts() == (1, 0, 0)
    queue.hide(message, 10)
    assert queue.counts() == (0, 1, 0)
    assert queue.bodies() == []
    service.advance(10)
    assert queue.bodies() == ["x"]


def test_also_after_a_change_to_zero(queue: SqsQueue) -> None:
    queue.send("x")
    message = queue.receive_one()
    queue.hide(message, 0)
    queue.hide(message, 10)
    assert queue.bodies() == []
    queue.delete(message)
    assert queue.counts() == (0, 0, 0)


def test_a_deleted_message_is_not_there(queue: SqsQueue) -> None:
    """The code and the text as recorded from SQS."""
    queue.send("x")
    message = queue.receive_one()
    queue.delete(message)
    with refused("InvalidParameterValue", _unavailable(message)):
        queue.hide(message, 42)


@pytest.mark.parametrize("timeout", [-1, 43_201, 2**31 - 1])
def test_the_timeout_is_zero_to_twelve_hours(queue: SqsQueue, timeout: int) -> None:
    queue.send("x")
    message = queue.receive_one()
    with refused("InvalidParameterValue") as fault:
        queue.hide(message, timeout)
    assert fault["Message"].startswith(f"Value {timeout} for parameter VisibilityTimeout is invalid. Reason: ")
    assert queue.counts() == (0, 1, 0)


def test_twelve_hours_in_all_from_the_receive(service: RunningService, queue: SqsQueue) -> None:
    """Documented: "a value greater than the maximum time left" is an error, and is not cut down to what is left."""
    queue.send("x")
    message = queue.receive_one()
    queue.hide(message, 43_200)
    service.advance(10)
    with refused("InvalidParameterValue", f"Value 43200 for parameter VisibilityTimeout is invalid. {BEYOND}"):
        queue.hide(message, 43_200)
    queue.hide(message, 43_190)
    service.advance(43_100)
    with refused("InvalidParameterValue", f"Value 91 for parameter VisibilityTimeout is invalid. {BEYOND}"):
        queue.hide(message, 91)
    queue.hide(message, 90)
    service.advance(89)
    assert queue.receive() == []
    service.advance(1)
    assert queue.bodies() == ["x"]


def test_the_next_receive_has_twelve_hours_of_its_own(service: RunningService, queue: SqsQueue) -> None:
    queue.send("x")
    queue.receive_one()
    service.advance(10_000)
    queue.hide(queue.receive_one(), 43_200)
    service.advance(43_199)
    assert queue.receive() == []


def test_a_batch_knows_the_twelve_hours_too(service: RunningService, queue: SqsQueue) -> None:
    queue.send("x")
    message = queue.receive_one()
    service.advance(1)
    entry = {"Id": "1", "ReceiptHandle": message["ReceiptHandle"], "VisibilityTimeout": 43_200}
    [failed] = queue.sqs.change_message_visibility_batch(QueueUrl=queue.url, Entries=[entry])["Failed"]
    assert (failed["Code"], failed["SenderFault"]) == ("InvalidParameterValue", True)


def test_the_count_of_receives_does_not_change(queue: SqsQueue) -> None:
    queue.send("x")
    message = queue.receive_one()
    for _ in range(3):
        queue.hide(message, 20)
    queue.hide(message, 0)
    again = queue.receive_one(MessageSystemAttributeNames=["ApproximateReceiveCount"])
    assert again["Attributes"]["ApproximateReceiveCount"] == "2"
