"""What a request or a result is made of, read off its class, with the names that Query has for lists and maps."""

from dataclasses import dataclass
from functools import cache
from typing import Literal

from msgspec import Struct, inspect

# Query writes lists and maps flat, under a name in the singular: AttributeName.1, Attribute.1.Name.
# A list of structures bears the name of the structure.
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


@dataclass(frozen=True)
class Mapping:
    """From strings; ``key`` is what Query calls the key (the value is always ``Value``)."""

    element: "Shape"
    key: str


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
    return Structure(cls, tuple(_member(field) for field in info.fields))


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
