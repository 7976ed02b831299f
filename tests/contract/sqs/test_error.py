"""Faults, in both protocols: class, code, header, status and form."""

from typing import Any
from xml.etree import ElementTree

import pytest

from tests.contract.sqs.conftest import NewName
from tests.support.raw import Reply, Web
from tests.support.service import RunningService

NAMESPACE = "{http://queue.amazonaws.com/doc/2012-11-05/}"


def _json_fault(reply: Reply, shape: str, code: str, status: int = 400) -> str:
    """Checks the form of a fault in AWS JSON; its text."""
    assert reply.status == status, reply
    assert reply.headers["content-type"] == "application/x-amz-json-1.0"
    assert reply.headers["x-amzn-query-error"] == f"{code};Sender"
    assert reply.headers["x-amzn-requestid"]
    assert reply.json["__type"].partition("#")[2] == shape
    text: str = reply.json.get("message", "")
    return text


def _query_fault(reply: Reply, code: str, status: int = 400) -> str:
    """Checks the form of a fault in AWS Query; its text."""
    assert reply.status == status, reply
    assert reply.headers["content-type"].startswith("text/xml")
    tree = ElementTree.fromstring(reply.body)
    assert tree.tag == f"{NAMESPACE}ErrorResponse"
    assert tree.findtext(f"{NAMESPACE}RequestId")
    error = tree.find(f"{NAMESPACE}Error")
    assert error is not None
    assert (error.findtext(f"{NAMESPACE}Type"), error.findtext(f"{NAMESPACE}Code")) == ("Sender", code)
    return error.findtext(f"{NAMESPACE}Message") or ""


LEGACY = "AWS.SimpleQueueService."
FAULTS: list[tuple[str, str, dict[str, Any], str, str, int]] = [
    # Case, operation, parameters (QueueUrl is added), class, code, status.
    ("no queue", "GetQueueUrl", {"QueueName": "never-made"}, "QueueDoesNotExist", f"{LEGACY}NonExistentQueue", 400),
    ("name", "CreateQueue", {"QueueName": "a b"}, "InvalidParameterValueException", "InvalidParameterValue", 400),
    (
        "attribute",
        "SetQueueAttributes",
        {"Attributes": {"Foo": "1"}},
        "InvalidAttributeName",
        "InvalidAttributeName",
        400,
    ),
    (
        "value",
        "SetQueueAttributes",
        {"Attributes": {"DelaySeconds": "-1"}},
        "InvalidAttributeValue",
        "InvalidAttributeValue",
        400,
    ),
    ("characters", "SendMessage", {"MessageBody": "\x01"}, "InvalidMessageContents", "InvalidMessageContents", 400),
    ("empty body", "SendMessage", {"MessageBody": ""}, "MissingRequiredParameterException", "MissingParameter", 400),
    ("no batch", "SendMessageBatch", {"Entries": []}, "EmptyBatchRequest", f"{LEGACY}EmptyBatchRequest", 400),
    (
        "many entries",
        "DeleteMessageBatch",
        {"Entries": [{"Id": str(number), "ReceiptHandle": "x"} for number in range(11)]},
        "TooManyEntriesInBatchRequest",
        f"{LEGACY}TooManyEntriesInBatchRequest",
        400,
    ),
    (
        "same ids",
        "DeleteMessageBatch",
        {"Entries": [{"Id": "1", "ReceiptHandle": "x"}] * 2},
        "BatchEntryIdsNotDistinct",
        f"{LEGACY}BatchEntryIdsNotDistinct",
        400,
    ),
    (
        "bad id",
        "DeleteMessageBatch",
        {"Entries": [{"Id": "a:b", "ReceiptHandle": "x"}]},
        "InvalidBatchEntryId",
        f"{LEGACY}InvalidBatchEntryId",
        400,
    ),
    (
        "too long",
        "SendMessageBatch",
        {"Entries": [{"Id": str(number), "MessageBody": "x" * 600_000} for number in range(2)]},
        "BatchRequestTooLong",
        f"{LEGACY}BatchRequestTooLong",
        400,
    ),
    ("handle", "DeleteMessage", {"ReceiptHandle": "x"}, "ReceiptHandleIsInvalid", "ReceiptHandleIsInvalid", 400),
    (
        "actions",
        "AddPermission",
        {"Label": "x", "AWSAccountIds": ["111111111111"], "Actions": ["SendMessage"] * 8},
        "OverLimit",
        "OverLimit",
        403,
    ),
    (
        "source",
        "ListMessageMoveTasks",
        {"SourceArn": "arn:aws:sqs:us-east-1:000000000000:never-made"},
        "ResourceNotFoundException",
        "ResourceNotFoundException",
        404,
    ),
]
every_fault = pytest.mark.parametrize(
    ("operation", "parameters", "shape", "code", "status"), [row[1:] for row in FAULTS], ids=[row[0] for row in FAULTS]
)


def _flat(parameters: dict[str, Any]) -> dict[str, str]:
    """The same as Query has it."""
    names = {"Actions": "ActionName", "AWSAccountIds": "AWSAccountId"}
    flat: dict[str, str] = {}
    for name, value in parameters.items():
        if isinstance(value, dict):
            for number, (key, text) in enumerate(value.items(), 1):
                flat |= {f"Attribute.{number}.Name": key, f"Attribute.{number}.Value": text}
        elif isinstance(value, list):
            for number, one in enumerate(value, 1):
                if isinstance(one, dict):
                    kind = "SendMessageBatchRequestEntry" if "MessageBody" in one else "DeleteMessageBatchRequestEntry"
                    flat |= {f"{kind}.{number}.{key}": text for key, text in one.items()}
                else:
                    flat[f"{names[name]}.{number}"] = one
        else:
            flat[name] = value
    return flat


@every_fault
def test_faults_in_json(
    web: Web, url: str, operation: str, parameters: dict[str, Any], shape: str, code: str, status: int
) -> None:
    _json_fault(web.call(operation, {"QueueUrl": url, **parameters}), shape, code, status)


@every_fault
def test_faults_in_query(
    web: Web, url: str, operation: str, parameters: dict[str, Any], shape: str, code: str, status: int
) -> None:
    _query_fault(web.post("/", Action=operation, **({"QueueUrl": url} | _flat(parameters))), code, status)


def test_faults_that_depend_on_the_past(service: RunningService, web: Web, url: str, new_name: NewName) -> None:
    """The ones that cannot be had by a single request."""
    name = url.rpartition("/")[2]
    reply = web.call("CreateQueue", {"QueueName": name, "Attributes": {"DelaySeconds": "7"}})
    _json_fault(reply, "QueueNameExists", "QueueAlreadyExists")
    other = {"QueueName": name, "Attribute.1.Name": "DelaySeconds", "Attribute.1.Value": "7"}
    reply = web.get("/", Action="CreateQueue", **other)
    _query_fault(reply, "QueueAlreadyExists")
    web.call("SendMessage", {"QueueUrl": url, "MessageBody": "x"})
    handle = web.call("ReceiveMessage", {"QueueUrl": url}).json["Messages"][0]["ReceiptHandle"]
    service.advance(31)
    lease = {"QueueUrl": url, "Consumer": "reader", "Shard": 0, "Sequence": 0}
    assert web.call("Rockdove.LeaseBatch", lease).status == 200
    change = {"QueueUrl": url, "ReceiptHandle": handle, "VisibilityTimeout": 5}
    _json_fault(web.call("ChangeMessageVisibility", change), "MessageNotInflight", f"{LEGACY}MessageNotInflight")
    assert web.call("PurgeQueue", {"QueueUrl": url}).status == 200
    reply = web.call("PurgeQueue", {"QueueUrl": url})
    _json_fault(reply, "PurgeQueueInProgress", f"{LEGACY}PurgeQueueInProgress", 403)
    _query_fault(web.get("/", Action="PurgeQueue", QueueUrl=url), f"{LEGACY}PurgeQueueInProgress", 403)
    assert web.call("DeleteQueue", {"QueueUrl": url}).status == 200
    reply = web.call("CreateQueue", {"QueueName": name})
    _json_fault(reply, "QueueDeletedRecently", f"{LEGACY}QueueDeletedRecently")
