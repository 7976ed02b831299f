"""AWS JSON against botocore's serializer and parser, and against whatever a client may send."""

import json
from contextlib import suppress
from typing import Any

import msgspec
import pytest
from hypothesis import given
from hypothesis import strategies as st

from rockdove.core.errors import Fault, MalformedInput, MissingParameter, UnknownOperation, UnsupportedOperation
from rockdove.core.message import Attribute
from rockdove.wire import awsjson, extension, shape
from rockdove.wire.operation import OPERATIONS
from tests.unit.wire import oracle

SEND = OPERATIONS["SendMessage"]
BATCH = OPERATIONS["SendMessageBatch"]
RECEIVE = OPERATIONS["ReceiveMessage"]

any_operation = st.sampled_from(sorted(OPERATIONS.values(), key=lambda operation: operation.name))
any_json = st.recursive(
    st.none() | st.booleans() | st.integers() | st.floats() | st.text(max_size=9) | st.sampled_from(["AAA=", "", "1"]),
    lambda inner: (
        st.lists(inner, max_size=3)
        | st.dictionaries(st.sampled_from(["DataType", "StringValue", "BinaryValue", "Id", "MessageBody"]), inner)
    ),
    max_leaves=9,
)


def plain(request: Any) -> Any:
    return msgspec.to_builtins(request, builtin_types=(bytes,))


def refusal(operation: str, body: Any) -> str:
    with pytest.raises(Fault) as caught:
        awsjson.decode(OPERATIONS[operation], json.dumps(body).encode())
    return f"{caught.value.code}: {caught.value.message}"


@pytest.mark.parametrize("name", oracle.operation_names())
@oracle.brief
@given(data=st.data())
def test_requests_of_botocore(name: str, data: st.DataObject) -> None:
    params = data.draw(oracle.requests(name))
    operation = awsjson.operation(f"AmazonSQS.{name}".encode())
    request = awsjson.decode(operation, oracle.serialize("json", name, params))
    assert type(request) is operation.request
    assert plain(request) == params


@pytest.mark.parametrize("name", [name for name in oracle.operation_names() if OPERATIONS[name].result])
@oracle.brief
@given(data=st.data())
def test_results_for_botocore(name: str, data: st.DataObject) -> None:
    params = data.draw(oracle.results(name))
    result = msgspec.convert(params, OPERATIONS[name].result)
    parsed = oracle.parse("json", name, awsjson.encode(result))
    del parsed["ResponseMetadata"]
    assert parsed == params


@pytest.mark.parametrize("name", [name for name in oracle.operation_names() if not OPERATIONS[name].result])
def test_no_result(name: str) -> None:
    assert awsjson.encode(None) == b""
    assert oracle.parse("json", name, awsjson.encode(None)) == {
        "ResponseMetadata": {"HTTPHeaders": {}, "HTTPStatusCode": 200}
    }


def test_extensions() -> None:
    body = (
        b'{"QueueUrl":"u","MaxNumberOfMessages":100,'
        b'"MessageAttributeNames":["All"],"MessageSystemAttributeNames":["x"]}'
    )
    peek = awsjson.decode(awsjson.operation(b"Rockdove.Peek"), body)
    assert peek == extension.Peek(
        queue_url="u",
        max_number_of_messages=100,
        message_attribute_names=["All"],
        message_system_attribute_names=["x"],
    )
    assert isinstance(awsjson.decode(awsjson.operation(b"Rockdove.Receive"), body), extension.Receive)
    message = extension.PeekedMessage(
        message_id="m", md5_of_body="d", body="b", state="in-flight", visible_from=1.5, physical_queue=3
    )
    assert json.loads(awsjson.encode(extension.PeekResult(messages=[message]))) == {
        "Messages": [
            {
                "MessageId": "m",
                "MD5OfBody": "d",
                "Body": "b",
                "State": "in-flight",
                "VisibleFrom": 1.5,
                "PhysicalQueue": 3,
            }
        ]
    }


@pytest.mark.parametrize(
    "target",
    [b"", b"AmazonSQS", b"AmazonSQS.", b"AmazonSQS.Peek", b"Rockdove.SendMessage", b"amazonsqs.SendMessage", b"\xff"],
)
def test_unknown_targets(target: bytes) -> None:
    with pytest.raises(UnknownOperation):
        awsjson.operation(target)


def test_what_is_empty_is_not_sent() -> None:
    assert awsjson.encode(shape.ReceiveMessageResult()) == b"{}"
    assert awsjson.encode(shape.ListQueuesResult()) == b"{}"
    assert awsjson.encode(shape.GetQueueAttributesResult()) == b"{}"
    assert awsjson.encode(shape.ListQueueTagsResult()) == b"{}"
    assert awsjson.encode(shape.ListMessageMoveTasksResult()) == b"{}"
    assert awsjson.encode(shape.SendMessageBatchResult()) == b"{}"
    assert awsjson.encode(shape.ListDeadLetterSourceQueuesResult(queue_urls=[])) == b'{"queueUrls":[]}'
    assert awsjson.encode(shape.CancelMessageMoveTaskResult(approximate_number_of_messages_moved=0)) == (
        b'{"ApproximateNumberOfMessagesMoved":0}'
    )


def test_an_empty_body_is_an_empty_request() -> None:
    assert awsjson.decode(OPERATIONS["ListQueues"], b"") == shape.ListQueues()
    with pytest.raises(MissingParameter, match=r"^The request must contain the parameter QueueUrl\.$"):
        awsjson.decode(SEND, b"")


@pytest.mark.parametrize("operation", OPERATIONS.values(), ids=OPERATIONS)
def test_the_first_missing_parameter_is_named(operation: Any) -> None:
    if operation.required:
        with pytest.raises(MissingParameter, match=f"the parameter {operation.required[0]}\\.$"):
            awsjson.decode(operation, b"{}")
    else:
        awsjson.decode(operation, b"{}")


def test_null_is_absence() -> None:
    request = awsjson.decode(
        BATCH, b'{"QueueUrl":"u","Entries":[{"Id":"1","MessageBody":"b","DelaySeconds":null},null]}'
    )
    assert request == shape.SendMessageBatch(
        queue_url="u", entries=[shape.SendMessageBatchRequestEntry(id="1", message_body="b")]
    )
    assert awsjson.decode(BATCH, b'{"QueueUrl":"u","Entries":null}') == shape.SendMessageBatch(queue_url="u")
    assert refusal("SendMessage", {"QueueUrl": "u", "MessageBody": None}).endswith("the parameter MessageBody.")


def test_missing_parameters_of_entries() -> None:
    body = {"QueueUrl": "u", "Entries": [{"Id": "1", "MessageBody": "b"}, {"MessageBody": "b"}]}
    text = "MissingParameter: The request must contain the parameter SendMessageBatchRequestEntry.2.Id."
    assert refusal("SendMessageBatch", body) == text


def test_unknown_members_are_ignored() -> None:
    attributes = b'{"a":{"DataType":"String","X":1}}'
    body = b'{"QueueUrl":"u","Nonsense":{"a":[1,{}]},"MessageBody":"b","MessageAttributes":' + attributes + b"}"
    request = awsjson.decode(SEND, body)
    assert request == shape.SendMessage(
        queue_url="u", message_body="b", message_attributes={"a": Attribute(data_type="String")}
    )


@pytest.mark.parametrize(
    ("operation", "body", "message"),
    [
        ("SendMessage", {"QueueUrl": 1, "MessageBody": "b"}, "NUMBER_VALUE can not be converted to a String"),
        ("SendMessage", {"QueueUrl": "u", "MessageBody": True}, "TRUE_VALUE can not be converted to a String"),
        ("SendMessage", {"QueueUrl": "u", "MessageBody": ["b"]}, "Start of list found where not expected"),
        (
            "SendMessage",
            {"QueueUrl": "u", "MessageBody": {}},
            "Start of structure or map found where not expected.",
        ),
        (
            "ReceiveMessage",
            {"QueueUrl": "u", "WaitTimeSeconds": "5"},
            "STRING_VALUE can not be converted to an Integer",
        ),
        (
            "ReceiveMessage",
            {"QueueUrl": "u", "WaitTimeSeconds": False},
            "FALSE_VALUE can not be converted to an Integer",
        ),
        (
            "ReceiveMessage",
            {"QueueUrl": "u", "WaitTimeSeconds": 0.5},
            "NUMBER_VALUE can not be converted to an Integer",
        ),
        (
            "ReceiveMessage",
            {"QueueUrl": "u", "WaitTimeSeconds": 2**31},
            "NUMBER_VALUE can not be converted to an Integer",
        ),
        ("ReceiveMessage", {"QueueUrl": "u", "MessageAttributeNames": "All"}, "Unexpected field type"),
        ("CreateQueue", {"QueueName": "q", "Attributes": ["a"]}, "Start of list found where not expected"),
        ("CreateQueue", {"QueueName": "q", "Attributes": {"a": 1}}, "NUMBER_VALUE can not be converted to a String"),
        ("ListQueues", [], "Start of list found where not expected"),
        ("ListQueues", "x", "Unexpected field type"),
        (
            "SendMessage",
            {
                "QueueUrl": "u",
                "MessageBody": "b",
                "MessageAttributes": {"a": {"DataType": "Binary", "BinaryValue": "a"}},
            },
            "Invalid base64 encoded string",
        ),
    ],
)
def test_wrong_types(operation: str, body: Any, message: str) -> None:
    assert refusal(operation, body) == f"MalformedInput: {message}"


def test_whole_numbers_may_have_a_point() -> None:
    request = awsjson.decode(RECEIVE, b'{"QueueUrl":"u","WaitTimeSeconds":5.0}')
    assert request == shape.ReceiveMessage(queue_url="u", wait_time_seconds=5)
    assert isinstance(request, shape.ReceiveMessage)
    assert type(request.wait_time_seconds) is int


@pytest.mark.parametrize(
    "body",
    [
        b"{",
        b"\xef\xbb\xbf{}",
        b'{"QueueUrl":"u"} {}',
        b'{"QueueUrl":"\xff"}',
        b'{"QueueUrl":"\\ud800"}',
        b'{"QueueUrl":"u","WaitTimeSeconds":NaN}',
        b'{"QueueUrl":"u","WaitTimeSeconds":1e999}',
        b'{"QueueUrl":"u","WaitTimeSeconds":1' + b"0" * 5_000 + b"}",
        b'{"QueueUrl":"u","X":' + b"[" * 100_000,
        b'{"X":' * 50_000,
        b"[" * 100_000 + b"]" * 100_000,
    ],
    ids=lambda body: repr(body[:40]),
)
def test_what_is_no_json(body: bytes) -> None:
    with pytest.raises(MalformedInput):
        awsjson.decode(RECEIVE, body)


def test_attributes_must_have_a_type() -> None:
    body = {"QueueUrl": "u", "MessageBody": "b", "MessageAttributes": {"colour": {"StringValue": "red"}}}
    text = "InvalidParameterValue: Message (user) attribute 'colour' must contain a non-empty attribute type."
    assert refusal("SendMessage", body) == text


@pytest.mark.parametrize("member", ["StringListValues", "BinaryListValues"])
def test_list_values_are_not_implemented(member: str) -> None:
    message: dict[str, Any] = {
        "MessageBody": "b",
        "MessageAttributes": {"a": {"DataType": "String", "StringValue": "v", member: ["YQ=="]}},
    }
    with pytest.raises(UnsupportedOperation, match=r"^Message attribute list values in SendMessage operation are"):
        awsjson.decode(SEND, json.dumps({"QueueUrl": "u", **message}).encode())
    with pytest.raises(UnsupportedOperation):
        awsjson.decode(BATCH, json.dumps({"QueueUrl": "u", "Entries": [{"Id": "1", **message}]}).encode())
    # Some SDKs send them empty.
    message["MessageAttributes"]["a"][member] = []
    assert awsjson.decode(SEND, json.dumps({"QueueUrl": "u", **message}).encode()) == shape.SendMessage(
        queue_url="u", message_body="b", message_attributes={"a": Attribute(data_type="String", string_value="v")}
    )


def test_a_body_that_speaks_of_list_values_is_only_text() -> None:
    body = '{"StringListValues": [1]}'
    attributes = {"a": {"DataType": "String", "StringValue": "StringListValues"}}
    params = {"QueueUrl": "u", "MessageBody": body, "MessageAttributes": attributes}
    assert plain(awsjson.decode(SEND, json.dumps(params).encode())) == params


@oracle.patient
@given(any_operation, st.binary())
def test_any_bytes_are_a_request_or_a_fault(operation: Any, body: bytes) -> None:
    with suppress(Fault):
        assert type(awsjson.decode(operation, body)) is operation.request


@oracle.patient
@given(st.data())
def test_any_json_is_a_request_or_a_fault(data: st.DataObject) -> None:
    operation = data.draw(any_operation)
    names = [field.encode_name for field in msgspec.structs.fields(operation.request)]
    body = data.draw(st.fixed_dictionaries({}, optional=dict.fromkeys(names, any_json)))
    with suppress(Fault):
        assert type(awsjson.decode(operation, json.dumps(body).encode())) is operation.request


@oracle.patient
@given(st.binary())
def test_any_target_is_an_operation_or_a_fault(target: bytes) -> None:
    with pytest.raises(UnknownOperation):
        awsjson.operation(target)


@pytest.mark.parametrize("entry", [b"{}", b"[]", b'{"Id": 1}'], ids=repr)
def test_what_is_large_and_wrong_is_refused_at_once(entry: bytes) -> None:
    """To look what is wrong in millions of entries would keep others waiting."""
    body = b'{"QueueUrl": "q", "Entries": [' + b", ".join([entry] * 1_000_000) + b"]}"
    with pytest.raises(MalformedInput, match="cannot be read"):
        awsjson.decode(OPERATIONS["SendMessageBatch"], body)
