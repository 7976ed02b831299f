"""The requests that a client has sent ahead of their turn, and how far ahead it may send."""

import asyncio
from collections import deque
from collections.abc import Callable

from rockdove.server.outlet import IDLE, Outlet

# Bytes that a client may send ahead of the request being served; past that, reading pauses.
MAX_AHEAD_BYTES = 256 * 1024
# What a header takes of the memory besides its own bytes.
HEADER_BYTES = 160


class Pipeline:
    """What is to be done after the request being served, in order."""

    __slots__ = ("_most", "_outlet", "_paused", "ahead", "bytes")

    def __init__(self, outlet: Outlet, most: int) -> None:
        """``most``: requests ahead, at which reading pauses."""
        self._outlet = outlet
        self._most = most
        # How many bytes are held by what is to be done.
        self.ahead: deque[tuple[int, Callable[[], None]]] = deque()
        self.bytes = 0
        # Whether `_read_on` is to come. It is independent of what is being served.
        self._paused = False

    def is_free(self) -> bool:
        """Whether a request that comes now is served at once."""
        return self._outlet.state is IDLE and not (self._outlet.congested or self.ahead)

    def put(self, number: int, serve: Callable[[], None]) -> None:
        """For later: a request that holds so many bytes."""
        self.ahead.append((number, serve))
        self.bytes += number

    def in_turn(self, act: Callable[[], None]) -> None:
        """After all that came before, if need be at once."""
        if self._outlet.state is IDLE and not self.ahead:
            act()
        else:
            self.ahead.append((0, act))

    def clear(self) -> None:
        self.ahead.clear()
        self.bytes = 0

    def go_on(self) -> None:
        """Not at once: the client that sends ahead without end must not keep the others waiting."""
        asyncio.get_running_loop().call_soon(self.serve_next)

    def serve_next(self) -> None:
        if self._outlet.state is not IDLE or self._outlet.congested or not self.ahead:
            return
        number, serve = self.ahead.popleft()
        self.bytes -= number
        serve()

    # Reading.

    def pause(self, unfinished_bytes: int) -> None:
        """Read no further if the client has sent enough ahead."""
        transport = self._outlet.transport
        if transport is None or self._paused:
            return
        if len(self.ahead) >= self._most or self.bytes + unfinished_bytes > MAX_AHEAD_BYTES:
            self._paused = True
            transport.pause_reading()
            # Comes after all that was read: half a request would not be served, and so reading not go on.
            self.ahead.append((0, self._read_on))

    def _read_on(self) -> None:
        self._paused = False
        if self._outlet.transport is not None:
            self._outlet.transport.resume_reading()
        self.serve_next()


def held_bytes(url: bytes, headers: dict[bytes, bytes], body: bytes) -> int:
    """About what a request takes of the memory."""
    names, values = sum(map(len, headers)), sum(map(len, headers.values()))
    return len(url) + len(body) + names + values + HEADER_BYTES * len(headers)
