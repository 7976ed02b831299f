"""FIFO queues: groups, their order, what blocks them, sequence numbers, and handles that end with their receive."""

from typing import Any

import pytest

from tests.contract.sqs.conftest import QueueMaker
from tests.support.refusal import refused
from tests.support.service import RunningService
from tests.support.sqs_queue import SqsQueue

EXPIRED = "Value {} for parameter ReceiptHandle is invalid. Reason: The receipt handle has expired."


def test_a_message_needs_a_group(fifo: SqsQueue) -> None:
    with refused("MissingParameter", "The request must contain the parameter MessageGroupId."):
        fifo.send("x")


@pytest.mark.parametrize("parameter", ["MessageGroupId", "MessageDeduplicationId"])
def test_ids_have_up_to_128_letters_digits_and_punctuation(fifo: SqsQueue, parameter: str) -> None:
    punctuation = r"""!"#$%&'()*+,-./:;<=>?@[\]^_`{|}~"""
    base = {"MessageGroupId": "g", "MessageDeduplicationId": "d"}
    for good in ("x" * 128, punctuation, "aZ09"):
        fifo.send("x", **(base | {parameter: good}))
    for bad in ("x" * 129, "a b", "ä", "a\n", "\t"):
        with refused("InvalidParameterValue") as fault:
            fifo.send("x", **(base | {parameter: bad}))
        assert fault["Message"].startswith(f"Value {bad} for parameter {parameter} is invalid. Reason: ")


def test_an_empty_group_is_none(fifo: SqsQueue) -> None:
    with pytest.raises(fifo.sqs.exceptions.ClientError) as caught:
        fifo.send("x", MessageGroupId="")
    assert caught.value.response["Error"]["Code"] in ("MissingParameter", "InvalidParameterValue")


def test_a_group_comes_in_its_order_in_one_receive(fifo: SqsQueue) -> None:
    fifo.post("g", *map(str, range(10)))
    assert fifo.bodies() == [str(number) for number in range(10)]


def test_a_group_is_blocked_while_one_of_it_is_in_flight(service: RunningService, fifo: SqsQueue) -> None:
    """Documented: "no more messages belonging to the same MessageGroupId are returned"."""
    fifo.post("g", "1", "2", "3")
    assert fifo.bodies(1) == ["1"]
    assert fifo.receive() == []
    service.advance(29.9)
    assert fifo.receive() == []
    service.advance(0.1)
    assert fifo.bodies() == ["1", "2", "3"]


def test_other_groups_go_on(fifo: SqsQueue) -> None:
    fifo.post("a", "a1", "a2")
    fifo.post("b", "b1", "b2")
    assert fifo.bodies(1) == ["a1"]
    assert fifo.bodies() == ["b1", "b2"]
    assert fifo.receive() == []


def test_as_many_of_one_group_as_possible_come_together(fifo: SqsQueue) -> None:
    """Documented in the developer guide; the order as recorded from SQS."""
    fifo.post("a", "a1")
    fifo.post("b", "b1")
    fifo.post("a", "a2", "a3")
    assert fifo.bodies() == ["a1", "a2", "a3", "b1"]


def test_a_part_of_a_group_blocks_the_rest_of_it(fifo: SqsQueue) -> None:
    fifo.post("a", "a1", "a2", "a3", "a4")
    fifo.post("b", "b1")
    assert fifo.bodies(2) == ["a1", "a2"]
    assert fifo.bodies() == ["b1"]


def test_deleting_all_that_is_in_flight_frees_the_group(fifo: SqsQueue) -> None:
    fifo.post("g", "1", "2", "3")
    first, second = fifo.receive(2)
    fifo.delete(first)
    assert fifo.receive() == []
    fifo.delete(second)
    assert fifo.bodies() == ["3"]


def test_one_by_one_is_in_order(fifo: SqsQueue) -> None:
    fifo.post("g", *map(str, range(12)))
    for number in range(12):
        message = fifo.receive_one()
        assert message["Body"] == str(number)
        fifo.delete(message)
    assert fifo.counts() == (0, 0, 0)


def test_giving_up_all_frees_the_group_in_its_old_order(fifo: SqsQueue) -> None:
    fifo.post("g", "1", "2", "3")
    first, second = fifo.receive(2)
    fifo.hide(second, 0)
    fifo.hide(first, 0)
    assert fifo.bodies() == ["1", "2", "3"]


def test_a_timeout_of_zero_blocks_nothing(fifo: SqsQueue) -> None:
    fifo.post("g", "1", "2")
    for _ in range(3):
        assert fifo.bodies(VisibilityTimeout=0) == ["1", "2"]


def test_what_is_sent_to_a_blocked_group_waits_behind(service: RunningService, fifo: SqsQueue) -> None:
    fifo.post("g", "1")
    fifo.receive_one()
    fifo.post("g", "2")
    assert fifo.receive() == []
    service.advance(30)
    assert fifo.bodies() == ["1", "2"]


def test_many_groups_each_in_order(make: QueueMaker) -> None:
    fifo = make.fifo()
    groups = [f"group-{number}" for number in range(12)]
    for turn in range(3):
        for group in groups:
            fifo.post(group, f"{group} {turn}")
    got: dict[str, list[str]] = {}
    while messages := fifo.receive():
        for message in messages:
            group, _, turn = message["Body"].partition(" ")
            got.setdefault(group, []).append(turn)
            fifo.delete(message)
    assert got == {group: ["0", "1", "2"] for group in groups}


@pytest.mark.parametrize("parts", ["2", "5"])
def test_several_physical_queues_keep_the_groups_in_order(make: QueueMaker, parts: str) -> None:
    fifo = make.fifo(RockdovePhysicalQueues=parts)
    groups = [f"group-{number}" for number in range(8)]
    for turn in range(4):
        for group in groups:
            fifo.post(group, f"{group} {turn}")
    assert fifo.counts() == (32, 0, 0)
    got: dict[str, list[str]] = {}
    for _ in range(40):
        for message in fifo.receive(3):
            group, _, turn = message["Body"].partition(" ")
            got.setdefault(group, []).append(turn)
            fifo.delete(message)
    assert got == {group: ["0", "1", "2", "3"] for group in groups}


def test_several_physical_queues_fill_a_receive(make: QueueMaker) -> None:
    fifo = make.fifo(RockdovePhysicalQueues="4")
    for number in range(10):
        fifo.post(f"group-{number}", str(number))
    assert sorted(fifo.bodies()) == [str(number) for number in range(10)]


def test_sequence_numbers_grow_within_a_group(fifo: SqsQueue) -> None:
    numbers = [int(fifo.send(str(number), MessageGroupId="g")["SequenceNumber"]) for number in range(5)]
    assert numbers == sorted(set(numbers))
    assert len(fifo.send("x", MessageGroupId="h")["SequenceNumber"]) == 20
    got = [
        int(message["Attributes"]["SequenceNumber"])
        for message in fifo.receive(5, MessageSystemAttributeNames=["SequenceNumber"])
    ]
    assert got == numbers


def test_a_handle_ends_with_its_time(service: RunningService, fifo: SqsQueue) -> None:
    """The code and the text as recorded from SQS."""
    fifo.post("g", "1")
    message = fifo.receive_one()
    service.advance(30)
    text = EXPIRED.format(message["ReceiptHandle"])
    with refused("InvalidParameterValue", text):
        fifo.delete(message)
    with refused("InvalidParameterValue", text):
        fifo.hide(message, 10)
    assert fifo.counts() == (1, 0, 0)


def test_a_handle_ends_with_the_next_receive(service: RunningService, fifo: SqsQueue) -> None:
    fifo.post("g", "1")
    old = fifo.receive_one()
    service.advance(30)
    new = fifo.receive_one()
    text = EXPIRED.format(old["ReceiptHandle"])
    with refused("InvalidParameterValue", text):
        fifo.delete(old)
    with refused("InvalidParameterValue", text):
        fifo.hide(old, 0)
    assert fifo.counts() == (0, 1, 0)
    fifo.delete(new)
    assert fifo.counts() == (0, 0, 0)


def test_an_expired_handle_in_a_batch(service: RunningService, fifo: SqsQueue) -> None:
    fifo.post("g", "1")
    handle = fifo.receive_one()["ReceiptHandle"]
    service.advance(30)
    failed = {
        "Id": "1",
        "SenderFault": True,
        "Code": "InvalidParameterValue",
        "Message": EXPIRED.format(handle),
    }
    entry: dict[str, Any] = {"Id": "1", "ReceiptHandle": handle}
    assert fifo.sqs.delete_message_batch(QueueUrl=fifo.url, Entries=[entry])["Failed"] == [failed]
    entry["VisibilityTimeout"] = 5
    assert fifo.sqs.change_message_visibility_batch(QueueUrl=fifo.url, Entries=[entry])["Failed"] == [failed]


def test_deleting_twice_is_no_error(fifo: SqsQueue) -> None:
    fifo.post("g", "1")
    message = fifo.receive_one()
    fifo.delete(message)
    fifo.delete(message)
    with refused("InvalidParameterValue"):
        fifo.hide(message, 5)


def test_a_handle_can_be_extended(service: RunningService, fifo: SqsQueue) -> None:
    fifo.post("g", "1", "2")
    message = fifo.receive_one()
    for _ in range(4):
        service.advance(29)
        fifo.hide(message, 30)
        assert fifo.receive() == []
    fifo.delete(message)
    assert fifo.bodies() == ["2"]


def test_garbage_and_other_queues_handles_are_refused(make: QueueMaker) -> None:
    mine, other = make.fifo(), make.fifo()
    mine.post("g", "1")
    message = mine.receive_one()
    with refused("ReceiptHandleIsInvalid"):
        other.delete(message)
    with refused("ReceiptHandleIsInvalid"):
        mine.delete({"ReceiptHandle": "garbage"})


def test_a_delayed_group_waits_as_one(service: RunningService, make: QueueMaker) -> None:
    fifo = make.fifo(DelaySeconds="10")
    fifo.post("g", "1")
    service.advance(5)
    fifo.post("g", "2")
    service.advance(5)
    [message] = fifo.receive()
    assert message["Body"] == "1"
    fifo.delete(message)
    assert fifo.receive() == []
    service.advance(5)
    assert fifo.bodies() == ["2"]
