"""Form-encoded parameters, and the lists, maps and structures that Query writes flat in them."""

import re
from binascii import a2b_qp
from operator import itemgetter

from rockdove.core.errors import MalformedInput, MalformedQueryString, MissingParameter
from rockdove.core.message import Attribute
from rockdove.wire.member import Listing, Mapping, Scalar, Shape, Structure

# A batch of ten messages with ten attributes each has about 450.
MAX_PARAMETERS = 4_000
# PublishBatchRequestEntries.member.1.MessageAttributes.entry.1.Value.StringValue
_MAX_DEPTH = 7
_MAX_INDEX_DIGITS = 9

_BAD_ESCAPE = re.compile(rb"%(?![0-9A-Fa-f]{2})")
_INTEGER = re.compile(r"[+-]?[0-9]{1,10}", re.ASCII)
_BOOLEANS = {"true": True, "false": False}

# The parameters by the parts of their names.
Node = str | dict[str, "Node"]


def parse(data: bytes) -> dict[str, str]:
    """Of a parameter that comes twice the last one counts."""
    if data.count(b"&") >= MAX_PARAMETERS:
        raise too_many_parameters()
    if _BAD_ESCAPE.search(data):
        raise MalformedQueryString()
    pairs = (pair.partition(b"=") for pair in data.split(b"&") if pair)
    try:
        return {_text(name): _text(value) for name, _, value in pairs}
    except UnicodeDecodeError:
        raise MalformedQueryString() from None


def too_many_parameters() -> MalformedQueryString:
    return MalformedQueryString(f"The request has more than {MAX_PARAMETERS} parameters.")


def _text(data: bytes) -> str:
    return unquote(data.replace(b"+", b" ")).decode()


def unquote(data: bytes) -> bytes:
    """Percent-decode what has only good escapes.

    A megabyte of escapes costs Python's own function half a second, in which nobody else is served. With another
    letter for the percent sign they are those of quoted-printable, which is decoded in C.
    """
    return a2b_qp(data.replace(b"=", b"%3D").replace(b"%", b"="))


def unflatten(parameters: dict[str, str], shape: Structure) -> dict[str, object]:
    """The same values as AWS JSON has them; parameters that the shape does not know are left out."""
    known = {member.flat for member in shape.members}
    tree: dict[str, Node] = {}
    for name, value in parameters.items():
        parts = name.split(".", _MAX_DEPTH)
        if parts[0] in known:
            _plant(tree, parts, value)
    return _structure(shape, tree)


def _plant(tree: dict[str, Node], parts: list[str], value: str) -> None:
    for part in parts[:-1]:
        branch = tree.setdefault(part, {})
        if isinstance(branch, str):
            raise _misplaced()
        tree = branch
    if tree.setdefault(parts[-1], value) is not value:
        raise _misplaced()


def _plain(shape: Shape, node: Node, name: str) -> object:
    match shape:
        case Scalar():
            return _scalar(shape, node)
        case Listing(element=element, wrapped=wrapped):
            items, name = (_items(_inner(node, "member")), f"{name}.member") if wrapped else (_items(node), name)
            return [_plain(element, item, f"{name}.{index}") for index, item in items]
        case Mapping(wrapped=wrapped):
            items, name = (_items(_inner(node, "entry")), f"{name}.entry") if wrapped else (_items(node), name)
            return dict(_entry(shape, item, f"{name}.{index}") for index, item in items)
        case Structure():
            if isinstance(node, str):
                raise _misplaced()
            return _structure(shape, node)


def _inner(node: Node, name: str) -> Node:
    """What is in a wrapped list or map. SDKs write an empty one as an empty text."""
    if isinstance(node, str):
        return node
    if node.keys() != {name}:
        raise _misplaced()
    return node[name]


def _scalar(shape: Scalar, node: Node) -> object:
    if not isinstance(node, str):
        raise _misplaced()
    if shape.kind == "Boolean":
        if node not in _BOOLEANS:
            raise MalformedInput("STRING_VALUE can not be converted to a Boolean")
        return _BOOLEANS[node]
    if shape.kind != "Integer":
        return node
    if not _INTEGER.fullmatch(node):
        raise MalformedInput("STRING_VALUE can not be converted to an Integer")
    return int(node)


def _structure(shape: Structure, node: dict[str, Node]) -> dict[str, object]:
    present = (member for member in shape.members if member.flat in node)
    plain = {member.name: _plain(member.shape, node[member.flat], member.flat) for member in present}
    if shape.type is Attribute:
        # No member of ours: SQS refuses them, so they must be seen.
        plain |= {f"{name}s": node[name] for name in ("StringListValue", "BinaryListValue") if name in node}
    return plain


def _entry(shape: Mapping, node: Node, name: str) -> tuple[str, object]:
    if isinstance(node, str):
        raise _misplaced()
    for part in (shape.key, shape.value):
        if part not in node:
            raise MissingParameter(f"The request must contain the parameter {name}.{part}.")
    key = node[shape.key]
    if not isinstance(key, str):
        raise _misplaced()
    return key, _plain(shape.element, node[shape.value], name)


def _items(node: Node) -> list[tuple[int, Node]]:
    """The elements in the order of their numbers, which may have gaps; a single one needs no number."""
    if isinstance(node, str):
        # SDKs write an empty list so.
        return [(1, node)] if node else []
    numbered = [key for key in node if key.isdecimal() and key.isascii()]
    if not numbered:
        return [(1, node)]
    if len(numbered) < len(node) or any(len(key) > _MAX_INDEX_DIGITS for key in numbered):
        raise _misplaced()
    return sorted(((int(key), node[key]) for key in numbered), key=itemgetter(0))


def _misplaced() -> MalformedInput:
    return MalformedInput("Start of structure or map found where not expected.")
