"""ReceiveRequestAttemptId: a receive that is asked again, as AWS documents it."""

from typing import Any

import pytest

from tests.contract.sqs.conftest import QueueMaker
from tests.support.refusal import refused
from tests.support.service import RunningService
from tests.support.sqs_queue import SqsQueue


def _again(fifo: SqsQueue, attempt: str = "attempt", most: int = 10, **options: Any) -> list[dict[str, Any]]:
    return fifo.receive(most, ReceiveRequestAttemptId=attempt, **options)


@pytest.mark.parametrize("parts", ["1", "3"])
def test_asked_again_it_gives_the_same_messages_and_handles(make: QueueMaker, parts: str) -> None:
    """Documented: "return the same messages and receipt handles"."""
    fifo = make.fifo(RockdovePhysicalQueues=parts)
    for group in ("a", "b", "c", "d"):
        fifo.post(group, f"{group}1", f"{group}2")
    first = _again(fifo, most=5)
    assert len(first) == 5
    second = _again(fifo, most=5)
    assert sorted((one["MessageId"], one["ReceiptHandle"]) for one in second) == sorted(
        (one["MessageId"], one["ReceiptHandle"]) for one in first
    )


def test_what_came_meanwhile_to_other_physical_queues_stays_there(make: QueueMaker) -> None:
    fifo = make.fifo(RockdovePhysicalQueues="4")
    for group in "abcdefgh":
        fifo.post(group, f"{group}1")
        [first] = _again(fifo, f"attempt-{group}", most=1)
        for other in "abcdefgh":
            fifo.post(f"{other}{group}", f"{other}{group}")
        [second] = _again(fifo, f"attempt-{group}", most=1)
        assert second["MessageId"] == first["MessageId"]


def test_the_handle_of_the_first_answer_still_works(fifo: SqsQueue) -> None:
    fifo.post("g", "1", "2")
    [first] = _again(fifo, most=1)
    _again(fifo, most=1)
    fifo.delete(first)
    assert fifo.bodies() == ["2"]


def test_without_the_id_nothing_comes_before_the_timeout(fifo: SqsQueue) -> None:
    """Documented: who cannot track the id waits for "the original visibility timeout"."""
    fifo.post("g", "1")
    assert len(_again(fifo)) == 1
    assert fifo.receive() == []
    assert _again(fifo, "another") == []
    assert len(_again(fifo)) == 1


def test_asking_again_begins_the_timeout_anew(service: RunningService, fifo: SqsQueue) -> None:
    """Documented: "If a retry occurs within the deduplication interval, it resets the visibility timeout"."""
    fifo.post("g", "1")
    _again(fifo)
    service.advance(20)
    assert len(_again(fifo)) == 1
    service.advance(20)
    assert fifo.receive() == []
    service.advance(10)
    assert fifo.bodies() == ["1"]


def test_not_after_a_message_was_deleted(fifo: SqsQueue) -> None:
    """Documented: only "if none of the messages have been modified (deleted or had their visibility changes)"."""
    fifo.post("g", "1", "2")
    fifo.post("h", "other")
    first, second = _again(fifo, most=2)
    fifo.delete(first)
    assert [one["Body"] for one in _again(fifo, most=2)] == ["other"]
    fifo.delete(second)


def test_not_after_a_visibility_was_changed(fifo: SqsQueue) -> None:
    fifo.post("g", "1", "2")
    first, _ = _again(fifo)
    fifo.hide(first, 20)
    assert _again(fifo) == []


def test_not_after_the_timeout(service: RunningService, fifo: SqsQueue) -> None:
    fifo.post("g", "1")
    [first] = _again(fifo)
    service.advance(30)
    [second] = _again(fifo)
    assert first["ReceiptHandle"] != second["ReceiptHandle"]
    with refused("InvalidParameterValue"):
        fifo.delete(first)
    fifo.delete(second)


def test_five_minutes_and_no_longer(service: RunningService, make: QueueMaker) -> None:
    """Documented: "only for 5 minutes after a ReceiveMessage action"."""
    fifo = make.fifo(VisibilityTimeout="3600")
    fifo.post("g", "1")
    [first] = _again(fifo)
    service.advance(299)
    [second] = _again(fifo)
    assert first["ReceiptHandle"] == second["ReceiptHandle"]
    service.advance(300)
    assert _again(fifo) == []


def test_an_attempt_that_got_nothing_is_tried_anew(fifo: SqsQueue) -> None:
    assert _again(fifo) == []
    fifo.post("g", "1")
    assert [one["Body"] for one in _again(fifo)] == ["1"]


def test_the_receive_is_counted_once(fifo: SqsQueue) -> None:
    fifo.post("g", "1")
    for _ in range(3):
        [message] = _again(fifo, MessageSystemAttributeNames=["ApproximateReceiveCount"])
        assert message["Attributes"]["ApproximateReceiveCount"] == "1"


def test_an_attempt_is_a_queues_own(make: QueueMaker) -> None:
    mine, other = make.fifo(), make.fifo()
    mine.post("g", "1")
    assert len(_again(mine)) == 1
    assert _again(other) == []


def test_an_id_has_up_to_128_letters_digits_and_punctuation(fifo: SqsQueue) -> None:
    for good in ("x" * 128, r"""!"#$%&'()*+,-./:;<=>?@[\]^_`{|}~""", "aZ09"):
        assert _again(fifo, good) == []
    for bad in ("x" * 129, "ä", "a\n", "a b", " ", ""):
        with refused("InvalidParameterValue"):
            _again(fifo, bad)
