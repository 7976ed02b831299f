"""The writing side of a connection: how far its life is, and what still reaches the client."""

import asyncio
import select
from collections import deque
from collections.abc import Callable
from enum import IntEnum

# Seconds for which a refused client may still send before the connection is closed.
LINGER_S = 1.0
# Larger answers are written in pieces.
PIECE_BYTES = 256 * 1024
# TLS hands on what it is given at once, and what is handed on does not count. So it is given little at a time, and the
# next when the client has read: about 64 KiB are on their way then.
TLS_PIECE_BYTES = 16 * 1024
# What a client may leave unread without being taken for slow.
UNREAD_BYTES = 4 * 1024
# What TLS may have read of a client that is not listened to.
TLS_AHEAD_BYTES = 16 * 1024
_REASONS = {
    200: b"OK",
    201: b"Created",
    400: b"Bad Request",
    401: b"Unauthorized",
    403: b"Forbidden",
    404: b"Not Found",
    405: b"Method Not Allowed",
    408: b"Request Timeout",
    409: b"Conflict",
    413: b"Payload Too Large",
    415: b"Unsupported Media Type",
    429: b"Too Many Requests",
    431: b"Request Header Fields Too Large",
    500: b"Internal Server Error",
    503: b"Service Unavailable",
}


class State(IntEnum):
    """How far the life of a connection is: from `STOPPING` on nothing is read, from `CLOSING` on nothing is written."""

    # No request is being served.
    IDLE = 0
    # One is, and others may follow.
    SERVING = 1
    # One is, and its answer is the last.
    LAST = 2
    # One is, and its answer is the last because the service stops.
    STOPPING = 3
    # The last answer is written, or there is nobody who could read it.
    CLOSING = 4
    CLOSED = 5


# By these names they cost no look into the class, which every request would pay for.
IDLE, SERVING, LAST, STOPPING, CLOSING, CLOSED = State


class Outlet:
    """What the parts of a connection share: its state, and the way to its client."""

    __slots__ = (
        "_ends",
        "_is_tls",
        "_rest",
        "_rest_bytes",
        "congested",
        "deaf",
        "goes_on",
        "on_unread",
        "since_s",
        "state",
        "transport",
        "untaken",
    )

    def __init__(self) -> None:
        self.transport: asyncio.Transport | None = None
        self.state = IDLE
        # The client does not read. It may stop to read in any state.
        self.congested = False
        # Called when there is more that a slow client has not read.
        self.on_unread: Callable[[], None] | None = None
        # Called when the client has taken its answers, or has gone.
        self.untaken: list[Callable[[], None]] = []
        # The client was refused, and what it still sends is not read. Answers to what it had sent before may be due.
        self.deaf = False
        # Since when the client has to read, by the loop's clock.
        self.since_s = 0.0
        self._is_tls = False
        # What TLS was not given yet, and whether the connection ends when it was.
        self._rest: deque[bytes | memoryview] = deque()
        self._rest_bytes = 0
        self._ends = False
        # It is given some more, because the client has read some.
        self.goes_on = False

    def open(self, transport: asyncio.Transport) -> None:
        self.transport = transport
        self._is_tls = transport.get_extra_info("sslcontext") is not None
        limit = getattr(transport, "set_read_buffer_limits", None)
        if limit is not None:
            # Of TLS: what it reads on when we do not, nobody counts.
            limit(high=TLS_AHEAD_BYTES)
        # Whoever leaves more unread is slow, and what he has not read counts.
        transport.set_write_buffer_limits(high=UNREAD_BYTES)
        self.begin_to_wait()

    def begin_to_wait(self) -> None:
        """It is for the client to read, or to leave."""
        self.since_s = asyncio.get_running_loop().time()

    # What is written.

    def send(self, data: bytes | memoryview) -> None:
        """The only place that writes, and that decides whether anybody can still get it. If not, it is dropped."""
        transport = self.transport
        # To compare costs more than to look whether it is the same.
        if self.state is not SERVING and self.state >= CLOSING:
            return
        if transport is None or transport.is_closing():
            self.state = CLOSING
            return
        if self._is_tls and (self._rest or len(data) > TLS_PIECE_BYTES):
            self._rest.extend(data[at : at + TLS_PIECE_BYTES] for at in range(0, len(data), TLS_PIECE_BYTES))
            self._rest_bytes += len(data)
            self._write_rest(transport)
        else:
            self._write(transport, data)

    def _write(self, transport: asyncio.Transport, data: bytes | memoryview) -> None:
        try:
            transport.write(data)
        except RuntimeError:
            # A transport that was closed before it could tell us, or that says it is not closing although it is closed.
            self.state = CLOSING
            self._drop_rest()

    def _write_rest(self, transport: asyncio.Transport) -> None:
        while self._rest and not self.congested:
            piece = self._rest.popleft()
            self._rest_bytes -= len(piece)
            self._write(transport, piece)
        if self._ends and not self._rest:
            transport.close()

    def _drop_rest(self) -> None:
        self._rest.clear()
        self._rest_bytes = 0

    def go_on(self) -> bool:
        """The client has read what was written; whether it has all of its answers."""
        self.congested = False
        if self._rest and self.transport is not None:
            self.goes_on = True
            try:
                self._write_rest(self.transport)
            finally:
                self.goes_on = False
        return not self.congested

    def is_open(self) -> bool:
        """Whether the client can still get something: to write nothing is to ask for it."""
        self.send(b"")
        return self.state < CLOSING

    def reply(self, status: int, kind: bytes, body: bytes | memoryview, extra: bytes, head_only: bool) -> None:
        """Answer the request being served, and hang up if that was the last answer.

        A view is of what several get, and is not copied for each.
        """
        head = b"HTTP/1.1 %d %b\r\nContent-Type: %b\r\n%b%bContent-Length: %d\r\n\r\n" % (
            status,
            _REASONS.get(status, b"Error"),
            kind,
            extra,
            b"" if self.state is SERVING else b"Connection: close\r\n",
            len(body),
        )
        if head_only or len(body) <= PIECE_BYTES:
            self.send(head if head_only else head + body)
        else:
            self.send(head)
            # Of bytes, copies: what the client has taken is let go piece by piece.
            for start in range(0, len(body), PIECE_BYTES):
                self.send(body[start : start + PIECE_BYTES])
        if self.congested and self.on_unread is not None:
            # It was congested by the first piece, and the others came on top of that.
            self.on_unread()
        if self.state is SERVING:
            self.state = IDLE
        elif self.state < CLOSING:
            self._hang_up()

    # How it ends.

    def _hang_up(self) -> None:
        if self.deaf and self.transport is not None:
            self._hang_up_gently(self.transport)
        else:
            self.close()

    def _hang_up_gently(self, transport: asyncio.Transport) -> None:
        """To close while the client still sends would reset the connection, and take the answer away from it."""
        self._end()
        if transport.can_write_eof():
            transport.write_eof()
        asyncio.get_running_loop().call_later(LINGER_S, self._finish)

    def close(self) -> None:
        """Once the client has read what was written."""
        self._end()
        self._finish()

    def _finish(self) -> None:
        if self._rest:
            self._ends = True
        elif self.transport is not None:
            self.transport.close()

    def cut_off(self) -> None:
        self._end()
        self._drop_rest()
        if self.transport is not None:
            self.transport.abort()

    def _end(self) -> None:
        if self.state < CLOSING:
            self.state = CLOSING
            self.begin_to_wait()

    def lost(self) -> None:
        self.state = CLOSED
        self.transport = self.on_unread = None
        self._drop_rest()

    # What is known of the client.

    def is_heard(self) -> bool:
        """Whether what it sends is still read."""
        return not self.deaf and self.state < STOPPING

    def is_closing(self) -> bool:
        """Whether the client has to read what is left, and nothing more will come."""
        return self._ends or (self.transport is not None and self.transport.is_closing())

    def be_taken(self) -> None:
        """The client has taken its answers, or has gone."""
        untaken, self.untaken = self.untaken, []
        for then in untaken:
            then()

    def unread_bytes(self) -> int:
        """What the client has not read, if it is slow."""
        if not self.congested or self.transport is None:
            return 0
        return self.transport.get_write_buffer_size() + self._rest_bytes

    def has_farewell(self) -> bool:
        """Whether the client has hung up, which was not read yet. Then what it sent ahead ends, too."""
        if self.transport is None:
            return True
        poll = select.poll()
        poll.register(self.transport.get_extra_info("socket").fileno(), select.POLLRDHUP)
        gone = bool(poll.poll(0))
        if gone:
            # Nothing else would end it.
            self.close()
        return gone

    def peer(self) -> str:
        """The address that the connection comes from."""
        name = None if self.transport is None else self.transport.get_extra_info("peername")
        return str(name[0]) if name else ""
