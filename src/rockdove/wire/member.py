"""What a request or a result is made of, read off its class, with the names that Query has for lists and maps."""

from dataclasses import dataclass
from functools import cache
from typing import Any, Literal

from msgspec import Struct, inspect

# SQS's Query writes lists and maps flat, under a name in the singular: AttributeName.1, Attribute.1.Name.
# A list of structures bears the name of the structure. SNS's wraps them: Tags.member.1.Key, Attributes.entry.1.key.
_FLAT = {
    "AWSAccountIds": "AWSAccountId",
    "Actions": "ActionName",
    "AttributeNames": "AttributeName",
    "Attributes": "Attribute",
    "MessageAttributeNames": "MessageAttributeName",
    "MessageAttributes": "MessageAttribute",
    "MessageSystemAttributeNames": "MessageSystemAttributeName",
    "MessageSystemAttributes": "MessageSystemAttribute",
    "QueueUrls": "QueueUrl",
    "TagKeys": "TagKey",
    "Tags": "Tag",
    "queueUrls": "QueueUrl",
    "tags": "Tag",
}


@dataclass(frozen=True)
class Scalar:
    kind: Literal["String", "Integer", "Boolean", "Float", "Blob"]


@dataclass(frozen=True)
class Listing:
    element: "Shape"
    wrapped: bool = False


@dataclass(frozen=True)
class Mapping:
    """From strings; ``key`` and ``value`` are what Query calls those."""

    element: "Shape"
    key: str
    value: str = "Value"
    wrapped: bool = False


@dataclass(frozen=True)
class Structure:
    type: type[Struct]
    members: tuple["Member", ...]


Shape = Scalar | Listing | Mapping | Structure


@dataclass(frozen=True)
class Member:
    """``name`` in JSON, ``flat`` in Query, ``field`` in Python."""

    name: str
    flat: str
    field: str
    shape: Shape
    required: bool


@cache
def structure(cls: type[Struct]) -> Structure:
    info = inspect.type_info(cls)
    assert isinstance(info, inspect.StructType)
    member = _wrapped_member if _is_wrapped(cls) else _member
    return Structure(cls, tuple(member(field) for field in info.fields))


def _is_wrapped(cls: type[Any]) -> bool:
    return getattr(cls, "wraps", False)


def _wrapped_member(field: inspect.Field) -> Member:
    return Member(field.encode_name, field.encode_name, field.name, _wrapped_shape(field.type), field.required)


def _wrapped_shape(info: inspect.Type) -> Shape:
    match info:
        case inspect.UnionType(types=types):
            return _wrapped_shape(next(one for one in types if not isinstance(one, inspect.NoneType)))
        case inspect.ListType(item_type=item):
            return Listing(_wrapped_shape(item), wrapped=True)
        case inspect.DictType(value_type=value):
            element = _wrapped_shape(value)
            key, name = ("Name", "Value") if isinstance(element, Structure) else ("key", "value")
            return Mapping(element, key, name, wrapped=True)
        case inspect.StructType(cls=cls):
            return structure(cls)
        case _:
            return _scalar(info)


def _member(field: inspect.Field) -> Member:
    flat = _FLAT.get(field.encode_name, field.encode_name)
    shape = _shape(field.type, flat)
    if isinstance(shape, Listing) and isinstance(shape.element, Structure):
        flat = shape.element.type.__name__
    return Member(field.encode_name, flat, field.name, shape, field.required)


def _shape(info: inspect.Type, flat: str) -> Shape:
    match info:
        case inspect.UnionType(types=types):
            return _shape(next(one for one in types if not isinstance(one, inspect.NoneType)), flat)
        case inspect.ListType(item_type=item):
            return Listing(_shape(item, flat))
        case inspect.DictType(value_type=value):
            return Mapping(_shape(value, flat), key="Key" if flat == "Tag" else "Name")
        case inspect.StructType(cls=cls):
            return structure(cls)
        case _:
            return _scalar(info)


def _scalar(info: inspect.Type) -> Scalar:
    match info:
        case inspect.StrType():
            return Scalar("String")
        case inspect.IntType():
            return Scalar("Integer")
        case inspect.BoolType():
            return Scalar("Boolean")
        case inspect.FloatType():
            return Scalar("Float")
        case inspect.BytesType():
            return Scalar("Blob")
        case _:
            raise TypeError(f"neither protocol has a {info}")
