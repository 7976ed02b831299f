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

    __slots__ = ("_goes_on", "_most", "_outlet", "ahead", "bytes", "is_paused", "on_room")

    def __init__(self, outlet: Outlet, most: int) -> None:
        """``most``: requests ahead, at which reading pauses."""
        self._outlet = outlet
        self._most = most
        # How many bytes are held by what is to be done.
        self.ahead: deque[tuple[int, Callable[[], None]]] = deque()
        self.bytes = 0
        # Whether `serve_next` is to come by itself.
        self._goes_on = False
        # Whether `_read_on` is to come. It is independent of what is being served.
        self.is_paused = False
        # Called when reading goes on.
        self.on_room: Callable[[], None] | None = None

    def is_free(self) -> bool:
        """Whether a request that comes now is served at once."""
        return self._outlet.state is IDLE and not (self._outlet.congested or self.ahead)

    def put(self, number: int, serve: Callable[[], None]) -> None:
        """For later: a request that holds so many bytes."""
        self.ahead.append((number, serve))
        self.bytes += number

    def put_first(self, number: int, serve: Callable[[], None]) -> None:
        """The same for one whose turn it was."""
        self.ahead.appendleft((number, serve))
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
        """Not at once, and once in a round: who sends ahead without end must not keep the others waiting."""
        if not self._goes_on:
            self._goes_on = True
            asyncio.get_running_loop().call_soon(self._next)

    def _next(self) -> None:
        self._goes_on = False
        self.serve_next()

    def serve_next(self) -> None:
        if self._outlet.state is not IDLE or self._outlet.congested or not self.ahead:
            return
        number, serve = self.ahead.popleft()
        self.bytes -= number
        serve()

    # Reading.

    def pause(self, unfinished_bytes: int) -> None:
        """Read no further if the client has sent enough ahead."""
        if len(self.ahead) >= self._most or self.bytes + unfinished_bytes > MAX_AHEAD_BYTES:
            self._pause()

    def wait(self) -> None:
        """Read no further until `serve_next` is called."""
        self._pause()

    def rest(self) -> None:
        """Read no further until others have had a turn, and what was sent ahead is served."""
        self._pause()
        self.go_on()

    def _pause(self) -> None:
        transport = self._outlet.transport
        if transport is None or self.is_paused:
            return
        self.is_paused = True
        transport.pause_reading()
        # Comes after all that was read: half a request would not be served, and so reading not go on.
        self.ahead.append((0, self._read_on))

    def _read_on(self) -> None:
        self.is_paused = False
        if self.on_room is not None:
            self.on_room()
        if self.is_paused:
            self.go_on()
            return
        if self._outlet.transport is not None:
            self._outlet.transport.resume_reading()
        self.serve_next()


def held_bytes(url: bytes, headers: dict[bytes, bytes], body: bytes) -> int:
    """About what a request takes of the memory."""
    names, values = sum(map(len, headers)), sum(map(len, headers.values()))
    return len(url) + len(body) + names + values + HEADER_BYTES * len(headers)
