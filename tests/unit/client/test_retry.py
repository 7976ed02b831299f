"""When a request is repeated: only if doing it twice is doing it once."""

import random

import msgspec
import pytest

from rockdove.client.error import Lost, UnexpectedAnswer
from rockdove.client.retry import NEVER, Retry
from rockdove.core.errors import (
    Fault,
    InternalFailure,
    QueueDoesNotExist,
    RockdoveError,
    ServiceUnavailable,
    Throttling,
)
from rockdove.wire import shape
from rockdove.wire.operation import OPERATIONS
from rockdove.wire.shape import Request

NOT_SENT = Lost("refused", arrived=False)
UNCLEAR = Lost("cut", arrived=True)
# Whoever does these twice may do something twice.
ONCE = {
    "SendMessage",
    "SendMessageBatch",
    "PurgeQueue",
    "DeleteQueue",
    "AddPermission",
    "RemovePermission",
    "StartMessageMoveTask",
    "CancelMessageMoveTask",
    "Publish",
    "PublishToTopicBatch",
    "AddTopicPermission",
    "RemoveTopicPermission",
    "AddAccount",
    "AddAccountToken",
    "RemoveAccountToken",
    "RotateAccountKey",
    "FinishAccountRotation",
    "RemoveAccount",
}


def request_of(name: str) -> Request:
    """A request with something in every member that it must have."""
    values = {"string": "x", "array": [], "object": {}, "integer": 1, "number": 1.0, "boolean": True}
    schema = msgspec.json.schema(OPERATIONS[name].request)["$defs"][name]
    members = {key: values[schema["properties"][key]["type"]] for key in schema.get("required", ())}
    if name == "SendMessageBatch":
        members["Entries"] = [{"Id": "0", "MessageBody": "x"}]
    if name == "PublishToTopicBatch":
        members["PublishBatchRequestEntries"] = [{"Id": "0", "Message": "x"}]
    return msgspec.convert(members, OPERATIONS[name].request)


def repeats(request: Request, error: Lost | RockdoveError) -> bool:
    return Retry().pause_s(request, 1, error, random.Random(1)) is not None


@pytest.mark.parametrize("name", OPERATIONS)
def test_what_never_arrived_is_repeated(name: str) -> None:
    assert repeats(request_of(name), NOT_SENT)
    assert repeats(request_of(name), ServiceUnavailable())
    assert repeats(request_of(name), Throttling())


@pytest.mark.parametrize("name", OPERATIONS)
def test_what_may_have_arrived_is_repeated_if_that_does_no_harm(name: str) -> None:
    harmless = name not in ONCE
    assert repeats(request_of(name), UNCLEAR) is harmless
    assert repeats(request_of(name), InternalFailure()) is harmless
    assert repeats(request_of(name), UnexpectedAnswer("http://x", "oddly", 502)) is harmless


@pytest.mark.parametrize("error", [QueueDoesNotExist(), UnexpectedAnswer("http://x", "oddly", 404), Fault("?")])
def test_what_was_refused_is_not_repeated(error: RockdoveError) -> None:
    assert not repeats(request_of("ReceiveMessage"), error)


def test_a_send_with_a_deduplication_id_may_be_repeated() -> None:
    request = shape.SendMessage(queue_url="q", message_body="x", message_deduplication_id="1")
    assert repeats(request, UNCLEAR)
    marked = shape.SendMessageBatchRequestEntry(id="0", message_body="x", message_deduplication_id="1")
    unmarked = shape.SendMessageBatchRequestEntry(id="1", message_body="x")
    assert repeats(shape.SendMessageBatch(queue_url="q", entries=[marked]), UNCLEAR)
    assert not repeats(shape.SendMessageBatch(queue_url="q", entries=[marked, unmarked]), UNCLEAR)


def test_pauses_double_up_to_a_bound_and_end() -> None:
    retry = Retry(attempts=6, base_s=1.0, max_s=4.0)
    rng = random.Random(7)
    pauses = [retry.pause_s(request_of("ListQueues"), attempt, NOT_SENT, rng) for attempt in range(1, 7)]
    for pause, most in zip(pauses[:-1], [1, 2, 4, 4, 4], strict=True):
        assert pause is not None
        assert most / 2 <= pause <= most
    assert pauses[-1] is None


def test_never_is_never() -> None:
    assert NEVER.pause_s(request_of("ListQueues"), 1, NOT_SENT, random.Random()) is None
