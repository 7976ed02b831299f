"""The operations on topics against botocore's model of SNS, its serializer and its parser."""

from typing import Any

import msgspec
import pytest
from botocore.loaders import Loader
from botocore.model import OperationModel, ServiceModel
from botocore.parsers import create_parser
from botocore.serialize import create_serializer

from rockdove.core.errors import EmptyBatchRequest, Fault, InvalidParameterValue, MissingParameter, TopicNotFound
from rockdove.wire import query
from rockdove.wire.member import structure
from rockdove.wire.operation import ACTIONS, Operation

ID = "c6e5a3b1-0000-4000-8000-000000000000"
MODEL = ServiceModel(Loader().load_service_model("sns", "service-2"))
OPERATIONS = ACTIONS[query.TOPICS_VERSION]
# Those about devices, telephones and e-mail, and what a subscription to a queue does not need.
NOT_IMPLEMENTED = ("SMS", "PhoneNumber", "Platform", "Endpoint", "OriginationNumbers", "DataProtection", "Confirm")
ATTRIBUTES = {
    "text": {"DataType": "String", "StringValue": "a & b"},
    "bytes": {"DataType": "Binary", "BinaryValue": b"\0\xff"},
}
REQUESTS: dict[str, dict[str, Any]] = {
    "CreateTopic": {"Name": "n", "Attributes": {"DisplayName": "d", "Policy": ""}, "Tags": [{"Key": "k", "Value": ""}]},
    "Subscribe": {
        "TopicArn": "t",
        "Protocol": "sqs",
        "Endpoint": "q",
        "Attributes": {"FilterPolicy": '{"a": ["b.c"]}'},
        "ReturnSubscriptionArn": True,
    },
    "Publish": {"TopicArn": "t", "Message": "m", "Subject": "s", "MessageAttributes": ATTRIBUTES},
    "PublishBatch": {
        "TopicArn": "t",
        "PublishBatchRequestEntries": [
            {"Id": "a", "Message": "m", "MessageAttributes": ATTRIBUTES},
            {"Id": "b", "Message": "n", "MessageGroupId": "g", "MessageDeduplicationId": "d"},
        ],
    },
    "TagResource": {"ResourceArn": "t", "Tags": [{"Key": "a", "Value": "1"}, {"Key": "b", "Value": "2"}]},
    "UntagResource": {"ResourceArn": "t", "TagKeys": ["a", "b"]},
    "AddPermission": {"TopicArn": "t", "Label": "l", "AWSAccountId": ["1", "2"], "ActionName": ["Publish"]},
    "SetTopicAttributes": {"TopicArn": "t", "AttributeName": "DisplayName", "AttributeValue": ""},
}
RESULTS: dict[str, dict[str, Any]] = {
    "CreateTopic": {"TopicArn": "t"},
    "ListTopics": {"Topics": [{"TopicArn": "<a>"}, {"TopicArn": "b"}], "NextToken": "n"},
    "GetTopicAttributes": {"Attributes": {"a": "1", "b": "", "<c>": "&"}},
    "ListSubscriptions": {
        "Subscriptions": [{"SubscriptionArn": "s", "Owner": "o", "Protocol": "sqs", "Endpoint": "e", "TopicArn": "t"}]
    },
    "PublishBatch": {
        "Successful": [{"Id": "a", "MessageId": "m", "SequenceNumber": "1"}],
        "Failed": [{"Id": "b", "Code": "c", "Message": "why", "SenderFault": True}],
    },
    "ListTagsForResource": {"Tags": []},
    "TagResource": {},
}


def model(operation: Operation) -> OperationModel:
    return MODEL.operation_model(operation.action)


def decode(action: str, params: dict[str, Any]) -> Any:
    made = create_serializer("query", False).serialize_to_request(params, MODEL.operation_model(action))
    body = "&".join(f"{name}={_quoted(value)}" for name, value in made["body"].items())
    operation, parameters = query.operation("/", b"", body.encode())
    return operation, query.decode(operation, parameters)


def _quoted(value: object) -> str:
    return "".join(f"%{byte:02X}" for byte in str(value).encode())


def test_all_operations_on_topics_are_there() -> None:
    missing = set(MODEL.operation_names) - set(OPERATIONS)
    assert all(any(word in name for word in NOT_IMPLEMENTED) for name in missing)
    assert set(OPERATIONS) <= set(MODEL.operation_names)


@pytest.mark.parametrize("operation", OPERATIONS.values(), ids=lambda operation: operation.action)
def test_members_are_those_of_sns(operation: Operation) -> None:
    theirs = model(operation)
    assert {member.name for member in structure(operation.request).members} == set(theirs.input_shape.members)
    needed = {member.name for member in structure(operation.request).members if member.required}
    # A batch without entries has a fault of its own.
    assert needed | {"PublishBatchRequestEntries"} >= set(theirs.input_shape.required_members) >= needed
    assert (operation.result is None) == (theirs.output_shape is None)
    if operation.result is not None:
        assert {member.name for member in structure(operation.result).members} == set(theirs.output_shape.members)


@pytest.mark.parametrize("action", REQUESTS)
def test_requests_of_botocore(action: str) -> None:
    operation, request = decode(action, REQUESTS[action])
    assert operation is OPERATIONS[action]
    assert msgspec.to_builtins(request, builtin_types=(bytes,)) == REQUESTS[action]


def test_empty_lists_and_maps() -> None:
    _, request = decode("CreateTopic", {"Name": "n", "Attributes": {}, "Tags": []})
    assert not request.attributes
    assert not request.tags


@pytest.mark.parametrize("action", RESULTS)
def test_results_for_botocore(action: str) -> None:
    operation = OPERATIONS[action]
    assert operation.result is not None
    result = msgspec.convert(RESULTS[action], operation.result)
    body = query.encode(operation, result, ID)
    parsed = create_parser("query").parse(
        {"status_code": 200, "headers": {}, "body": body}, model(operation).output_shape
    )
    assert parsed.pop("ResponseMetadata")["RequestId"] == ID
    assert parsed == RESULTS[action]


@pytest.mark.parametrize(
    ("fault", "code"),
    [
        (TopicNotFound("x"), "NotFound"),
        (InvalidParameterValue("x"), "InvalidParameter"),
        (MissingParameter("x"), "InvalidParameter"),
        (EmptyBatchRequest(), "EmptyBatchRequest"),
    ],
)
def test_faults_have_the_codes_of_sns(fault: Fault, code: str) -> None:
    known = {
        shape.metadata.get("error", {}).get("code", name) for name, shape in ((s.name, s) for s in MODEL.error_shapes)
    }
    assert code in known
    status, body = query.fault(fault, ID, OPERATIONS["Publish"])
    parsed = create_parser("query").parse({"status_code": status, "headers": {}, "body": body}, None)
    assert parsed["Error"]["Code"] == code
