"""The three batches: an outcome for each entry, and what refuses them as a whole."""

from collections.abc import Callable
from typing import Any

import pytest

from tests.contract.sqs.conftest import QueueMaker
from tests.support.digest import attributes_md5, md5
from tests.support.refusal import refused
from tests.support.sqs_queue import SqsQueue

LIMIT = 1_048_576
BAD_ID = (
    "A batch entry id can only contain alphanumeric characters, hyphens and underscores. "
    "It can be at most 80 letters long."
)

Batch = Callable[[SqsQueue, list[dict[str, Any]]], dict[str, Any]]


def _send(queue: SqsQueue, entries: list[dict[str, Any]]) -> dict[str, Any]:
    answer: dict[str, Any] = queue.sqs.send_message_batch(
        QueueUrl=queue.url, Entries=[{"MessageBody": "x", **entry} for entry in entries]
    )
    return answer


def _delete(queue: SqsQueue, entries: list[dict[str, Any]]) -> dict[str, Any]:
    answer: dict[str, Any] = queue.sqs.delete_message_batch(
        QueueUrl=queue.url, Entries=[{"ReceiptHandle": "x", **entry} for entry in entries]
    )
    return answer


def _change(queue: SqsQueue, entries: list[dict[str, Any]]) -> dict[str, Any]:
    answer: dict[str, Any] = queue.sqs.change_message_visibility_batch(
        QueueUrl=queue.url, Entries=[{"ReceiptHandle": "x", "VisibilityTimeout": 1, **entry} for entry in entries]
    )
    return answer


every_batch = pytest.mark.parametrize(
    ("batch", "entry_name"),
    [
        (_send, "SendMessageBatchRequestEntry"),
        (_delete, "DeleteMessageBatchRequestEntry"),
        (_change, "ChangeMessageVisibilityBatchRequestEntry"),
    ],
    ids=["send", "delete", "change"],
)


@every_batch
def test_a_batch_has_entries(queue: SqsQueue, batch: Batch, entry_name: str) -> None:
    text = f"There should be at least one {entry_name} in the request."
    with refused("AWS.SimpleQueueService.EmptyBatchRequest", text):
        batch(queue, [])


@every_batch
def test_a_batch_has_at_most_ten_entries(queue: SqsQueue, batch: Batch, entry_name: str) -> None:
    entries = [{"Id": str(number)} for number in range(20)]
    text = "Maximum number of entries per request are 10. You have sent {}."
    for number in (11, 20):
        with refused("AWS.SimpleQueueService.TooManyEntriesInBatchRequest", text.format(number)):
            batch(queue, entries[:number])
    assert queue.counts() == (0, 0, 0)
    batch(queue, entries[:10])


@every_batch
def test_ids_are_distinct(queue: SqsQueue, batch: Batch, entry_name: str) -> None:
    with refused("AWS.SimpleQueueService.BatchEntryIdsNotDistinct", "Id two repeated."):
        batch(queue, [{"Id": "one"}, {"Id": "two"}, {"Id": "two"}])
    assert queue.counts() == (0, 0, 0)


@every_batch
@pytest.mark.parametrize("bad", ["", "x" * 81, "a:b", "a b", "a.b", "ä", "a\n"])
def test_ids_are_letters_digits_hyphens_and_underscores(
    queue: SqsQueue, batch: Batch, entry_name: str, bad: str
) -> None:
    with refused("AWS.SimpleQueueService.InvalidBatchEntryId", BAD_ID):
        batch(queue, [{"Id": "good"}, {"Id": bad}])
    assert queue.counts() == (0, 0, 0)


@every_batch
def test_the_longest_id_is_answered_as_it_is(queue: SqsQueue, batch: Batch, entry_name: str) -> None:
    ids = ["aZ09_-".ljust(80, "x"), "1"]
    answer = batch(queue, [{"Id": one} for one in ids])
    assert [entry["Id"] for entry in answer.get("Successful", []) + answer.get("Failed", [])] == ids


def test_each_message_has_its_result(queue: SqsQueue) -> None:
    attributes = {"a": {"DataType": "String", "StringValue": "1"}}
    header = {"AWSTraceHeader": {"DataType": "String", "StringValue": "Root=1-5759e988-bd862e3fe1be46a994272793"}}
    answer = _send(
        queue,
        [
            {"Id": "plain", "MessageBody": "one"},
            {"Id": "rich", "MessageBody": "two", "MessageAttributes": attributes, "MessageSystemAttributes": header},
        ],
    )
    assert answer.get("Failed", []) == []
    plain, rich = answer["Successful"]
    assert plain == {"Id": "plain", "MessageId": plain["MessageId"], "MD5OfMessageBody": md5("one")}
    assert rich == {
        "Id": "rich",
        "MessageId": rich["MessageId"],
        "MD5OfMessageBody": md5("two"),
        "MD5OfMessageAttributes": attributes_md5(attributes),
        "MD5OfMessageSystemAttributes": attributes_md5(header),
    }
    assert {message["MessageId"] for message in queue.receive()} == {plain["MessageId"], rich["MessageId"]}


def test_messages_fail_one_by_one(make: QueueMaker) -> None:
    queue = make(MaximumMessageSize="1024")
    wrong: dict[str, tuple[dict[str, Any], str]] = {
        "characters": ({"MessageBody": "\x01"}, "InvalidMessageContents"),
        "empty": ({"MessageBody": ""}, "MissingParameter"),
        "long": ({"MessageBody": "x" * 1025}, "InvalidParameterValue"),
        "delay": ({"DelaySeconds": 901}, "InvalidParameterValue"),
        "attribute": ({"MessageAttributes": {"a": {"DataType": "No", "StringValue": "x"}}}, "InvalidParameterValue"),
        "group": ({"MessageGroupId": "ä"}, "InvalidParameterValue"),
        "system": (
            {"MessageSystemAttributes": {"No": {"DataType": "String", "StringValue": "x"}}},
            "InvalidParameterValue",
        ),
    }
    entries = [{"Id": name, **entry} for name, (entry, _) in wrong.items()]
    answer = _send(queue, [{"Id": "first"}, *entries, {"Id": "last"}])
    assert [entry["Id"] for entry in answer["Successful"]] == ["first", "last"]
    assert {entry["Id"]: entry["Code"] for entry in answer["Failed"]} == {
        name: code for name, (_, code) in wrong.items()
    }
    assert all(entry["SenderFault"] is True for entry in answer["Failed"])
    assert all(entry["Message"] for entry in answer["Failed"])
    assert queue.counts() == (2, 0, 0)


def test_a_failed_entry_has_the_text_of_the_single_call(queue: SqsQueue) -> None:
    [failed] = _send(queue, [{"Id": "late", "DelaySeconds": 901}])["Failed"]
    assert failed == {
        "Id": "late",
        "SenderFault": True,
        "Code": "InvalidParameterValue",
        "Message": "Value 901 for parameter DelaySeconds is invalid. Reason: DelaySeconds must be >= 0 and <= 900.",
    }


def test_the_messages_of_a_batch_fit_the_limit_together(queue: SqsQueue) -> None:
    attributes = {"k": {"DataType": "String", "StringValue": "x"}}
    first = {"Id": "1", "MessageBody": "a" * (LIMIT - len("k" + "String" + "x")), "MessageAttributes": attributes}
    text = f"Batch requests cannot be longer than {LIMIT} bytes. You have sent {LIMIT + 1} bytes."
    with refused("AWS.SimpleQueueService.BatchRequestTooLong", text):
        _send(queue, [first, {"Id": "2", "MessageBody": "a"}])
    assert queue.counts() == (0, 0, 0)
    halves = [{"Id": str(number), "MessageBody": "a" * (LIMIT // 2)} for number in range(2)]
    assert len(_send(queue, halves)["Successful"]) == 2
    assert len(_send(queue, [first])["Successful"]) == 1


def test_entries_that_fail_count_too(make: QueueMaker) -> None:
    queue = make(MaximumMessageSize="1024")
    entries = [{"Id": str(number), "MessageBody": "a" * 300_000} for number in range(4)]
    with refused("AWS.SimpleQueueService.BatchRequestTooLong"):
        _send(queue, [*entries, {"Id": "small"}])
    assert queue.counts() == (0, 0, 0)


def test_a_fifo_batch_is_sent_in_its_order(fifo: SqsQueue) -> None:
    answer = _send(
        fifo, [{"Id": str(number), "MessageBody": str(number), "MessageGroupId": "g"} for number in range(10)]
    )
    numbers = [int(entry["SequenceNumber"]) for entry in answer["Successful"]]
    assert [entry["Id"] for entry in answer["Successful"]] == [str(number) for number in range(10)]
    assert numbers == sorted(set(numbers))
    assert fifo.bodies() == [str(number) for number in range(10)]


def test_a_fifo_batch_needs_groups_and_deduplication_ids(make: QueueMaker) -> None:
    """Recorded from SQS: an entry without them refuses the whole batch."""
    fifo = make.fifo(ContentBasedDeduplication="false")
    good = {"Id": "1", "MessageGroupId": "g", "MessageDeduplicationId": "d"}
    with refused("InvalidParameterValue", "The request must contain the parameter MessageGroupId."):
        _send(fifo, [good, {"Id": "2", "MessageDeduplicationId": "e"}])
    text = (
        "The queue should either have ContentBasedDeduplication enabled or MessageDeduplicationId provided explicitly"
    )
    with refused("InvalidParameterValue", text):
        _send(fifo, [good, {"Id": "2", "MessageGroupId": "g"}])
    assert fifo.counts() == (0, 0, 0)


def test_deletes_fail_one_by_one(make: QueueMaker) -> None:
    for queue in (make(), make.fifo()):
        group = {"MessageGroupId": "g"} if queue.name.endswith(".fifo") else {}
        queue.send_all("1", "2", **group)
        first, second = queue.receive()
        answer = _delete(
            queue,
            [
                {"Id": "first", "ReceiptHandle": first["ReceiptHandle"]},
                {"Id": "garbage", "ReceiptHandle": "garbage"},
                {"Id": "again", "ReceiptHandle": first["ReceiptHandle"]},
                {"Id": "second", "ReceiptHandle": second["ReceiptHandle"]},
            ],
        )
        assert sorted(entry["Id"] for entry in answer["Successful"]) == ["again", "first", "second"]
        assert answer["Failed"] == [
            {
                "Id": "garbage",
                "SenderFault": True,
                "Code": "ReceiptHandleIsInvalid",
                "Message": 'The input receipt handle "garbage" is not a valid receipt handle.',
            }
        ]
        assert queue.counts() == (0, 0, 0)


def test_changes_of_visibility_fail_one_by_one(service: Any, queue: SqsQueue) -> None:
    queue.send_all("1", "2", "3", "4")
    one, two, three, four = queue.receive()
    queue.delete(four)
    answer = _change(
        queue,
        [
            {"Id": "zero", "ReceiptHandle": one["ReceiptHandle"], "VisibilityTimeout": 0},
            {"Id": "garbage", "ReceiptHandle": "garbage"},
            {"Id": "more", "ReceiptHandle": two["ReceiptHandle"], "VisibilityTimeout": 100},
            {"Id": "too-long", "ReceiptHandle": three["ReceiptHandle"], "VisibilityTimeout": 43_201},
            {"Id": "deleted", "ReceiptHandle": four["ReceiptHandle"], "VisibilityTimeout": 5},
        ],
    )
    assert sorted(entry["Id"] for entry in answer["Successful"]) == ["more", "zero"]
    assert {entry["Id"]: (entry["Code"], entry["SenderFault"]) for entry in answer["Failed"]} == {
        "garbage": ("ReceiptHandleIsInvalid", True),
        "too-long": ("InvalidParameterValue", True),
        "deleted": ("InvalidParameterValue", True),
    }
    assert queue.counts() == (1, 2, 0)
    service.advance(30)
    assert queue.counts() == (2, 1, 0)


def test_a_queue_of_several_physical_ones_takes_batches_too(make: QueueMaker) -> None:
    queue = make(RockdovePhysicalQueues="4")
    answer = _send(queue, [{"Id": str(number), "MessageBody": str(number)} for number in range(10)])
    assert [entry["Id"] for entry in answer["Successful"]] == [str(number) for number in range(10)]
    by_id = {entry["MessageId"]: entry["Id"] for entry in answer["Successful"]}
    messages = queue.receive()
    assert {by_id[message["MessageId"]] for message in messages} == {str(number) for number in range(10)}
    assert all(by_id[message["MessageId"]] == message["Body"] for message in messages)
    handles = [{"Id": str(at), "ReceiptHandle": one["ReceiptHandle"]} for at, one in enumerate(messages)]
    assert len(_change(queue, [{**one, "VisibilityTimeout": 77} for one in handles])["Successful"]) == 10
    assert len(_delete(queue, handles)["Successful"]) == 10
    assert queue.counts() == (0, 0, 0)
