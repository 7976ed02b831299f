"""From what a service says went wrong back to the fault that it raised."""

from collections.abc import Iterator
from functools import lru_cache
from typing import Any

import msgspec

from rockdove.core.errors import Fault


class _Body(msgspec.Struct):
    type: str = msgspec.field(default="", name="__type")
    message: str | None = None
    # AWS writes it so in places.
    capital_message: str | None = msgspec.field(default=None, name="Message")


def _subclasses(kind: type[Fault]) -> Iterator[type[Fault]]:
    for sub in kind.__subclasses__():
        yield sub
        yield from _subclasses(sub)


# Of several with one shape, the first is what clients know: others are of the service alone.
_BY_SHAPE: dict[str, type[Fault]] = {}
for _kind in _subclasses(Fault):
    _BY_SHAPE.setdefault(_kind.shape, _kind)
_decode = msgspec.json.Decoder(_Body).decode


def read_fault(status: int, query_error: str | None, body: bytes) -> Fault | None:
    """The fault in an answer, or None if there is none. ``query_error`` is the header ``x-amzn-query-error``."""
    try:
        told = _decode(body)
    except ValueError:
        return None
    shape = told.type.rpartition("#")[2]
    if not shape:
        return None
    code, _, blame = (query_error or "").partition(";")
    kind = _BY_SHAPE.get(shape) or _unknown(shape, code or shape, status, (blame or "Sender") == "Sender")
    return kind(told.message if told.message is not None else told.capital_message)


@lru_cache(maxsize=256)
def _unknown(shape: str, code: str, status: int, sender: bool) -> type[Fault]:
    """A class for a fault that a newer service has and this client does not know."""
    name = shape if shape.isidentifier() else "UnknownFault"
    members: dict[str, Any] = {"shape": shape, "code": code, "status": status, "sender": sender, "text": code}
    return type(name, (Fault,), members)
