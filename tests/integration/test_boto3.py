"""boto3, client and resource, against a real server; botocore compares every MD5 itself.

Runs twice: with today's boto3, which speaks AWS JSON, and by `make test-query` with the last one that spoke AWS Query.
"""

import hashlib
import json
import os
import threading
import time
from collections.abc import Callable
from typing import Any

import pytest
from botocore.exceptions import ClientError

from tests.support.aws import sqs_resource
from tests.support.receiving import counts, receive_all
from tests.support.server import Server

NewName = Callable[..., str]


@pytest.fixture
def queue(sqs: Any, new_name: NewName) -> str:
    url: str = sqs.create_queue(QueueName=new_name())["QueueUrl"]
    return url


@pytest.fixture
def fifo(sqs: Any, new_name: NewName) -> str:
    url: str = sqs.create_queue(QueueName=new_name(".fifo"), Attributes={"FifoQueue": "true"})["QueueUrl"]
    return url


def arn(sqs: Any, url: str) -> str:
    answer: str = sqs.get_queue_attributes(QueueUrl=url, AttributeNames=["QueueArn"])["Attributes"]["QueueArn"]
    return answer


def bodies(messages: list[dict[str, Any]]) -> list[str]:
    return [message["Body"] for message in messages]


def finished_move(sqs: Any, source: str) -> dict[str, Any]:
    """The only task of a source, once it no longer runs: a message may arrive a moment before its task ends."""
    deadline = time.monotonic() + 10
    while True:
        task: dict[str, Any]
        [task] = sqs.list_message_move_tasks(SourceArn=source)["Results"]
        if task["Status"] != "RUNNING" or time.monotonic() > deadline:
            return task
        time.sleep(0.05)


def test_the_client_speaks_the_protocol_meant(sqs: Any) -> None:
    assert sqs.meta.service_model.metadata["protocol"] == os.environ.get("TEST_PROTOCOL", "json")


def test_the_queue_url_is_under_the_endpoint(service: Server, sqs: Any, new_name: NewName) -> None:
    name = new_name()
    url = sqs.create_queue(QueueName=name)["QueueUrl"]
    assert url == f"{service.endpoint}/000000000000/{name}"
    assert sqs.get_queue_url(QueueName=name)["QueueUrl"] == url


def test_creating_twice_gives_the_same_queue_unless_attributes_differ(sqs: Any, new_name: NewName) -> None:
    name = new_name()
    first = sqs.create_queue(QueueName=name, Attributes={"VisibilityTimeout": "40"})["QueueUrl"]
    assert sqs.create_queue(QueueName=name, Attributes={"VisibilityTimeout": "40"})["QueueUrl"] == first
    with pytest.raises(sqs.exceptions.QueueNameExists):
        sqs.create_queue(QueueName=name, Attributes={"VisibilityTimeout": "41"})


def test_a_deleted_queue_is_gone(sqs: Any, queue: str) -> None:
    sqs.delete_queue(QueueUrl=queue)
    with pytest.raises(sqs.exceptions.QueueDoesNotExist) as caught:
        sqs.send_message(QueueUrl=queue, MessageBody="too late")
    assert caught.value.response["Error"]["Code"] == "AWS.SimpleQueueService.NonExistentQueue"
    assert caught.value.response["ResponseMetadata"]["HTTPStatusCode"] == 400


def test_the_list_paginator_goes_through_all_queues_once(sqs: Any, new_name: NewName) -> None:
    prefix = new_name("-page")
    expected = [sqs.create_queue(QueueName=f"{prefix}-{number:02}")["QueueUrl"] for number in range(25)]
    pages = list(sqs.get_paginator("list_queues").paginate(QueueNamePrefix=prefix, PaginationConfig={"PageSize": 10}))
    assert [len(page["QueueUrls"]) for page in pages] == [10, 10, 5]
    assert sorted(url for page in pages for url in page["QueueUrls"]) == expected


def test_the_dead_letter_source_paginator(sqs: Any, queue: str, new_name: NewName) -> None:
    policy = json.dumps({"deadLetterTargetArn": arn(sqs, queue), "maxReceiveCount": 3})
    sources = [
        sqs.create_queue(QueueName=new_name(), Attributes={"RedrivePolicy": policy})["QueueUrl"] for _ in range(5)
    ]
    paginator = sqs.get_paginator("list_dead_letter_source_queues")
    pages = list(paginator.paginate(QueueUrl=queue, PaginationConfig={"PageSize": 2}))
    assert [len(page["queueUrls"]) for page in pages] == [2, 2, 1]
    assert sorted(url for page in pages for url in page["queueUrls"]) == sorted(sources)


@pytest.mark.parametrize(
    "body",
    [
        "x",
        "héllo wörld, 你好 🕊",
        '{"json": "with \\"quotes\\""}',
        "<xml>&amp;</xml>",
        "two\nlines\tand\r\n",
        "a" * 1_048_576,
    ],
    ids=["one", "unicode", "json", "xml", "whitespace", "largest"],
)
def test_a_body_comes_back_as_sent(sqs: Any, queue: str, body: str) -> None:
    sent = sqs.send_message(QueueUrl=queue, MessageBody=body)
    assert sent["MD5OfMessageBody"] == hashlib.md5(body.encode()).hexdigest()
    [message] = receive_all(sqs, queue, 1)
    assert message["Body"] == body
    assert message["MessageId"] == sent["MessageId"]
    sqs.delete_message(QueueUrl=queue, ReceiptHandle=message["ReceiptHandle"])
    assert counts(sqs, queue) == (0, 0, 0)


def test_message_attributes_of_every_type(sqs: Any, queue: str) -> None:
    attributes = {
        "text": {"DataType": "String", "StringValue": "grüße"},
        "number": {"DataType": "Number", "StringValue": "3.14"},
        "binary": {"DataType": "Binary", "BinaryValue": bytes(range(256))},
        "own.text": {"DataType": "String.json", "StringValue": "{}"},
        "own_number": {"DataType": "Number.int", "StringValue": "7"},
        "own-binary": {"DataType": "Binary.png", "BinaryValue": b"\x89PNG"},
    }
    trace = {"AWSTraceHeader": {"DataType": "String", "StringValue": "Root=1-5759e988-bd862e3fe1be46a994272793"}}
    sent = sqs.send_message(
        QueueUrl=queue, MessageBody="b", MessageAttributes=attributes, MessageSystemAttributes=trace
    )
    assert len(sent["MD5OfMessageAttributes"]) == 32
    assert len(sent["MD5OfMessageSystemAttributes"]) == 32
    [message] = receive_all(sqs, queue, 1, MessageAttributeNames=["All"], AttributeNames=["All"])
    assert message["MessageAttributes"] == attributes
    assert message["MD5OfMessageAttributes"] == sent["MD5OfMessageAttributes"]
    assert message["Attributes"]["AWSTraceHeader"] == trace["AWSTraceHeader"]["StringValue"]
    assert message["Attributes"]["ApproximateReceiveCount"] == "1"
    assert abs(int(message["Attributes"]["SentTimestamp"]) / 1000 - time.time()) < 60


def test_a_name_filter_gives_only_those_attributes(sqs: Any, queue: str) -> None:
    text = {"DataType": "String", "StringValue": "v"}
    sqs.send_message(QueueUrl=queue, MessageBody="b", MessageAttributes={"foo.a": text, "foo.b": text, "bar": text})
    [message] = receive_all(sqs, queue, 1, MessageAttributeNames=["foo.*"], AttributeNames=["SentTimestamp"])
    assert set(message["MessageAttributes"]) == {"foo.a", "foo.b"}
    assert set(message["Attributes"]) == {"SentTimestamp"}


def test_batches_and_their_partial_failure(sqs: Any, queue: str) -> None:
    entries: list[dict[str, Any]] = [
        {
            "Id": str(number),
            "MessageBody": f"body {number}",
            "MessageAttributes": {"n": {"DataType": "Number", "StringValue": str(number)}},
        }
        for number in range(10)
    ]
    entries[7]["DelaySeconds"] = 901
    sent = sqs.send_message_batch(QueueUrl=queue, Entries=entries)
    assert {entry["Id"] for entry in sent["Successful"]} == set("012345689")
    [failed] = sent["Failed"]
    assert (failed["Id"], failed["SenderFault"], failed["Code"]) == ("7", True, "InvalidParameterValue")

    messages = receive_all(sqs, queue, 9, MessageAttributeNames=["n"])
    assert sorted(bodies(messages)) == [f"body {number}" for number in range(10) if number != 7]
    hidden = sqs.change_message_visibility_batch(
        QueueUrl=queue,
        Entries=[
            {"Id": str(number), "ReceiptHandle": message["ReceiptHandle"], "VisibilityTimeout": 0}
            for number, message in enumerate(messages)
        ],
    )
    assert len(hidden["Successful"]) == 9
    assert counts(sqs, queue) == (9, 0, 0)
    gone = sqs.delete_message_batch(
        QueueUrl=queue,
        Entries=[
            {"Id": f"e{number}", "ReceiptHandle": message["ReceiptHandle"]} for number, message in enumerate(messages)
        ],
    )
    assert len(gone["Successful"]) == 9
    assert counts(sqs, queue) == (0, 0, 0)


def test_a_long_poll_is_answered_by_the_send(service: Server, sqs: Any, queue: str) -> None:
    sender = service.client()
    timer = threading.Timer(0.7, lambda: sender.send_message(QueueUrl=queue, MessageBody="wake up"))
    timer.start()
    began = time.monotonic()
    messages = sqs.receive_message(QueueUrl=queue, WaitTimeSeconds=20)["Messages"]
    waited_s = time.monotonic() - began
    timer.join()
    sender.close()
    assert bodies(messages) == ["wake up"]
    assert 0.6 < waited_s < 15


def test_a_long_poll_on_an_empty_queue_waits_its_time(sqs: Any, queue: str) -> None:
    began = time.monotonic()
    assert "Messages" not in sqs.receive_message(QueueUrl=queue, WaitTimeSeconds=2)
    assert time.monotonic() - began > 1.9


def test_a_long_poll_is_answered_when_a_delay_ends(sqs: Any, queue: str) -> None:
    sqs.send_message(QueueUrl=queue, MessageBody="later", DelaySeconds=2)
    assert counts(sqs, queue) == (0, 0, 1)
    began = time.monotonic()
    assert bodies(sqs.receive_message(QueueUrl=queue, WaitTimeSeconds=20)["Messages"]) == ["later"]
    assert time.monotonic() - began < 15


def test_an_unconfirmed_message_comes_again(sqs: Any, queue: str) -> None:
    sqs.send_message(QueueUrl=queue, MessageBody="again")
    [first] = receive_all(sqs, queue, 1, VisibilityTimeout=1)
    [second] = receive_all(sqs, queue, 1, AttributeNames=["ApproximateReceiveCount"])
    assert second["MessageId"] == first["MessageId"]
    assert second["Attributes"]["ApproximateReceiveCount"] == "2"


def test_fifo_keeps_order_and_holds_a_group_back(sqs: Any, fifo: str) -> None:
    sequence = [
        sqs.send_message(
            QueueUrl=fifo,
            MessageBody=f"{group}{number}",
            MessageGroupId=group,
            MessageDeduplicationId=f"{group}{number}",
        )["SequenceNumber"]
        for number in range(3)
        for group in "ab"
    ]
    assert sorted(sequence, key=int) == sequence
    first = sqs.receive_message(QueueUrl=fifo, MaxNumberOfMessages=1)["Messages"]
    assert bodies(first) == ["a0"]
    others = sqs.receive_message(QueueUrl=fifo, MaxNumberOfMessages=10)["Messages"]
    assert bodies(others) == ["b0", "b1", "b2"]
    sqs.delete_message(QueueUrl=fifo, ReceiptHandle=first[0]["ReceiptHandle"])
    rest = sqs.receive_message(QueueUrl=fifo, MaxNumberOfMessages=10, AttributeNames=["All"])["Messages"]
    assert bodies(rest) == ["a1", "a2"]
    assert rest[0]["Attributes"]["MessageGroupId"] == "a"
    assert rest[0]["Attributes"]["SequenceNumber"] == sequence[2]


def test_fifo_drops_duplicates(sqs: Any, fifo: str) -> None:
    first, second = (
        sqs.send_message(QueueUrl=fifo, MessageBody="once", MessageGroupId="g", MessageDeduplicationId="d")
        for _ in range(2)
    )
    assert first["MessageId"] == second["MessageId"]
    assert counts(sqs, fifo) == (1, 0, 0)


def test_a_message_received_too_often_goes_to_the_dead_letter_queue_and_back(
    sqs: Any, queue: str, new_name: NewName
) -> None:
    policy = json.dumps({"deadLetterTargetArn": arn(sqs, queue), "maxReceiveCount": 2})
    source = sqs.create_queue(QueueName=new_name(), Attributes={"RedrivePolicy": policy})["QueueUrl"]
    sent = sqs.send_message(QueueUrl=source, MessageBody="poison")
    for _ in range(2):
        [message] = receive_all(sqs, source, 1, VisibilityTimeout=0)
    assert "Messages" not in sqs.receive_message(QueueUrl=source)
    [dead] = receive_all(sqs, queue, 1, VisibilityTimeout=0, AttributeNames=["All"])
    assert dead["MessageId"] == sent["MessageId"]
    assert dead["Attributes"]["DeadLetterQueueSourceArn"] == arn(sqs, source)

    sqs.start_message_move_task(SourceArn=arn(sqs, queue))
    [message] = receive_all(sqs, source, 1)
    assert message["Body"] == "poison"
    task = finished_move(sqs, arn(sqs, queue))
    assert (task["Status"], task["ApproximateNumberOfMessagesMoved"]) == ("COMPLETED", 1)
    assert counts(sqs, queue) == (0, 0, 0)


def test_attributes_are_set_and_read(sqs: Any, queue: str) -> None:
    sqs.set_queue_attributes(QueueUrl=queue, Attributes={"VisibilityTimeout": "77", "DelaySeconds": "3"})
    attributes = sqs.get_queue_attributes(QueueUrl=queue, AttributeNames=["All"])["Attributes"]
    assert (attributes["VisibilityTimeout"], attributes["DelaySeconds"]) == ("77", "3")
    assert attributes["QueueArn"] == f"arn:aws:sqs:us-east-1:000000000000:{queue.rsplit('/', 1)[1]}"
    with pytest.raises(sqs.exceptions.InvalidAttributeName):
        sqs.set_queue_attributes(QueueUrl=queue, Attributes={"Colour": "blue"})


def test_tags(sqs: Any, new_name: NewName) -> None:
    url = sqs.create_queue(QueueName=new_name(), tags={"team": "birds"})["QueueUrl"]
    sqs.tag_queue(QueueUrl=url, Tags={"stage": "test", "team": "doves"})
    assert sqs.list_queue_tags(QueueUrl=url)["Tags"] == {"team": "doves", "stage": "test"}
    sqs.untag_queue(QueueUrl=url, TagKeys=["stage"])
    assert sqs.list_queue_tags(QueueUrl=url)["Tags"] == {"team": "doves"}


def test_permissions(sqs: Any, queue: str) -> None:
    sqs.add_permission(QueueUrl=queue, Label="friends", AWSAccountIds=["111111111111"], Actions=["SendMessage"])
    policy = json.loads(sqs.get_queue_attributes(QueueUrl=queue, AttributeNames=["Policy"])["Attributes"]["Policy"])
    assert [statement["Sid"] for statement in policy["Statement"]] == ["friends"]
    sqs.remove_permission(QueueUrl=queue, Label="friends")
    assert "Attributes" not in sqs.get_queue_attributes(QueueUrl=queue, AttributeNames=["Policy"])


def test_purge_empties_the_queue_and_not_twice_in_a_minute(sqs: Any, queue: str) -> None:
    sqs.send_message_batch(QueueUrl=queue, Entries=[{"Id": str(number), "MessageBody": "x"} for number in range(10)])
    sqs.purge_queue(QueueUrl=queue)
    assert counts(sqs, queue) == (0, 0, 0)
    with pytest.raises(sqs.exceptions.PurgeQueueInProgress):
        sqs.purge_queue(QueueUrl=queue)


@pytest.mark.parametrize(
    ("operation", "arguments", "code"),
    [
        ("receive_message", {"MaxNumberOfMessages": 11}, "InvalidParameterValue"),
        ("send_message", {"MessageBody": "x", "DelaySeconds": -1}, "InvalidParameterValue"),
        ("send_message_batch", {"Entries": []}, "AWS.SimpleQueueService.EmptyBatchRequest"),
        ("delete_message", {"ReceiptHandle": "nonsense"}, "ReceiptHandleIsInvalid"),
        ("send_message", {"MessageBody": "a" * 1_048_577}, "InvalidParameterValue"),
    ],
)
def test_errors_carry_their_codes(sqs: Any, queue: str, operation: str, arguments: dict[str, Any], code: str) -> None:
    with pytest.raises(ClientError) as caught:
        getattr(sqs, operation)(QueueUrl=queue, **arguments)
    assert caught.value.response["Error"]["Code"] == code


def test_the_resource_interface(service: Server, new_name: NewName) -> None:
    resource = sqs_resource(service.endpoint)
    name = new_name()
    queue = resource.create_queue(QueueName=name, Attributes={"VisibilityTimeout": "20"})
    queue.send_message(MessageBody="one", MessageAttributes={"k": {"DataType": "String", "StringValue": "v"}})
    queue.send_messages(Entries=[{"Id": "a", "MessageBody": "two"}])
    same = resource.get_queue_by_name(QueueName=name)
    assert same.attributes["ApproximateNumberOfMessages"] == "2"
    assert [found.url for found in resource.queues.filter(QueueNamePrefix=name)] == [queue.url]

    messages = same.receive_messages(MaxNumberOfMessages=10, MessageAttributeNames=["All"], WaitTimeSeconds=1)
    assert sorted(message.body for message in messages) == ["one", "two"]
    messages[0].change_visibility(VisibilityTimeout=60)
    for message in messages:
        message.delete()
    queue.load()
    assert queue.attributes["ApproximateNumberOfMessagesNotVisible"] == "0"
    resource.meta.client.close()
