"""Server-sent events as bytes."""

import math

import msgspec

_encode = msgspec.json.Encoder().encode


def event(name: str, value: object) -> bytes:
    """JSON has no line breaks of its own, so it is one line of data."""
    return b"event: %s\ndata: %s\n\n" % (name.encode(), _encode(value))


def number(value: float) -> float | None:
    """Short, and nothing where there is none."""
    return None if math.isnan(value) else round(value, 4)
