"""What messages carry, between JMS programs, and between them and others."""

from tests.jms.conftest import NewQueue, Start

EMPTY = (0, 0, 0)
TEXT = "grüße, 🕊 <&>"
# Number.Boolean and the like are what the library makes of JMS's types.
PROPERTIES = {
    "string": "Zürich String",
    "boolean": "true Boolean",
    "byte": "-1 Byte",
    "short": "300 Short",
    "int": "70000 Integer",
    "long": "1099511627776 Long",
    "float": "0.5 Float",
    "double": "1.0E100 Double",
}


def test_texts_bytes_and_objects_go_there_and_back_with_their_properties(start: Start, new_queue: NewQueue) -> None:
    queue = new_queue()
    seen = start("round-trip", queue.name).report()
    assert seen["text"] == [TEXT]
    assert seen["bytes"] == ["0001feff0000002a"]
    # JMS's MapMessage is not in the library: a map goes as an object.
    assert seen["object"] == ["an object", "{list=[1, 2, 3], name=Zürich}"]
    assert {name: seen[name] for name in PROPERTIES} == {name: [value] * 4 for name, value in PROPERTIES.items()}
    assert seen["correlation"] == ["request 7"] * 4
    assert seen["redelivered"] == ["false"] * 4
    assert len(set(seen["sent"])) == 4
    assert seen["received"] == seen["sent"]
    assert queue.counts() == EMPTY


def test_a_text_of_jms_is_a_message_with_attributes_for_others(start: Start, new_queue: NewQueue) -> None:
    queue = new_queue()
    seen = start("send", queue.name).report()
    message = queue.receive_one(MessageAttributeNames=["All"])
    assert [message["MessageId"]] == seen["id"]
    assert message["Body"] == TEXT
    assert message["MessageAttributes"] == {
        "JMS_SQSMessageType": {"DataType": "String", "StringValue": "text"},
        "city": {"DataType": "String", "StringValue": "Zürich"},
        "number": {"DataType": "Number.int", "StringValue": "42"},
    }


def test_a_message_of_others_is_a_text_for_jms(start: Start, new_queue: NewQueue) -> None:
    queue = new_queue()
    attributes = {
        "city": {"DataType": "String", "StringValue": "Zürich"},
        "number": {"DataType": "Number", "StringValue": "42"},
        "exact": {"DataType": "Number.int", "StringValue": "42"},
    }
    sent = queue.send(TEXT, MessageAttributes=attributes)
    seen = start("receive", queue.name).report()
    assert seen["received"] == [f"ID:{sent['MessageId']}"]
    assert seen["text"] == [TEXT]
    assert (seen["city"], seen["number"], seen["exact"]) == (["Zürich String"], ["42 String"], ["42 Integer"])
    assert queue.counts() == EMPTY


def test_a_reply_goes_to_the_queue_that_the_request_names(start: Start, new_queue: NewQueue) -> None:
    queue = new_queue()
    queue.sqs.create_queue(QueueName=f"{queue.name}-replies")
    assert start("reply", queue.name).report() == {"sum": ["42"]}
    assert queue.counts() == EMPTY


def test_what_the_library_leaves_out(start: Start, new_queue: NewQueue) -> None:
    """As the how-to says."""
    seen = start("unsupported", new_queue().name).report()
    assert seen == {
        name: ["JMSException null"]
        for name in (
            "transactions",
            "map message",
            "stream message",
            "selector",
            "topic",
            "temporary queue",
            "browser",
        )
    }
