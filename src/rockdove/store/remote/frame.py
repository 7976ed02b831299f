"""Frames: lists of messages, with their length before them, over a Unix socket.

The socket is read and written here, and not through a transport of the event loop's: that would hold back what is said
until all that has come in is dealt with. Said at once, the other process begins while this one goes on.
"""

import asyncio
import socket
from abc import abstractmethod
from collections.abc import Sequence
from typing import Any

import msgspec

_LENGTH_BYTES = 4
# So many messages are worth a frame of their own; fewer wait for the end of this round of the loop.
ENOUGH = 16
# About what a frame has at most, unless a single message is larger.
FRAME_BYTES = 1024 * 1024
# Messages that may wait for the other process to read what was said before.
MOST_WAITING = 100_000
# Bytes read at a time.
_READ_BYTES = 256 * 1024

_encoder = msgspec.msgpack.Encoder()


class Framed:
    """A connection over which lists of messages go both ways. For the thread of the running event loop."""

    def __init__(self, sock: socket.socket, decoder: "msgspec.msgpack.Decoder[list[Any]]") -> None:
        self._decode = decoder.decode
        self._loop = asyncio.get_running_loop()
        self._socket: socket.socket | None = sock
        self._room = memoryview(bytearray(_READ_BYTES))
        self._in = bytearray()
        self._out: list[Any] = []
        # Of those that are large: how many bytes, by their identity.
        self._large: dict[int, int] = {}
        # How many requests are in the frame that is being collected, and which of its messages may still grow.
        self._number = 0
        self.growing: dict[Any, Any] = {}
        # What the socket has not taken yet of the last frame. Until it has, messages wait as they are: a frame would be
        # a copy of all they carry.
        self._unsent = memoryview(b"")
        # How many messages fill a frame, to judge by the last one.
        self._fill = MOST_WAITING
        self._is_closing = False
        # The other process does not read any more.
        self._is_deaf = False
        sock.setblocking(False)
        self._loop.add_reader(sock, self._read)

    @property
    def is_open(self) -> bool:
        return self._socket is not None

    # What is said.

    def send(self, message: Any, large_bytes: int = 0) -> None:
        """``large_bytes``: about what it has, if that is much."""
        out = self._out
        if large_bytes:
            self._large[id(message)] = large_bytes
        if not out:
            self._loop.call_soon(self._flush)
        out.append(message)
        self.count_request()

    def count_request(self) -> None:
        """A message was said, or one of those in `growing` has grown."""
        self._number += 1
        if self._number >= ENOUGH:
            self._flush()

    def _flush(self) -> None:
        if self._socket is None or self._is_deaf:
            # Nobody hears it.
            self._out.clear()
            self._large.clear()
            return
        if self._unsent:
            if len(self._out) > MOST_WAITING:
                # The other process stands still. It begins anew when it goes on.
                self._end()
            return
        while self._out and not self._unsent and self._socket is not None and not self._is_deaf:
            self._say_next()

    def _say_next(self) -> None:
        number = self._fitting() if self._large else self._fill
        messages = self._out[:number]
        # Cut, not replaced: whoever sends next must not ask for another flush while one is to come.
        del self._out[:number]
        self._number = len(self._out)
        self.growing.clear()
        unsayable: list[tuple[Any, Exception]] = []
        try:
            body = _encoder.encode(messages)
        except Exception:
            body, unsayable = _encode_each(messages)
        self._fill = max(FRAME_BYTES * len(messages) // len(body), 1)
        self._write(memoryview(len(body).to_bytes(_LENGTH_BYTES, "little") + body))
        for message, error in unsayable:
            self.unsaid(message, error)

    def _fitting(self) -> int:
        """How many messages go into the next frame: at least one."""
        size = 0
        for at, message in enumerate(self._out[: self._fill]):
            size += self._large.get(id(message), 0)
            if at and size > FRAME_BYTES:
                return at
            self._large.pop(id(message), None)
        return self._fill

    def _write(self, frame: memoryview) -> None:
        sock = self._socket
        if sock is None:
            return
        is_first = not self._unsent
        try:
            taken = sock.send(frame)
        except (BlockingIOError, InterruptedError):
            taken = 0
        except OSError:
            # Nobody reads any more. What was said before that is still to be heard: `_read` finds the end.
            self._is_deaf = True
            self._unsent = memoryview(b"")
            self._loop.remove_writer(sock)
            return
        self._unsent = frame[taken:]
        if is_first and self._unsent:
            self._loop.add_writer(sock, self._write_on)

    def _write_on(self) -> None:
        sock = self._socket
        if sock is None:
            return
        self._write(self._unsent)
        if self._unsent or self._is_deaf:
            return
        self._flush()
        if not self._unsent and self._socket is not None:
            self._loop.remove_writer(sock)
            if self._is_closing:
                self._end()

    # What is heard.

    def _read(self) -> None:
        sock = self._socket
        if sock is None:
            return
        try:
            number = sock.recv_into(self._room)
        except (BlockingIOError, InterruptedError):
            return
        except OSError:
            number = 0
        if number:
            self._in += self._room[:number]
            self._take_frames()
        else:
            self._end()

    def _take_frames(self) -> None:
        start, end = 0, len(self._in)
        try:
            with memoryview(self._in) as buffer:
                while end - start >= _LENGTH_BYTES and self._socket is not None:
                    size = int.from_bytes(buffer[start : start + _LENGTH_BYTES], "little")
                    if end - start - _LENGTH_BYTES < size:
                        break
                    start += _LENGTH_BYTES
                    self.received(self._decode(buffer[start : start + size]))
                    start += size
        except Exception as error:
            # Both sides are of one program: that is a defect. A new connection begins with a clean slate.
            context = {"message": "a frame between processes cannot be read", "exception": error}
            self._loop.call_exception_handler(context)
            self._end()
            return
        del self._in[:start]

    # The end.

    def close(self) -> None:
        """Hang up when all is said."""
        self._flush()
        self._is_closing = True
        if not self._unsent:
            self._end()

    def hang_up(self) -> None:
        self._end()

    def _end(self) -> None:
        sock, self._socket = self._socket, None
        if sock is not None:
            self._loop.remove_reader(sock)
            self._loop.remove_writer(sock)
            sock.close()
            self._out.clear()
            self._large.clear()
            self.growing.clear()
            self._unsent = memoryview(b"")
            self.lost()

    @abstractmethod
    def received(self, messages: Sequence[Any]) -> None:
        """What the other side has said."""

    @abstractmethod
    def unsaid(self, message: Any, error: Exception) -> None:
        """A message cannot be put into a frame, which is a defect: whoever waits for its outcome has to be told."""

    @abstractmethod
    def lost(self) -> None:
        """The connection is no more."""


def _encode_each(messages: Sequence[Any]) -> tuple[bytes, list[tuple[Any, Exception]]]:
    """Those that can be said, and those that cannot, with the reasons."""
    sayable: list[Any] = []
    unsayable: list[tuple[Any, Exception]] = []
    for message in messages:
        try:
            _encoder.encode(message)
            sayable.append(message)
        except Exception as error:
            unsayable.append((message, error))
    return _encoder.encode(sayable), unsayable
