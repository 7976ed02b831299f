"""Frames: all that one round of the event loop has to say goes out as one, with its length before it."""

import asyncio
from abc import abstractmethod
from collections.abc import Sequence
from typing import Any, cast

import msgspec

_LENGTH_BYTES = 4
# What one frame may have: more than any request brings, and than any answer takes.
MOST_BYTES = 1 << 30

_encoder = msgspec.msgpack.Encoder()


class Framed(asyncio.Protocol):
    """A connection over which lists of messages go both ways."""

    def __init__(self, decoder: "msgspec.msgpack.Decoder[list[Any]]") -> None:
        self._decode = decoder.decode
        self._loop = asyncio.get_running_loop()
        self._transport: asyncio.Transport | None = None
        self._in = bytearray()
        self._out: list[Any] = []

    @property
    def is_open(self) -> bool:
        return self._transport is not None

    def connection_made(self, transport: asyncio.BaseTransport) -> None:
        # uvloop's transports do not derive from asyncio's.
        self._transport = cast(asyncio.Transport, transport)

    def connection_lost(self, exc: Exception | None) -> None:
        self._transport = None
        self._out = []
        self.lost()

    def send(self, message: Any) -> None:
        """Say something at the end of this round of the loop."""
        if not self._out:
            self._loop.call_soon(self._flush)
        self._out.append(message)

    def _flush(self) -> None:
        out, self._out = self._out, []
        if out and self._transport is not None:
            body = _encoder.encode(out)
            self._transport.write(len(body).to_bytes(_LENGTH_BYTES, "little") + body)

    def data_received(self, data: bytes) -> None:
        buffer: bytes | bytearray = data
        if self._in:
            self._in += data
            buffer = self._in
        start, end = 0, len(buffer)
        while end - start >= _LENGTH_BYTES:
            size = int.from_bytes(buffer[start : start + _LENGTH_BYTES], "little")
            if size > MOST_BYTES:
                self.hang_up()
                return
            if end - start - _LENGTH_BYTES < size:
                break
            start += _LENGTH_BYTES
            # Copied: what was decoded must not hold the buffer.
            self.received(self._decode(bytes(buffer[start : start + size])))
            start += size
        if buffer is data:
            self._in += data[start:]
        else:
            del self._in[:start]

    def close(self) -> None:
        """Hang up when all is said."""
        self._flush()
        if self._transport is not None:
            self._transport.close()

    def hang_up(self) -> None:
        if self._transport is not None:
            self._transport.abort()

    @abstractmethod
    def received(self, messages: Sequence[Any]) -> None:
        """What the other side has said."""

    @abstractmethod
    def lost(self) -> None:
        """The connection is no more."""
