"""Answers to Query requests as JSON, for clients that accept it: the members of the XML, in lists where those are flat.

This is not AWS JSON: SQS has answered so since before it had that, and API Gateway's integrations rely on it.
"""

import re
from base64 import b64encode

import msgspec

from rockdove.core.errors import Fault
from rockdove.wire import query
from rockdove.wire.member import Listing, Mapping, Shape, Structure, structure
from rockdove.wire.operation import Operation
from rockdove.wire.shape import Result

KIND = b"application/json"

# Members that have another name than in AWS JSON.
_NAMES = {"QueueUrls": "queueUrls", "Messages": "messages"}
# A weight of nothing: not that.
_NONE = re.compile(rb"\s*q\s*=\s*0(\.0*)?\s*")
_ENCODE = msgspec.json.Encoder(order="sorted").encode


def is_wanted(accept: bytes) -> bool:
    """By the value of ``Accept``."""
    kinds = (kind.partition(b";") for kind in accept.lower().split(b","))
    return any(kind.strip() == KIND and not _NONE.fullmatch(rest) for kind, _, rest in kinds)


def encode(operation: Operation, result: Result | None, request_id: str) -> bytes:
    """All members are there; those that are empty are null."""
    content: dict[str, object] = {"ResponseMetadata": {"RequestId": request_id}}
    if result is not None:
        content[f"{operation.action}Result"] = _value(structure(type(result)), result)
    return _ENCODE({f"{operation.action}Response": content})


def fault(f: Fault, request_id: str, operation: Operation | None = None) -> tuple[int, bytes]:
    """The status and the body."""
    code = query.code(f, operation)
    error = {"Type": "Sender" if f.sender else "Receiver", "Code": code, "Message": query.message(f)}
    return f.status, _ENCODE({"Error": error, "RequestId": request_id})


def _value(shape: Shape, value: object) -> object:
    match shape, value:
        case _, None:
            return None
        case Structure(members=members), _:
            pairs = ((member, getattr(value, member.field)) for member in members)
            return {_NAMES.get(member.name, member.name): _value(member.shape, content) for member, content in pairs}
        case Mapping(element=one, wrapped=True), dict():
            return {name: _value(one, item) for name, item in value.items()} or None
        case Listing(element=one), list():
            return [_value(one, item) for item in value] or None
        case Mapping(element=one, key=key), dict():
            return [{key: name, "Value": _value(one, item)} for name, item in value.items()] or None
        case _, bytes():
            return b64encode(value).decode()
        case _:
            return value
