"""One connection to a Redis server: calls go out together, and their answers come back in the same order.

A client library would make a task, or a lock, of each call; here a call is a place in a line. See decision 91.
"""

import asyncio
import ssl
from collections import deque
from collections.abc import Callable, Sequence
from typing import Any, TypeAlias, cast

import hiredis

# What the server answers: bytes, a number, a list, None, or an error of type `hiredis.ReplyError`.
Reply: TypeAlias = Any
Answered: TypeAlias = Callable[[Reply], None]
Word: TypeAlias = str | bytes | int | float


class Connection(asyncio.Protocol):
    """``pushed`` is told what the server says unasked, ``lost`` that the connection has ended, and what was pending."""

    def __init__(
        self, pushed: Callable[[list[Any]], None], lost: Callable[["Connection", list[Answered]], None]
    ) -> None:
        self._loop = asyncio.get_running_loop()
        self._pushed = pushed
        self._lost = lost
        self._reader = hiredis.Reader()
        self._transport: asyncio.Transport | None = None
        # Who waits for an answer, and since when by the loop's clock.
        self._pending: deque[tuple[Answered, float]] = deque()
        self._out: list[bytes] = []
        self.is_open = False
        # When something was heard last.
        self.heard_s = self._loop.time()

    def connection_made(self, transport: asyncio.BaseTransport) -> None:
        # uvloop's transports do not derive from asyncio's.
        self._transport = cast(asyncio.Transport, transport)
        self.is_open = True

    def connection_lost(self, error: Exception | None) -> None:
        self.is_open = False
        pending = [answered for answered, _ in self._pending]
        self._pending.clear()
        self._out.clear()
        self._lost(self, pending)

    def data_received(self, data: bytes) -> None:
        self.heard_s = self._loop.time()
        self._reader.feed(data)
        while True:
            try:
                reply = self._reader.gets()
            except hiredis.ProtocolError:
                self.abort()
                return
            if reply is False:
                return
            is_push = isinstance(reply, hiredis.PushNotification)
            if not is_push and not self._pending:
                # It says more than was asked.
                self.abort()
                return
            told = self._pushed if is_push else self._pending.popleft()[0]
            try:
                told(reply)
            except Exception as error:
                # What one caller does with its answer harms nobody else.
                context = {"message": "an answer of a Redis server could not be used", "exception": error}
                self._loop.call_exception_handler(context)

    def call(self, words: Sequence[Word], answered: Answered) -> None:
        """Nothing may be called on a connection that is not open."""
        self._pending.append((answered, self._loop.time()))
        self.say(words)

    def say(self, words: Sequence[Word]) -> None:
        """The same without an answer: what is answered comes as a push."""
        if not self._out:
            self._loop.call_soon(self._flush)
        self._out.append(hiredis.pack_command(cast(tuple[Word], tuple(words))))

    def _flush(self) -> None:
        if self._out and self._transport is not None:
            self._transport.write(b"".join(self._out))
            self._out.clear()

    @property
    def silent_since_s(self) -> float | None:
        """Since when nothing was heard, though an answer is due; None: none is. A long answer is heard as it comes."""
        return max(self._pending[0][1], self.heard_s) if self._pending else None

    def abort(self) -> None:
        if self._transport is not None:
            self._transport.abort()

    def close(self) -> None:
        """What was said is sent first; its answers are not waited for."""
        self._flush()
        if self._transport is not None:
            self._transport.close()


async def connect(
    host: str,
    port: int,
    pushed: Callable[[list[Any]], None],
    lost: Callable[[Connection, list[Answered]], None],
    tls: ssl.SSLContext | None = None,
) -> Connection:
    """Raises OSError."""
    loop = asyncio.get_running_loop()
    _, connection = await loop.create_connection(lambda: Connection(pushed, lost), host, port, ssl=tls)
    return connection
