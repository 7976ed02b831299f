"""Every fault as botocore understands it, in both protocols."""

import json
from collections.abc import Iterator
from typing import Any

import boto3
import pytest

from rockdove.core import errors
from rockdove.core.errors import Fault
from rockdove.wire import awsjson, query
from tests.unit.wire import oracle

ID = "c6e5a3b1-0000-4000-8000-000000000000"


def subclasses(cls: type[Fault]) -> Iterator[type[Fault]]:
    for one in cls.__subclasses__():
        yield one
        yield from subclasses(one)


FAULTS = sorted(set(subclasses(Fault)), key=lambda cls: cls.__name__)
MODELLED = {shape.name for shape in oracle.model("json").error_shapes}


def made(cls: type[Fault]) -> Fault:
    return cls() if cls.text else cls("Tom & <Jerry>")


@pytest.fixture(scope="module")
def client() -> Iterator[Any]:
    client = boto3.client("sqs", region_name="us-east-1", aws_access_key_id="a", aws_secret_access_key="b")
    yield client
    client.close()


@pytest.mark.parametrize("cls", FAULTS)
def test_in_json(cls: type[Fault]) -> None:
    fault = made(cls)
    status, header, body = awsjson.fault(fault)
    error = oracle.parse_error("json", "SendMessage", status, {"x-amzn-query-error": header.decode()}, body)
    assert status == cls.status
    assert error["Error"] == {
        "Code": cls.code,
        "Message": fault.message,
        "QueryErrorCode": cls.shape,
        "Type": "Sender" if cls.sender else "Receiver",
    }


@pytest.mark.parametrize("cls", [cls for cls in FAULTS if cls is not errors.UnknownOperation])
def test_in_query(cls: type[Fault]) -> None:
    status, body = query.fault(made(cls), ID)
    error = oracle.parse_error("query", "SendMessage", status, {}, body)
    assert status == cls.status
    assert error["ResponseMetadata"]["RequestId"] == ID
    assert error["Error"].pop("Message")
    assert error["Error"] == {"Code": cls.code, "Type": "Sender" if cls.sender else "Receiver", "Detail": None}


@pytest.mark.parametrize("cls", [cls for cls in FAULTS if cls.shape in MODELLED])
def test_boto3_raises_the_class_of_the_model(cls: type[Fault], client: Any) -> None:
    _, _, body = awsjson.fault(made(cls))
    assert json.loads(body)["__type"] == f"com.amazonaws.sqs#{cls.shape}"
    assert client.exceptions.from_code(cls.shape) is getattr(client.exceptions, cls.shape)


@pytest.mark.parametrize(
    ("cls", "type_name"),
    [
        (errors.InvalidParameterValue, "com.amazon.coral.service#InvalidParameterValueException"),
        (errors.MissingParameter, "com.amazon.coral.service#MissingRequiredParameterException"),
        (errors.MalformedInput, "com.amazon.coral.service#SerializationException"),
    ],
)
def test_faults_of_the_framework(cls: type[Fault], type_name: str) -> None:
    assert json.loads(awsjson.fault(cls("x"))[2]) == {"__type": type_name, "message": "x"}


def test_a_fault_without_text_has_no_message() -> None:
    status, header, body = awsjson.fault(errors.UnknownOperation())
    assert (status, header) == (400, b"UnknownOperationException;Sender")
    assert body == b'{"__type":"com.amazon.coral.service#UnknownOperationException"}'


def test_an_unknown_operation_in_query() -> None:
    assert query.fault(errors.UnknownOperation(), ID) == (404, b"<UnknownOperationException/>")


def test_texts_that_differ() -> None:
    fault = errors.QueueDoesNotExist()
    assert json.loads(awsjson.fault(fault)[2])["message"] == "The specified queue does not exist."
    assert b"<Message>The specified queue does not exist for this wsdl version.</Message>" in query.fault(fault, ID)[1]
    assert b"<Message>gone</Message>" in query.fault(errors.QueueDoesNotExist("gone"), ID)[1]


def test_the_whole_of_a_fault_in_query() -> None:
    status, body = query.fault(errors.InvalidParameterValue('a "b"\x00'), ID)
    assert status == 400
    assert body.decode() == (
        '<?xml version="1.0"?><ErrorResponse xmlns="http://queue.amazonaws.com/doc/2012-11-05/"><Error>'
        "<Type>Sender</Type><Code>InvalidParameterValue</Code><Message>a &quot;b&quot;\ufffd</Message><Detail/></Error>"
        f"<RequestId>{ID}</RequestId></ErrorResponse>"
    )
