"""AWS JSON 1.0: what current SDKs speak."""

from collections.abc import Callable
from typing import Any

import msgspec

from rockdove.core import limits
from rockdove.core.errors import (
    Fault,
    IncompleteSignature,
    InternalFailure,
    InvalidClientTokenId,
    InvalidParameterValue,
    MalformedInput,
    MissingAuthenticationToken,
    MissingParameter,
    RequestTooLarge,
    ServiceUnavailable,
    SignatureDoesNotMatch,
    UnknownOperation,
)
from rockdove.wire.builder import build
from rockdove.wire.member import structure
from rockdove.wire.operation import MAX_SMALL_BYTES, OPERATIONS, Operation
from rockdove.wire.shape import Request, Result, SendMessage, SendMessageBatch, SendMessageBatchRequestEntry

_TARGETS = {operation.target.encode(): operation for operation in OPERATIONS.values()}
_DECODERS = {name: msgspec.json.Decoder(operation.request).decode for name, operation in OPERATIONS.items()}
_ENCODE = msgspec.json.Encoder().encode
# What is larger, and wrong, is not looked at closely: it could keep others waiting for half a second.
MOST_SLOW_BYTES = 2 * 1024 * 1024
MOST_REASON = 200
# More than a message may have.
MOST_ATTRIBUTES = 100

# The faults that AWS's service framework has for all services, and the model of SQS therefore does not.
_FRAMEWORK = (
    IncompleteSignature,
    InternalFailure,
    InvalidClientTokenId,
    InvalidParameterValue,
    MalformedInput,
    MissingAuthenticationToken,
    MissingParameter,
    ServiceUnavailable,
    SignatureDoesNotMatch,
    UnknownOperation,
)


def operation(target: bytes) -> Operation:
    """By the value of ``X-Amz-Target``."""
    try:
        return _TARGETS[target]
    except KeyError:
        raise UnknownOperation() from None


def decode(operation: Operation, body: bytes) -> Request:
    if len(body) > MAX_SMALL_BYTES and operation.max_bytes is not None:
        raise RequestTooLarge(f"A request for {operation.name} must be at most {operation.max_bytes} bytes long.")
    try:
        request = _DECODERS[operation.name](body)
    # Also of text that is no UTF-8 (a ValueError, as msgspec's own are) and of nesting without end.
    except (ValueError, RecursionError) as error:
        if len(body) > MOST_SLOW_BYTES:
            raise MalformedInput(f"The request cannot be read: {error}"[:MOST_REASON]) from None
        return _decode_slowly(operation, body)
    has_attributes = _HAVE_ATTRIBUTES.get(operation.name)
    if has_attributes is not None and has_attributes(request) and _LIST_VALUES in body:
        return _decode_slowly(operation, body)
    return request


def _has_attributes(message: SendMessage | SendMessageBatchRequestEntry) -> bool:
    """Not if they are too many, which is refused later: to go through them would take long."""
    ours, systems = message.message_attributes, message.message_system_attributes
    if ours is None and systems is None:
        return False
    return len(ours or ()) + len(systems or ()) <= MOST_ATTRIBUTES


def _batch_has_attributes(request: SendMessageBatch) -> bool:
    return len(request.entries) <= limits.MAX_BATCH_ENTRIES and any(map(_has_attributes, request.entries))


# What a message attribute may have in the model but not in SQS; msgspec ignores members that it does not know.
# The search costs as much as decoding, so it is made only where there are attributes at all.
_LIST_VALUES = b"ListValues"
_HAVE_ATTRIBUTES: dict[str, Callable[[Any], bool]] = {
    "SendMessage": _has_attributes,
    "SendMessageBatch": _batch_has_attributes,
}


def _decode_slowly(operation: Operation, body: bytes) -> Request:
    try:
        value: Any = msgspec.json.decode(body or b"{}")
    except RecursionError:
        raise MalformedInput("The request's JSON is nested too deeply.") from None
    except ValueError:
        raise MalformedInput() from None
    return build(structure(operation.request), value)


def encode(result: Result | None) -> bytes:
    """An operation without result has an empty body."""
    return b"" if result is None else _ENCODE(result)


def fault(f: Fault) -> tuple[int, bytes, bytes]:
    """The status, the value of the header ``x-amzn-query-error``, and the body."""
    space = "com.amazon.coral.service" if isinstance(f, _FRAMEWORK) else "com.amazonaws.sqs"
    body = {"__type": f"{space}#{f.shape}"}
    if f.message:
        body["message"] = f.message
    header = f"{f.code};{'Sender' if f.sender else 'Receiver'}"
    return f.status, header.encode(), _ENCODE(body)
