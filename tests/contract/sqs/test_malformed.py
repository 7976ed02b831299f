"""Requests that are wrong in every way there is: a fault that says so, and never a 500."""

import itertools
import json
from typing import Any

import pytest

from tests.support.raw import Web

OPERATIONS = {
    "AddPermission": ["QueueUrl", "Label", "AWSAccountIds", "Actions"],
    "CancelMessageMoveTask": ["TaskHandle"],
    "ChangeMessageVisibility": ["QueueUrl", "ReceiptHandle", "VisibilityTimeout"],
    "ChangeMessageVisibilityBatch": ["QueueUrl"],
    "CreateQueue": ["QueueName"],
    "DeleteMessage": ["QueueUrl", "ReceiptHandle"],
    "DeleteMessageBatch": ["QueueUrl"],
    "DeleteQueue": ["QueueUrl"],
    "GetQueueAttributes": ["QueueUrl"],
    "GetQueueUrl": ["QueueName"],
    "ListDeadLetterSourceQueues": ["QueueUrl"],
    "ListMessageMoveTasks": ["SourceArn"],
    "ListQueueTags": ["QueueUrl"],
    "PurgeQueue": ["QueueUrl"],
    "ReceiveMessage": ["QueueUrl"],
    "RemovePermission": ["QueueUrl", "Label"],
    "SendMessage": ["QueueUrl", "MessageBody"],
    "SendMessageBatch": ["QueueUrl"],
    "SetQueueAttributes": ["QueueUrl", "Attributes"],
    "StartMessageMoveTask": ["SourceArn"],
    "TagQueue": ["QueueUrl", "Tags"],
    "UntagQueue": ["QueueUrl", "TagKeys"],
}


@pytest.mark.parametrize(("operation", "required"), OPERATIONS.items())
def test_what_is_required_is_named(web: Web, url: str, operation: str, required: list[str]) -> None:
    for absent in ({}, {"QueueUrl": url, "Label": "x", "ReceiptHandle": "x"}):
        left = [name for name in required if name not in absent]
        if not left:
            continue
        reply = web.call(operation, absent)
        assert (reply.status, reply.headers["x-amzn-query-error"]) == (400, "MissingParameter;Sender")
        assert reply.json["message"] == f"The request must contain the parameter {left[0]}."
        assert web.post("/", Action=operation, **absent).status == 400


@pytest.mark.parametrize("null", [None, {}, []])
@pytest.mark.parametrize("operation", OPERATIONS)
def test_null_is_as_good_as_nothing(web: Web, operation: str, null: Any) -> None:
    reply = web.call(operation, dict.fromkeys(["QueueUrl", "QueueName", "SourceArn", "TaskHandle"], null))
    assert reply.status == 400


def test_an_operation_that_does_not_exist(web: Web) -> None:
    for target in ("AmazonSQS.Fly", "AmazonSQS.", "AmazonSQS", "Other.SendMessage", "amazonsqs.SendMessage", "x"):
        reply = web.call(target if "." in target else f".{target}", {})
        assert (reply.status, reply.json["__type"].partition("#")[2]) == (400, "UnknownOperationException")
    reply = web.get("/", Action="Fly", Version="2012-11-05")
    assert reply.status == 400
    assert "<Code>InvalidAction</Code><Message>The action Fly is not valid for this endpoint.</Message>" in reply.text


@pytest.mark.parametrize(
    "body",
    [
        b"{",
        b"nonsense",
        b'{"QueueUrl": }',
        b"\xff\xfe",
        b"[" * 100_000,
        b"{} {}",
        b"\x00",
        b"{'a': 1}",
    ],
    ids=range(8),
)
def test_json_that_is_none(web: Web, body: bytes) -> None:
    for operation in ("SendMessage", "CreateQueue", "SendMessageBatch", "ListQueues"):
        reply = web.call(operation, body)
        assert (reply.status, reply.json["__type"].partition("#")[2]) == (400, "SerializationException"), operation


@pytest.mark.parametrize("body", [b"[]", b'"text"', b"1", b"true"])
def test_json_that_is_no_object(web: Web, body: bytes) -> None:
    assert web.call("SendMessage", body).status == 400


def test_no_body_at_all_is_an_empty_object(web: Web) -> None:
    assert web.call("ListQueues", b"").status == 200
    assert web.call("SendMessage", b"").status == 400


WRONG: list[Any] = [
    1,
    1.5,
    True,
    "x",
    [],
    ["x"],
    {},
    {"a": "b"},
    [[]],
    [{"a": 1}],
    {"a": {}},
    {"a": []},
    2**31,
    -(2**63),
    1e400,
]


@pytest.mark.parametrize("wrong", WRONG, ids=str)
def test_values_of_a_wrong_type_are_never_a_500(web: Web, url: str, wrong: Any) -> None:
    """Every parameter of every operation; some of the values are right for some of them."""
    good: dict[str, Any] = {
        "QueueUrl": url,
        "MessageBody": "x",
        "ReceiptHandle": "x",
        "VisibilityTimeout": 1,
        "Entries": [{"Id": "1", "MessageBody": "x", "ReceiptHandle": "x", "VisibilityTimeout": 1}],
        "QueueName": "wrong-types",
        "Label": "x",
        "AWSAccountIds": ["111111111111"],
        "Actions": ["SendMessage"],
        "Attributes": {"DelaySeconds": "0"},
        "AttributeNames": ["All"],
        "MessageSystemAttributeNames": ["All"],
        "MessageAttributeNames": ["All"],
        "MessageAttributes": {"a": {"DataType": "String", "StringValue": "x"}},
        "MessageSystemAttributes": {},
        "MaxNumberOfMessages": 1,
        "WaitTimeSeconds": 0,
        "MessageGroupId": "g",
        "DelaySeconds": 0,
        "Tags": {"a": "b"},
        "tags": {"a": "b"},
        "TagKeys": ["a"],
        "SourceArn": "x",
        "TaskHandle": "x",
        "MaxResults": 1,
        "NextToken": "",
        "QueueNamePrefix": "wrong-types",
        "QueueOwnerAWSAccountId": "000000000000",
        "DestinationArn": "x",
        "MaxNumberOfMessagesPerSecond": 1,
        "ReceiveRequestAttemptId": None,
        "MessageDeduplicationId": None,
    }
    of = {
        "SendMessage": [
            "MessageBody",
            "MessageAttributes",
            "MessageSystemAttributes",
            "MessageGroupId",
            "DelaySeconds",
            "MessageDeduplicationId",
        ],
        "ReceiveMessage": [
            "AttributeNames",
            "MessageSystemAttributeNames",
            "MessageAttributeNames",
            "MaxNumberOfMessages",
            "VisibilityTimeout",
            "WaitTimeSeconds",
            "ReceiveRequestAttemptId",
        ],
        "SendMessageBatch": ["Entries"],
        "DeleteMessageBatch": ["Entries"],
        "ChangeMessageVisibilityBatch": ["Entries"],
        "CreateQueue": ["QueueName", "Attributes", "tags"],
        "SetQueueAttributes": ["Attributes"],
        "AddPermission": ["Label", "AWSAccountIds", "Actions"],
        "TagQueue": ["Tags"],
        "UntagQueue": ["TagKeys"],
        "ListQueues": ["MaxResults", "NextToken", "QueueNamePrefix"],
        "GetQueueAttributes": ["QueueUrl", "AttributeNames"],
        "GetQueueUrl": ["QueueName", "QueueOwnerAWSAccountId"],
        "StartMessageMoveTask": ["SourceArn", "DestinationArn", "MaxNumberOfMessagesPerSecond"],
        "ListMessageMoveTasks": ["SourceArn", "MaxResults"],
        "CancelMessageMoveTask": ["TaskHandle"],
        "ChangeMessageVisibility": ["ReceiptHandle", "VisibilityTimeout"],
    }
    text = json.dumps(wrong).replace("Infinity", "1e400")
    for operation, names in of.items():
        for name in names:
            content = {key: value for key, value in good.items() if key not in ("ReceiveRequestAttemptId",)}
            body = json.dumps(content | {name: "\x00"}).replace(json.dumps("\x00"), text)
            if name == "WaitTimeSeconds" and wrong == 1:
                continue
            reply = web.call(operation, body.encode())
            assert reply.status in (200, 400, 404), (operation, name, reply)


@pytest.mark.parametrize("member", ["Id", "MessageBody", "DelaySeconds", "MessageAttributes", "MessageGroupId"])
@pytest.mark.parametrize("wrong", WRONG[:9], ids=str)
def test_entries_with_values_of_a_wrong_type(web: Web, url: str, member: str, wrong: Any) -> None:
    entries = [{"Id": "1", "MessageBody": "x", member: wrong}]
    assert web.call("SendMessageBatch", {"QueueUrl": url, "Entries": entries}).status in (200, 400)


LONE = "\ud800"


def test_half_a_surrogate_is_no_character(web: Web, url: str) -> None:
    """JSON can write what UTF-8 cannot."""
    text = json.dumps(LONE)[1:-1].encode()
    where: dict[str, bytes] = {
        "SendMessage": b'{"QueueUrl": "%b", "MessageBody": "a%b"}',
        "CreateQueue": b'{"QueueName": "x%.0b%b"}',
        "TagQueue": b'{"QueueUrl": "%b", "Tags": {"a": "%b"}}',
        "GetQueueAttributes": b'{"QueueUrl": "%b", "AttributeNames": ["%b"]}',
        "ReceiveMessage": b'{"QueueUrl": "%b", "MessageAttributeNames": ["%b"]}',
        "DeleteMessage": b'{"QueueUrl": "%b", "ReceiptHandle": "%b"}',
        "GetQueueUrl": b'{"QueueName": "x%.0b%b"}',
        "SetQueueAttributes": b'{"QueueUrl": "%b", "Attributes": {"%b": "1"}}',
        "RemovePermission": b'{"QueueUrl": "%b", "Label": "%b"}',
        "SendMessageBatch": b'{"QueueUrl": "%b", "Entries": [{"Id": "1", "MessageBody": "%b"}]}',
        "ListQueues": b'{"QueueNamePrefix": "%.0b%b"}',
        "CancelMessageMoveTask": b'{"TaskHandle": "%.0b%b"}',
    }
    for operation, template in where.items():
        reply = web.call(operation, template % (url.encode(), text))
        assert reply.status in (200, 400), (operation, reply)
    for attribute in (
        b'{"a": {"DataType": "String", "StringValue": "%b"}}',
        b'{"%b": {"DataType": "String", "StringValue": "x"}}',
        b'{"a": {"DataType": "String.%b", "StringValue": "x"}}',
    ):
        body = b'{"QueueUrl": "%b", "MessageBody": "x", "MessageAttributes": %b}' % (url.encode(), attribute % text)
        assert web.call("SendMessage", body).status == 400
    counts = {"QueueUrl": url, "AttributeNames": ["ApproximateNumberOfMessages"]}
    assert web.call("GetQueueAttributes", counts).json["Attributes"]["ApproximateNumberOfMessages"] == "0"


def test_a_whole_surrogate_pair_is_one(web: Web, url: str) -> None:
    reply = web.call("SendMessage", b'{"QueueUrl": "%b", "MessageBody": "\\ud83d\\ude00"}' % url.encode())
    assert reply.status == 200
    assert web.call("ReceiveMessage", {"QueueUrl": url}).json["Messages"][0]["Body"] == "😀"


@pytest.mark.parametrize(
    "address",
    [
        "",
        "nowhere",
        "/",
        "//",
        "http://",
        "http://a",
        "http://a/",
        "http://a/b",
        "http://a/b/",
        "a/b/c/d/e",
        "ä",
        " ",
        "http://a/000000000000/",
        "\n",
    ],
)
def test_queue_urls_that_are_none(web: Web, address: str) -> None:
    for operation, parameters in itertools.product(
        ("ReceiveMessage", "GetQueueAttributes"), ({}, {"MessageBody": "x"})
    ):
        reply = web.call(operation, {"QueueUrl": address, **parameters})
        assert reply.status in (400, 404), reply
        assert web.post("/", Action=operation, QueueUrl=address).status in (400, 404)


def test_unknown_members_are_ignored(web: Web, url: str) -> None:
    assert web.call("SendMessage", {"QueueUrl": url, "MessageBody": "x", "Foo": {"bar": [1]}}).status == 200
    assert web.get("/", Action="ReceiveMessage", QueueUrl=url, Foo="bar").status == 200
