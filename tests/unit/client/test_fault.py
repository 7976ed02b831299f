"""Faults come back as what they were."""

import inspect

import pytest

from rockdove.client.fault import read_fault
from rockdove.core import errors
from rockdove.core.errors import Fault
from rockdove.wire import awsjson

FAULTS = [
    kind for _, kind in inspect.getmembers(errors, inspect.isclass) if issubclass(kind, Fault) and kind is not Fault
]


@pytest.mark.parametrize("kind", FAULTS, ids=lambda kind: kind.__name__)
def test_every_fault_of_the_service_comes_back_as_the_same_class(kind: type[Fault]) -> None:
    status, header, body = awsjson.fault(kind("what happened"))
    fault = read_fault(status, header.decode(), body)
    assert type(fault) is kind
    assert fault.message == "what happened"


def test_a_fault_without_text_has_its_own() -> None:
    fault = read_fault(400, None, b'{"__type":"com.amazonaws.sqs#QueueDoesNotExist"}')
    assert fault is not None
    assert str(fault) == "The specified queue does not exist."


def test_a_fault_of_a_newer_service_is_a_fault_all_the_same() -> None:
    body = b'{"__type":"com.amazonaws.sqs#KmsThrottled","Message":"slower"}'
    fault = read_fault(503, "KMS.ThrottlingException;Receiver", body)
    assert isinstance(fault, Fault)
    assert (fault.shape, fault.code, fault.status, fault.sender) == (
        "KmsThrottled",
        "KMS.ThrottlingException",
        503,
        False,
    )
    assert fault.message == "slower"
    assert type(fault) is type(read_fault(503, "KMS.ThrottlingException;Receiver", body))


@pytest.mark.parametrize("body", [b"", b"<html>", b"[]", b"{}", b'{"__type":""}', b'{"__type":3}', b"\xff"])
def test_what_names_no_fault_is_none(body: bytes) -> None:
    assert read_fault(400, None, body) is None
