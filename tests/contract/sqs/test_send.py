"""SendMessage: bodies, characters, sizes and what the answer holds."""

import re

import pytest

from tests.contract.sqs.conftest import QueueMaker
from tests.support.digest import md5
from tests.support.refusal import refused
from tests.support.sqs_queue import SqsQueue

LIMIT = 1_048_576
# Every edge of the set of characters that SQS documents.
ALLOWED = "\t\n\r \x7f\x80\ud7ff\ue000\ufffd\U00010000\U0010ffff"
ATTRIBUTE = {"k": {"DataType": "String", "StringValue": "x"}}
# A name, a type and a value.
ATTRIBUTE_BYTES = len("k" + "String" + "x")


def _too_long(limit: int) -> str:
    return f"One or more parameters are invalid. Reason: Message must be shorter than {limit} bytes."


def test_the_answer_has_an_id_and_the_md5_of_the_body(queue: SqsQueue) -> None:
    answer = queue.send("message")
    answer.pop("ResponseMetadata")
    assert re.fullmatch(r"[0-9a-f]{8}(-[0-9a-f]{4}){3}-[0-9a-f]{12}", answer.pop("MessageId"))
    assert answer == {"MD5OfMessageBody": "78e731027d8fd50ed642340b7c9a63b3"}


def test_a_message_comes_back_as_it_was_sent(queue: SqsQueue) -> None:
    sent = queue.send("a body")
    message = queue.receive_one()
    assert message.keys() == {"MessageId", "ReceiptHandle", "MD5OfBody", "Body"}
    assert (message["MessageId"], message["Body"]) == (sent["MessageId"], "a body")
    assert message["MD5OfBody"] == sent["MD5OfMessageBody"] == md5("a body")


def test_ids_are_unique(queue: SqsQueue) -> None:
    assert len({queue.send("same")["MessageId"] for _ in range(20)}) == 20


@pytest.mark.parametrize(
    "body",
    [
        ALLOWED,
        "{\r\n}",
        '"&quot;&quot;\r',
        "<a>&amp;</a>]]>",
        " leading and trailing ",
        "\n",
        "a+b c%20d&e=f",
        "ö漢😀",
        '{"json": "\\u0041 \\\\ \\n"}',
        "x",
    ],
    ids=range(10),
)
def test_text_is_not_changed_on_the_way(queue: SqsQueue, body: str) -> None:
    sent = queue.send(body)
    assert sent["MD5OfMessageBody"] == md5(body)
    assert queue.bodies() == [body]


@pytest.mark.parametrize("bad", ["\x00", "\x01", "\x08", "\x0b", "\x0c", "\x0e", "\x1f", "\ufffe", "\uffff"], ids=ascii)
def test_other_characters_are_refused(queue: SqsQueue, bad: str) -> None:
    with refused("InvalidMessageContents") as fault:
        queue.send(f"good{bad}good")
    assert fault["Message"].endswith("#xA | #xD | [#x20-#xD7FF] | [#xE000-#xFFFD] | [#x10000-#x10FFFF].")
    assert queue.counts() == (0, 0, 0)


def test_a_body_has_at_least_one_character(queue: SqsQueue) -> None:
    with refused("MissingParameter", "The request must contain the parameter MessageBody."):
        queue.send("")


def test_a_body_may_fill_the_limit_and_not_a_byte_more(queue: SqsQueue) -> None:
    body = "x" * LIMIT
    assert queue.send(body)["MD5OfMessageBody"] == md5(body)
    with refused("InvalidParameterValue", _too_long(LIMIT)):
        queue.send(f"{body}x")
    assert queue.bodies() == [body]


def test_bytes_count_not_characters(make: QueueMaker) -> None:
    queue, body = make(MaximumMessageSize="1024"), "ä" * 512
    queue.send(body)
    with refused("InvalidParameterValue", _too_long(1024)):
        queue.send(f"{body}x")
    assert queue.bodies() == [body]


def test_attributes_count_with_name_type_and_value(queue: SqsQueue) -> None:
    body = "x" * (LIMIT - ATTRIBUTE_BYTES)
    queue.send(body, MessageAttributes=ATTRIBUTE)
    with refused("InvalidParameterValue", _too_long(LIMIT)):
        queue.send(f"{body}x", MessageAttributes=ATTRIBUTE)


def test_binary_values_count_as_they_are_not_as_they_are_written(make: QueueMaker) -> None:
    queue = make(MaximumMessageSize="1024")
    for size, body in ((1024 - len("b" + "Binary") - 1, "x"), (900, "x" * (1024 - 900 - len("b" + "Binary")))):
        attributes = {"b": {"DataType": "Binary", "BinaryValue": bytes(size)}}
        queue.send(body, MessageAttributes=attributes)
        with refused("InvalidParameterValue", _too_long(1024)):
            queue.send(f"{body}x", MessageAttributes=attributes)


def test_a_trace_header_does_not_count(make: QueueMaker) -> None:
    queue = make(MaximumMessageSize="1024")
    header = {"AWSTraceHeader": {"DataType": "String", "StringValue": "Root=1-5759e988-bd862e3fe1be46a994272793"}}
    queue.send("x" * 1024, MessageSystemAttributes=header)
    assert queue.counts() == (1, 0, 0)


def test_a_queues_own_limit_holds(make: QueueMaker) -> None:
    queue = make(MaximumMessageSize="1024")
    queue.send("x" * 1024)
    with refused("InvalidParameterValue", _too_long(1024)):
        queue.send("x" * 1025)
    with refused("InvalidParameterValue", _too_long(1024)):
        queue.send("x" * (1024 - ATTRIBUTE_BYTES + 1), MessageAttributes=ATTRIBUTE)
    queue.send("x" * (1024 - ATTRIBUTE_BYTES), MessageAttributes=ATTRIBUTE)


def test_a_lowered_limit_holds_for_what_is_sent_afterwards(queue: SqsQueue) -> None:
    queue.send("x" * 2000)
    queue.set(MaximumMessageSize="1024")
    with refused("InvalidParameterValue", _too_long(1024)):
        queue.send("x" * 2000)
    assert len(queue.receive_one()["Body"]) == 2000


def test_queues_do_not_mix(make: QueueMaker) -> None:
    first, second = make(), make()
    first.send("for the first")
    assert second.receive() == []
    assert first.bodies() == ["for the first"]


def test_standard_queues_give_the_group_back(queue: SqsQueue) -> None:
    answer = queue.send("of a tenant", MessageGroupId="tenant-1")
    assert "SequenceNumber" not in answer
    message = queue.receive_one(MessageSystemAttributeNames=["All"])
    assert message["Attributes"]["MessageGroupId"] == "tenant-1"
    assert "SequenceNumber" not in message["Attributes"]


def test_standard_queues_know_no_deduplication(queue: SqsQueue) -> None:
    text = (
        "Value x for parameter MessageDeduplicationId is invalid. "
        "Reason: The request include parameter that is not valid for this queue type."
    )
    with refused("InvalidParameterValue", text):
        queue.send("a", MessageDeduplicationId="x")
