"""Results as XML, the way Query writes them: lists and maps flat, or, of topics, wrapped; nothing that is empty."""

import re
from base64 import b64encode
from typing import Any, TypeGuard

from msgspec import Struct

from rockdove.wire.member import Listing, Mapping, Scalar, Shape, Structure, structure

# What has a meaning in XML, what XML readers turn into something else, and what XML cannot carry at all.
_SPECIAL = re.compile('[&<>"\r\x00-\x08\x0b\x0c\x0e-\x1f\ud800-\udfff\ufffe\uffff]')
_IMPOSSIBLE = re.compile("[\x00-\x08\x0b\x0c\x0e-\x1f\ud800-\udfff\ufffe\uffff]")
# The first is in the others.
_ENTITIES = {"&": "&amp;", "<": "&lt;", ">": "&gt;", '"': "&quot;", "\r": "&#xD;"}


def escape(text: str) -> str:
    """What XML cannot carry becomes U+FFFD. Quick for a megabyte of nothing but quotation marks, too."""
    if _SPECIAL.search(text) is None:
        return text
    text = _IMPOSSIBLE.sub("\ufffd", text)
    for character, entity in _ENTITIES.items():
        text = text.replace(character, entity)
    return text


def element(name: str, content: str) -> str:
    return f"<{name}>{content}</{name}>" if content else f"<{name}/>"


def members(value: Struct) -> str:
    """The elements of a structure, without the one around them."""
    return _members(structure(type(value)), value)


def _members(shape: Structure, value: object) -> str:
    pairs = ((member, getattr(value, member.field)) for member in shape.members)
    return "".join(_render(member.shape, member.flat, content) for member, content in pairs if content is not None)


def _render(shape: Shape, name: str, value: object) -> str:
    match shape, value:
        case Listing(element=one, wrapped=True), list():
            return element(name, "".join(_render(one, "member", item) for item in value))
        case Mapping(element=one, key=key, value=inner, wrapped=True), dict():
            entries = (element(key, escape(k)) + _render(one, inner, item) for k, item in value.items())
            return element(name, "".join(element("entry", entry) for entry in entries))
        case Listing(element=Scalar()), list() if _are_plain(value):
            return f"<{name}>" + f"</{name}><{name}>".join(value) + f"</{name}>"
        case Listing(element=one), list():
            return "".join(_render(one, name, item) for item in value)
        case Mapping(element=one, key=key), dict():
            return "".join(
                element(name, element(key, escape(k)) + _render(one, "Value", item)) for k, item in value.items()
            )
        case Structure(), _:
            return element(name, _members(shape, value))
        case Scalar(), _:
            return element(name, _text(value))
        case _:
            raise TypeError(f"{name} cannot be a {type(value).__name__}")


def _are_plain(values: list[Any]) -> TypeGuard[list[str]]:
    """Whether they are texts of which none needs to be escaped, or is empty. There may be a thousand of them."""
    if not values or not all(type(value) is str and value for value in values):
        return False
    return _SPECIAL.search("".join(values)) is None


def _text(value: object) -> str:
    match value:
        case str():
            return escape(value)
        case bool():
            return "true" if value else "false"
        case bytes():
            return b64encode(value).decode()
        case _:
            return str(value)
