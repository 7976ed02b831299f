"""AWS Query against botocore's serializer and parser, and against whatever a client may send."""

from contextlib import suppress
from typing import Any
from urllib.parse import urlencode

import msgspec
import pytest
from hypothesis import given
from hypothesis import strategies as st

from rockdove.core.errors import (
    Fault,
    InvalidAction,
    MalformedInput,
    MalformedQueryString,
    MissingAction,
    MissingParameter,
    NoSuchVersion,
    UnknownOperation,
    UnsupportedOperation,
)
from rockdove.core.message import Attribute
from rockdove.wire import query, shape
from rockdove.wire.form import MAX_PARAMETERS
from rockdove.wire.operation import OPERATIONS, Operation
from tests.unit.wire import oracle

ID = "c6e5a3b1-0000-4000-8000-000000000000"
QUEUE = "/000000000000/orders"


def decoded(path: str, query_string: bytes, body: bytes) -> tuple[Operation, Any]:
    operation, parameters = query.operation(path, query_string, body)
    return operation, query.decode(operation, parameters)


def decode(body: str, path: str = "/") -> Any:
    return decoded(path, b"", body.encode())[1]


def plain(request: Any) -> Any:
    return msgspec.to_builtins(request, builtin_types=(bytes,))


@pytest.mark.parametrize("name", oracle.operation_names())
@oracle.brief
@given(data=st.data())
def test_requests_of_botocore(name: str, data: st.DataObject) -> None:
    params = data.draw(oracle.requests(name))
    body = oracle.serialize("query", name, params)
    for arguments in ((b"", body), (body, b"")):
        operation, request = decoded("/", *arguments)
        assert operation is OPERATIONS[name]
        assert type(request) is operation.request
        assert plain(request) == params


@pytest.mark.parametrize("name", [name for name in oracle.operation_names() if OPERATIONS[name].result])
@oracle.brief
@given(data=st.data())
def test_results_for_botocore(name: str, data: st.DataObject) -> None:
    params = data.draw(oracle.results(name))
    result = msgspec.convert(params, OPERATIONS[name].result)
    parsed = oracle.parse("query", name, query.encode(OPERATIONS[name], result, ID))
    assert parsed.pop("ResponseMetadata")["RequestId"] == ID
    assert parsed == params


@pytest.mark.parametrize("name", [name for name in oracle.operation_names() if not OPERATIONS[name].result])
def test_no_result(name: str) -> None:
    body = query.encode(OPERATIONS[name], None, ID)
    assert body.decode() == (
        f'<?xml version="1.0"?><{name}Response xmlns="http://queue.amazonaws.com/doc/2012-11-05/">'
        f"<ResponseMetadata><RequestId>{ID}</RequestId></ResponseMetadata></{name}Response>"
    )
    assert oracle.parse("query", name, body)["ResponseMetadata"]["RequestId"] == ID


def test_the_reply_to_a_send() -> None:
    result = shape.SendMessageResult(md5_of_message_body="d", message_id="m", sequence_number="7")
    assert query.encode(OPERATIONS["SendMessage"], result, ID).decode() == (
        '<?xml version="1.0"?><SendMessageResponse xmlns="http://queue.amazonaws.com/doc/2012-11-05/">'
        "<SendMessageResult><MD5OfMessageBody>d</MD5OfMessageBody><MessageId>m</MessageId>"
        "<SequenceNumber>7</SequenceNumber></SendMessageResult>"
        f"<ResponseMetadata><RequestId>{ID}</RequestId></ResponseMetadata></SendMessageResponse>"
    )


def test_the_reply_to_a_receive() -> None:
    message = shape.Message(
        message_id="m",
        receipt_handle="h",
        md5_of_body="d",
        body="a<b",
        attributes={"SenderId": "s"},
        md5_of_message_attributes="e",
        message_attributes={"k": Attribute(data_type="Binary", binary_value=b"\0")},
    )
    body = query.encode(OPERATIONS["ReceiveMessage"], shape.ReceiveMessageResult(messages=[message]), ID).decode()
    assert (
        "<ReceiveMessageResult><Message><MessageId>m</MessageId><ReceiptHandle>h</ReceiptHandle>"
        "<MD5OfBody>d</MD5OfBody><Body>a&lt;b</Body>"
        "<Attribute><Name>SenderId</Name><Value>s</Value></Attribute>"
        "<MD5OfMessageAttributes>e</MD5OfMessageAttributes>"
        "<MessageAttribute><Name>k</Name><Value><DataType>Binary</DataType><BinaryValue>AA==</BinaryValue></Value>"
        "</MessageAttribute></Message></ReceiveMessageResult>"
    ) in body


def test_an_empty_receive() -> None:
    body = query.encode(OPERATIONS["ReceiveMessage"], shape.ReceiveMessageResult(), ID)
    assert b"<ReceiveMessageResult/>" in body


def test_tags_have_keys() -> None:
    body = query.encode(OPERATIONS["ListQueueTags"], shape.ListQueueTagsResult(tags={"a": "1", "b": ""}), ID)
    assert b"<Tag><Key>a</Key><Value>1</Value></Tag><Tag><Key>b</Key><Value/></Tag>" in body


def test_failures_of_a_batch() -> None:
    failed = shape.BatchResultErrorEntry(id="2", sender_fault=True, code="InvalidParameterValue", message="no & no")
    result = shape.DeleteMessageBatchResult(
        successful=[shape.DeleteMessageBatchResultEntry(id="1")], failed=[failed, failed]
    )
    body = query.encode(OPERATIONS["DeleteMessageBatch"], result, ID).decode()
    one = (
        "<BatchResultErrorEntry><Id>2</Id><SenderFault>true</SenderFault><Code>InvalidParameterValue</Code>"
        "<Message>no &amp; no</Message></BatchResultErrorEntry>"
    )
    assert f"<DeleteMessageBatchResultEntry><Id>1</Id></DeleteMessageBatchResultEntry>{one}{one}" in body


@pytest.mark.parametrize("path", [QUEUE, QUEUE + "/"])
def test_the_path_may_name_the_queue(path: str) -> None:
    assert decode("Action=SendMessage&MessageBody=b", path) == shape.SendMessage(queue_url=QUEUE, message_body="b")
    assert decode("Action=PurgeQueue&QueueUrl=other", path) == shape.PurgeQueue(queue_url="other")
    assert decode("Action=GetQueueUrl&QueueName=other", path) == shape.GetQueueUrl(queue_name="other")


@pytest.mark.parametrize("path", ["", "/", "/orders", "/a/b/c"])
def test_other_paths_name_no_queue(path: str) -> None:
    with pytest.raises(MissingParameter, match=r"^The request must contain the parameter QueueUrl\.$"):
        decode("Action=PurgeQueue", path)


@pytest.mark.parametrize("action", ["CreateQueue&QueueName=q", "ListQueues"])
def test_a_queue_does_not_make_or_list_queues(action: str) -> None:
    decode(f"Action={action}")
    with pytest.raises(InvalidAction, match=r"^The action \w+ is not valid for this endpoint\.$"):
        decode(f"Action={action}", QUEUE)


@pytest.mark.parametrize("action", ["Peek", "Receive", "FooBar", "sendmessage", ""])
def test_unknown_actions(action: str) -> None:
    with pytest.raises(InvalidAction, match=rf"^The action {action} is not valid for this endpoint\.$"):
        decode(f"Action={action}&QueueUrl=u")


def test_no_action() -> None:
    with pytest.raises(MissingAction):
        decode("QueueUrl=u")
    with pytest.raises(UnknownOperation):
        decode("", QUEUE)


def test_versions() -> None:
    assert decode("Action=ListQueues&Version=2012-11-05") == shape.ListQueues()
    with pytest.raises(NoSuchVersion):
        decode("Action=ListQueues&Version=2009-02-01")


def test_the_body_counts_before_the_query_string() -> None:
    _, request = decoded(QUEUE, b"Action=SendMessage&MessageBody=a&DelaySeconds=1", b"MessageBody=b")
    assert request == shape.SendMessage(queue_url=QUEUE, message_body="b", delay_seconds=1)


def test_signatures_are_not_read_here() -> None:
    signature = "X-Amz-Algorithm=AWS4-HMAC-SHA256&X-Amz-Signature=0&AWSAccessKeyId=a&Signature=b%3D&SignatureVersion=2"
    assert decode(f"Action=ListQueues&{signature}&Timestamp=now&Expires=x") == shape.ListQueues()


@pytest.mark.parametrize(
    ("body", "attributes"),
    [
        ("Attribute.1.Name=a&Attribute.1.Value=1", {"a": "1"}),
        ("Attribute.Name=a&Attribute.Value=1", {"a": "1"}),
        ("Attribute.9.Value=1&Attribute.9.Name=a&Attribute.10.Name=b&Attribute.10.Value=2", {"a": "1", "b": "2"}),
        ("Attribute.1.Name=a&Attribute.1.Value=", {"a": ""}),
    ],
)
def test_ways_to_write_a_map(body: str, attributes: dict[str, str]) -> None:
    request = decode(f"Action=SetQueueAttributes&{body}", QUEUE)
    assert request == shape.SetQueueAttributes(queue_url=QUEUE, attributes=attributes)


@pytest.mark.parametrize(
    ("body", "names"),
    [
        ("AttributeName.1=a&AttributeName.2=b", ["a", "b"]),
        ("AttributeName.10=c&AttributeName.9=b&AttributeName.0=a", ["a", "b", "c"]),
        ("AttributeName.999999999=b&AttributeName.1=a", ["a", "b"]),
        ("AttributeName=a", ["a"]),
        ("AttributeName=", []),
    ],
)
def test_ways_to_write_a_list(body: str, names: list[str]) -> None:
    request = decode(f"Action=GetQueueAttributes&{body}", QUEUE)
    assert request == shape.GetQueueAttributes(queue_url=QUEUE, attribute_names=names)


def test_one_of_everything_without_numbers() -> None:
    entry = "SendMessageBatchRequestEntry"
    request = decode(
        f"Action=SendMessageBatch&{entry}.Id=1&{entry}.MessageBody=b+c%2B&{entry}.MessageAttribute.Name=a"
        f"&{entry}.MessageAttribute.Value.DataType=Binary&{entry}.MessageAttribute.Value.BinaryValue=AA%3D%3D",
        QUEUE,
    )
    attributes = {"a": Attribute(data_type="Binary", binary_value=b"\0")}
    message = shape.SendMessageBatchRequestEntry(id="1", message_body="b c+", message_attributes=attributes)
    assert request == shape.SendMessageBatch(queue_url=QUEUE, entries=[message])


def test_a_batch_without_entries_is_empty() -> None:
    assert decode("Action=DeleteMessageBatch", QUEUE) == shape.DeleteMessageBatch(queue_url=QUEUE)
    # How botocore writes an empty list.
    assert decode("Action=DeleteMessageBatch&Entries=", QUEUE) == shape.DeleteMessageBatch(queue_url=QUEUE)


@pytest.mark.parametrize(
    ("body", "name"),
    [
        ("Action=SendMessage", "MessageBody"),
        ("Action=SetQueueAttributes", "Attributes"),
        ("Action=SetQueueAttributes&Attribute.1.Name=a", "Attribute.1.Value"),
        ("Action=SetQueueAttributes&Attribute.2.Value=a", "Attribute.2.Name"),
        ("Action=TagQueue&Tag.1.Value=a", "Tag.1.Key"),
        (
            "Action=DeleteMessageBatch&DeleteMessageBatchRequestEntry.1.Id=1",
            "DeleteMessageBatchRequestEntry.1.ReceiptHandle",
        ),
    ],
)
def test_missing_parameters(body: str, name: str) -> None:
    with pytest.raises(MissingParameter) as caught:
        decode(body, QUEUE)
    assert caught.value.message == f"The request must contain the parameter {name}."


@pytest.mark.parametrize("value", ["x", "", "1.5", "0x1", "1_0", "%D9%A1", "99999999999", "2147483648", "--1", "1e3"])
def test_numbers_that_are_none(value: str) -> None:
    with pytest.raises(MalformedInput, match=r"^\w+ can not be converted to an Integer$"):
        decode(f"Action=ReceiveMessage&WaitTimeSeconds={value}", QUEUE)


@pytest.mark.parametrize("value", ["-5", "2147483647", "0", "+7"])
def test_numbers(value: str) -> None:
    request = decode(f"Action=ReceiveMessage&WaitTimeSeconds={value.replace('+', '%2B')}", QUEUE)
    assert request == shape.ReceiveMessage(queue_url=QUEUE, wait_time_seconds=int(value))


@pytest.mark.parametrize("value", ["a", "AA=", "AA==AA==", "%C3%A9", "A A="])
def test_binary_values_that_are_no_base64(value: str) -> None:
    attribute = "MessageAttribute.1.Name=a&MessageAttribute.1.Value.DataType=Binary&MessageAttribute.1.Value"
    with pytest.raises(MalformedInput, match="base64"):
        decode(f"Action=SendMessage&MessageBody=b&{attribute}.BinaryValue={value}", QUEUE)


@pytest.mark.parametrize("member", ["StringListValue", "BinaryListValue"])
def test_list_values_are_not_implemented(member: str) -> None:
    attribute = "MessageAttribute.1.Name=a&MessageAttribute.1.Value.DataType=String&MessageAttribute.1.Value"
    with pytest.raises(UnsupportedOperation):
        decode(f"Action=SendMessage&MessageBody=b&{attribute}.{member}.1=x", QUEUE)


@pytest.mark.parametrize("value", ["%", "%4", "%zz", "%ff", "%ED%A0%80", "%C0%80"])
def test_broken_escapes(value: str) -> None:
    with pytest.raises(MalformedQueryString):
        decode(f"Action=SendMessage&MessageBody={value}", QUEUE)
    with pytest.raises(MalformedQueryString):
        decode(f"Action=SendMessage&{value}=x&MessageBody=x", QUEUE)


@pytest.mark.parametrize(
    "body",
    [
        "Action=SendMessage&MessageBody.1=b",
        "Action=SendMessage&MessageBody=b&MessageBody.1=b",
        "Action=SendMessage&MessageBody.1=b&MessageBody=b",
        "Action=GetQueueAttributes&AttributeName.x=a",
        "Action=GetQueueAttributes&AttributeName.1=a&AttributeName.x=a",
        "Action=GetQueueAttributes&AttributeName.1=a&AttributeName=a",
        "Action=GetQueueAttributes&AttributeName.9999999999=a",
        "Action=SetQueueAttributes&Attribute.1=a",
        "Action=SetQueueAttributes&Attribute=a",
        "Action=SetQueueAttributes&Attribute.1.Name.1=a&Attribute.1.Value=a",
        "Action=DeleteMessageBatch&DeleteMessageBatchRequestEntry.1=a",
    ],
)
def test_structures_in_the_wrong_place(body: str) -> None:
    with pytest.raises(MalformedInput):
        decode(body, QUEUE)


def test_the_same_number_twice() -> None:
    request = decode("Action=GetQueueAttributes&AttributeName.1=a&AttributeName.01=b", QUEUE)
    assert sorted(request.attribute_names) == ["a", "b"]
    tags = "Tag.1.Key=a&Tag.1.Value=1&Tag.01.Key=b&Tag.01.Value=2"
    assert decode(f"Action=TagQueue&{tags}", QUEUE) == shape.TagQueue(queue_url=QUEUE, tags={"a": "1", "b": "2"})


def test_too_many_parameters() -> None:
    body = urlencode({f"AttributeName.{number * 9_999}": "x" for number in range(10_000)})
    assert MAX_PARAMETERS < 10_000
    with pytest.raises(MalformedQueryString):
        decode(f"Action=GetQueueAttributes&{body}", QUEUE)
    with pytest.raises(MalformedQueryString):
        decode("Action=GetQueueAttributes" + "&" * 1_000_000, QUEUE)


def test_names_without_end() -> None:
    assert decode("Action=PurgeQueue&" + "a." * 500_000 + "b=1", QUEUE) == shape.PurgeQueue(queue_url=QUEUE)
    with pytest.raises(MalformedInput):
        decode("Action=GetQueueAttributes&AttributeName" + ".1" * 500_000 + "=1", QUEUE)


parts = st.sampled_from(
    ["1", "2", "03", "x", "", "Name", "Value", "Key", "Id", "DataType", "BinaryValue", "MessageBody"]
)
heads = st.sampled_from(
    ["QueueUrl", "MessageBody", "DelaySeconds", "Attribute", "AttributeName", "Tag", "MessageAttribute"]
)
entries = st.sampled_from(["SendMessageBatchRequestEntry", "DeleteMessageBatchRequestEntry"])
names = st.builds(lambda head, rest: ".".join([head, *rest]), heads | entries, st.lists(parts, max_size=4))
values = st.text(max_size=5) | st.sampled_from(["1", "AAA=", "String"])


@oracle.patient
@given(st.sampled_from(sorted(OPERATIONS)), st.dictionaries(names, values, max_size=8))
def test_any_parameters_are_a_request_or_a_fault(action: str, parameters: dict[str, str]) -> None:
    with suppress(Fault):
        operation, request = decoded(QUEUE, b"", urlencode({"Action": action, **parameters}).encode())
        assert type(request) is operation.request


@oracle.patient
@given(st.text(), st.binary(), st.binary())
def test_any_bytes_are_a_request_or_a_fault(path: str, query_string: bytes, body: bytes) -> None:
    with suppress(Fault):
        decoded(path, query_string, body)
    with suppress(Fault):
        operation, request = decoded(path, query_string, b"Action=SendMessage&QueueUrl=u&MessageBody=" + body)
        assert type(request) is operation.request
