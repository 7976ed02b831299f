"""What goes between a recorder and its process: batches of events one way, news the other."""

import os
import select
import struct
from collections.abc import Iterator, Sequence

import msgspec

from rockdove.trace.writer import Row

# Before each batch of events: how many bytes it has.
HEAD = struct.Struct("<I")
_READ_BYTES = 1 << 20


class News(msgspec.Struct):
    """How it goes: events in complete files, events lost, both since the start, and why."""

    written: int = 0
    dropped: int = 0
    trouble: str | None = None


def pack(rows: Sequence[Row]) -> bytes:
    """Raises TypeError for what no column can hold."""
    body = msgspec.msgpack.encode(rows)
    return HEAD.pack(len(body)) + body


class Input:
    """Batches from a pipe."""

    def __init__(self, file: int) -> None:
        self._file = file
        self._read = bytearray()
        self.ended = False

    def batches(self, wait_s: float) -> Iterator[Sequence[Row]]:
        """Those that have come, or come within a time."""
        if select.select([self._file], [], [], wait_s)[0]:
            part = os.read(self._file, _READ_BYTES)
            self.ended = not part
            self._read += part
        while (batch := self._next()) is not None:
            yield batch

    def _next(self) -> Sequence[Row] | None:
        if len(self._read) < HEAD.size:
            return None
        end = HEAD.size + HEAD.unpack_from(self._read)[0]
        if len(self._read) < end:
            return None
        rows = msgspec.msgpack.decode(self._read[HEAD.size : end], type=list[Row])
        del self._read[:end]
        return rows
