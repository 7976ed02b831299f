"""Lines of a file or a pipe, given out as soon as they have come."""

import os
from collections.abc import Iterator

from rockdove.cli.failure import Failure
from rockdove.core.limits import MAX_MESSAGE_BYTES

_CHUNK_BYTES = 256 * 1024


def lines(descriptor: int) -> Iterator[list[str]]:
    """The lines that have come together, without their ends. A slow writer's lines are not kept waiting for more.

    Raises `Failure` for what cannot be a message: no UTF-8, or too long.
    """
    number = 0
    rest = b""
    while chunk := os.read(descriptor, _CHUNK_BYTES):
        *whole, rest = (rest + chunk).split(b"\n")
        if len(rest) > MAX_MESSAGE_BYTES:
            raise Failure(
                f"line {number + len(whole) + 1} is longer than a message may be ({MAX_MESSAGE_BYTES:,} bytes)"
            )
        if whole:
            yield [_text(line, number + place) for place, line in enumerate(whole, 1)]
            number += len(whole)
    if rest:
        yield [_text(rest, number + 1)]


def _text(line: bytes, number: int) -> str:
    try:
        return line.removesuffix(b"\r").decode()
    except UnicodeDecodeError:
        raise Failure(f"line {number} is not UTF-8 text; send such data in base64") from None
