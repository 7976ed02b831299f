"""From plain values to requests, with SQS's words for whatever is wrong: the way for all that msgspec refuses."""

import binascii
from base64 import b64decode
from typing import Any, cast

from rockdove.core.errors import InvalidParameterValue, MalformedInput, MissingParameter, UnsupportedOperation
from rockdove.core.message import Attribute
from rockdove.wire.member import Listing, Mapping, Member, Scalar, Shape, Structure
from rockdove.wire.shape import Request

_LEAST = -(2**31)
_MOST = 2**31 - 1


def build(shape: Structure, value: object) -> Request:
    """A null member counts as absent, an unknown one is ignored."""
    return cast(Request, _structure(shape, value, ""))


def _build(shape: Shape, value: object, name: str) -> Any:
    """``name`` is how SQS calls the place of the value: ``SendMessageBatchRequestEntry.1``, or a key of a map."""
    match shape:
        case Scalar():
            return _scalar(shape, value)
        case Listing(element=element):
            if not isinstance(value, list):
                raise _refusal(value, "List")
            return [_build(element, one, f"{name}.{n}") for n, one in enumerate(value, 1) if one is not None]
        case Mapping(element=element):
            if not isinstance(value, dict):
                raise _refusal(value, "Map")
            if name == "Tag" and None in value.values():
                # To leave it away would drop a tag that somebody wants.
                raise InvalidParameterValue("Tag values must be strings, and may be empty, but not null.")
            return {key: _build(element, one, key) for key, one in value.items() if one is not None}
        case Structure():
            return _structure(shape, value, name)


def _structure(shape: Structure, value: object, name: str) -> Any:
    if not isinstance(value, dict):
        raise _refusal(value, "Map")
    if shape.type is Attribute:
        _check_attribute(value, name)
    present = [member for member in shape.members if _is_there(member, value, name)]
    return shape.type(**{one.field: _build(one.shape, value[one.name], one.flat) for one in present})


def _is_there(member: Member, value: dict[str, object], name: str) -> bool:
    if value.get(member.name) is not None:
        return True
    if member.required:
        raise MissingParameter(f"The request must contain the parameter {name}{name and '.'}{member.name}.")
    return False


def _check_attribute(value: dict[str, object], name: str) -> None:
    if value.get("StringListValues") or value.get("BinaryListValues"):
        raise UnsupportedOperation("Message attribute list values in SendMessage operation are not supported.")
    if value.get("DataType") in (None, ""):
        raise InvalidParameterValue(f"Message (user) attribute '{name}' must contain a non-empty attribute type.")


def _scalar(shape: Scalar, value: object) -> Any:
    match shape.kind, value:
        case "String", str():
            return value
        case "Blob", str():
            return _blob(value)
        case "Boolean", bool():
            return value
        case "Integer", int() | float() if _is_integer(value):
            return int(value)
        case _:
            raise _refusal(value, shape.kind)


def _is_integer(value: float) -> bool:
    return not isinstance(value, bool) and _LEAST <= value <= _MOST and value == int(value)


def _blob(value: str) -> bytes:
    try:
        return b64decode(value, validate=True)
    except (binascii.Error, ValueError):
        raise MalformedInput("Invalid base64 encoded string") from None


def _refusal(value: object, kind: str) -> MalformedInput:
    match value:
        case list():
            return MalformedInput("Start of list found where not expected")
        case dict():
            return MalformedInput("Start of structure or map found where not expected.")
        case _ if kind in ("List", "Map"):
            return MalformedInput("Unexpected field type")
        case _:
            article = "an" if kind == "Integer" else "a"
            return MalformedInput(f"{_token(value)} can not be converted to {article} {kind}")


def _token(value: object) -> str:
    match value:
        case None:
            return "NULL_VALUE"
        case bool():
            return f"{value}_VALUE".upper()
        case str():
            return "STRING_VALUE"
        case _:
            return "NUMBER_VALUE"
