"""Message attributes and system attributes: names, types, values and their digests."""

from typing import Any

import pytest

from tests.support.digest import attributes_md5
from tests.support.refusal import refused
from tests.support.sqs_queue import SqsQueue

TRACE = "Root=1-5759e988-bd862e3fe1be46a994272793;Parent=53995c3f42cd8ad8;Sampled=1"


def _string(value: str, kind: str = "String") -> dict[str, str]:
    return {"DataType": kind, "StringValue": value}


EVERY_KIND: dict[str, dict[str, Any]] = {
    "text": _string("ä <&> 漢\t\r\n"),
    "number": _string("1614717034367", "Number"),
    "negative": _string("-12.5e-3", "Number"),
    "data": {"DataType": "Binary", "BinaryValue": bytes(range(256))},
    "labelled": _string("x", "String.my-label"),
    "whole.number": _string("1234567890123456789012", "Number.bigint"),
    "picture": {"DataType": "Binary.png", "BinaryValue": b"\x89PNG"},
    "under_score-and-hyphen": _string("y"),
    "CASE": _string("upper"),
    "case": _string("lower"),
}


def test_ten_of_every_kind_come_back_with_their_md5(queue: SqsQueue) -> None:
    assert len(EVERY_KIND) == 10
    sent = queue.send(MessageAttributes=EVERY_KIND)
    message = queue.receive_one(MessageAttributeNames=["All"])
    assert message["MessageAttributes"] == EVERY_KIND
    assert sent["MD5OfMessageAttributes"] == message["MD5OfMessageAttributes"] == attributes_md5(EVERY_KIND)


def test_the_digests_are_those_of_sqs(queue: SqsQueue) -> None:
    """Recorded from SQS, so that not both sides have the same wrong idea of it."""
    data = b"traceparent\x1e00-774062d6c37081a5a0b9b5b88e30627c-2d2482211f6489da-01"
    answer = queue.send(
        MessageAttributes={"attr1": {"DataType": "Binary", "BinaryValue": data}},
        MessageSystemAttributes={"AWSTraceHeader": _string(TRACE)},
    )
    assert answer["MD5OfMessageAttributes"] == "8cbe4db156db8a94db8b801b7addb984"
    assert answer["MD5OfMessageSystemAttributes"] == "5ae4d5d7636402d80f4eb6d213245a88"
    answer = queue.send(MessageAttributes={"Foo": _string("Bar")})
    assert answer["MD5OfMessageAttributes"] == "ae7155c6026991b6d54b11589678bf9c"
    assert "MD5OfMessageSystemAttributes" not in answer


def test_a_message_without_attributes_has_no_digest_of_them(queue: SqsQueue) -> None:
    answer = queue.send(MessageAttributes={})
    assert "MD5OfMessageAttributes" not in answer
    message = queue.receive_one(MessageAttributeNames=["All"])
    assert "MessageAttributes" not in message
    assert "MD5OfMessageAttributes" not in message


def test_attributes_stay_over_several_receives(queue: SqsQueue) -> None:
    queue.send(MessageAttributes={"a": _string("1")})
    for _ in range(3):
        message = queue.receive_one(MessageAttributeNames=["All"], VisibilityTimeout=0)
        assert message["MessageAttributes"] == {"a": _string("1")}


def test_there_are_at_most_ten(queue: SqsQueue) -> None:
    with refused("InvalidParameterValue", "Number of message attributes [11] exceeds the allowed maximum [10]."):
        queue.send(MessageAttributes={f"a{number}": _string("x") for number in range(11)})


@pytest.mark.parametrize("name", ["a", "Z" * 256, "a.b.c", "_", "-", "7", "awsome", "amazonas.x"])
def test_names_that_are_taken(queue: SqsQueue, name: str) -> None:
    attributes = {name: _string("x")}
    assert queue.send(MessageAttributes=attributes)["MD5OfMessageAttributes"] == attributes_md5(attributes)
    assert queue.receive_one(MessageAttributeNames=["All"])["MessageAttributes"] == attributes


@pytest.mark.parametrize(
    "name",
    [
        ".a",
        "a.",
        "a..b",
        ".",
        "L" * 257,
        "AWS.x",
        "aws.x",
        "aWs.x",
        "Amazon.x",
        "AMAZON.x",
        "a b",
        "a!",
        'a"',
        "§",
        "(",
    ],
)
def test_names_that_are_refused(queue: SqsQueue, name: str) -> None:
    with refused("InvalidParameterValue"):
        queue.send(MessageAttributes={name: _string("x")})
    assert queue.counts() == (0, 0, 0)


@pytest.mark.parametrize("kind", ["Invalid", "string", "Str", "Strings", ".String", f"Number.{'L' * 256}", "Number."])
def test_types_that_are_refused(queue: SqsQueue, kind: str) -> None:
    with refused("InvalidParameterValue"):
        queue.send(MessageAttributes={"name": _string("1", kind)})


def test_the_text_for_an_unknown_type(queue: SqsQueue) -> None:
    text = (
        "The type of message (user) attribute 'name' is invalid. "
        "You must use only the following supported type prefixes: Binary, Number, String."
    )
    with refused("InvalidParameterValue", text):
        queue.send(MessageAttributes={"name": _string("1", "Text")})


def test_a_type_may_have_256_characters(queue: SqsQueue) -> None:
    queue.send(MessageAttributes={"name": _string("1", f"String.{'L' * 249}")})
    assert queue.counts() == (1, 0, 0)


@pytest.mark.parametrize(
    ("attribute", "kind"),
    [
        (_string(""), "String"),
        (_string("", "Number"), "Number"),
        ({"DataType": "Binary", "BinaryValue": b""}, "Binary"),
        ({"DataType": "String"}, "String"),
        ({"DataType": "Binary"}, "Binary"),
    ],
)
def test_values_must_not_be_empty(queue: SqsQueue, attribute: dict[str, Any], kind: str) -> None:
    text = f"Message (user) attribute 'ErrorDetails' must contain a non-empty value of type '{kind}'."
    with refused("InvalidParameterValue", text):
        queue.send(MessageAttributes={"ErrorDetails": attribute})


@pytest.mark.parametrize(
    "attribute",
    [
        {"DataType": "Binary", "StringValue": "x"},
        {"DataType": "String", "BinaryValue": b"x"},
        {"DataType": "Number", "BinaryValue": b"1"},
        {"DataType": "", "StringValue": "x"},
        {"StringValue": "x"},
    ],
    ids=str,
)
def test_the_value_is_where_the_type_says(queue: SqsQueue, attribute: dict[str, Any]) -> None:
    with refused("InvalidParameterValue"):
        queue.send(MessageAttributes={"name": attribute})


@pytest.mark.parametrize(
    "value",
    [
        *("0", "-1", "+1.5", "1e10", "1E-5", ".5", "0" * 60, "3.", "0e999"),
        *("9" * 38, "-0.00" + "9" * 38, "1" + "0" * 50, "1e126", "-1E+126", "1e-128", "1000e123"),
    ],
)
def test_numbers_that_are_numbers(queue: SqsQueue, value: str) -> None:
    queue.send(MessageAttributes={"n": _string(value, "Number")})
    assert queue.receive_one(MessageAttributeNames=["n"])["MessageAttributes"]["n"]["StringValue"] == value


@pytest.mark.parametrize(
    "value",
    [
        *("x", "1x", "--1", "1,5", "1e", "0x10", "NaN", "Infinity", "٣", " 1", "1 ", "1\n"),
        *("9" * 39, "0." + "1" * 39, "1e127", "-1.1e126", "1e-129", "0.1e-128", "1e9999"),
    ],
)
def test_numbers_that_are_none(queue: SqsQueue, value: str) -> None:
    with refused("InvalidParameterValue", "Can't cast the value of message (user) attribute 'n' to a number."):
        queue.send(MessageAttributes={"n": _string(value, "Number")})


def test_strings_have_the_characters_of_bodies(queue: SqsQueue) -> None:
    for bad in ("\x00", "\x08\x0b", "\ufffe"):
        with refused("InvalidParameterValue"):
            queue.send(MessageAttributes={"name": _string(f"good{bad}")})


def test_lists_are_not_supported(queue: SqsQueue) -> None:
    """Documented: "Not implemented. Reserved for future use"."""
    for attribute in (
        {"DataType": "String", "StringListValues": ["x"]},
        {"DataType": "Binary", "BinaryListValues": [b"x"]},
    ):
        with refused("AWS.SimpleQueueService.UnsupportedOperation"):
            queue.send(MessageAttributes={"list": attribute})


def test_a_trace_header_goes_through(queue: SqsQueue) -> None:
    header = {"AWSTraceHeader": _string(TRACE)}
    answer = queue.send(MessageSystemAttributes=header, MessageAttributes={"a": _string("1")})
    assert answer["MD5OfMessageSystemAttributes"] == attributes_md5(header)
    assert answer["MD5OfMessageAttributes"] == attributes_md5({"a": _string("1")})
    message = queue.receive_one(MessageSystemAttributeNames=["AWSTraceHeader"])
    assert message["Attributes"] == {"AWSTraceHeader": TRACE}
    assert "MessageAttributes" not in message


def test_a_long_trace_header_is_refused(queue: SqsQueue) -> None:
    """It does not count as a part of the message, so nothing else would bound it."""
    queue.send(MessageSystemAttributes={"AWSTraceHeader": _string("x" * 512)})
    with refused("InvalidParameterValue"):
        queue.send(MessageSystemAttributes={"AWSTraceHeader": _string("x" * 513)})


@pytest.mark.parametrize(
    "attributes",
    [
        {"Other": _string("x")},
        {"AWSTraceHeader": _string(TRACE), "SenderId": _string("x")},
        {"AWSTraceHeader": _string("1", "Number")},
        {"AWSTraceHeader": {"DataType": "Binary", "BinaryValue": b"x"}},
        {"AWSTraceHeader": _string("")},
    ],
    ids=str,
)
def test_other_system_attributes_are_refused(queue: SqsQueue, attributes: dict[str, Any]) -> None:
    """Documented: only AWSTraceHeader, and "its type must be String"."""
    with refused("InvalidParameterValue"):
        queue.send(MessageSystemAttributes=attributes)
