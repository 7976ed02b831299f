"""Promises of a server that count when its copies have them: many wait together, because a wait holds up all others."""

import asyncio
from collections.abc import Callable, Sequence
from functools import partial

from rockdove.core.errors import StoreError
from rockdove.store.redis.connection import Connection, Reply, Word

# Milliseconds that copies have to get a change; and when it is known that there are too few of them.
PATIENCE_MS = 500
SHORT_MS = 1

# Is told what the server said, and how many copies have it; or why nobody knows that.
Copied = Callable[[Reply, Reply], None]


class Copies:
    """Of one connection. ``is_short``: whether too few copies follow, as far as is known.

    For the event loop's thread.
    """

    def __init__(
        self, connection: Connection, loop: asyncio.AbstractEventLoop, number: int, is_short: Callable[[], bool]
    ) -> None:
        self._connection = connection
        self._loop = loop
        self._number = number
        self._is_short = is_short
        # Since the last wait was sent.
        self._fresh: list[_Promise] = []
        self._is_waiting = False

    def call(self, words: Sequence[Word], done: Copied) -> None:
        promise = _Promise(done)
        self._connection.call(words, promise.answered)
        self._fresh.append(promise)
        if not self._is_waiting:
            self._is_waiting = True
            self._loop.call_soon(self._wait)

    def _wait(self) -> None:
        some, self._fresh = self._fresh, []
        if not self._connection.is_open:
            # Each was told so when the connection was lost.
            for promise in some:
                self._copied(promise, promise.reply)
            return
        patience_ms = SHORT_MS if self._is_short() else PATIENCE_MS
        self._connection.call(("WAIT", self._number, patience_ms), partial(self._waited, some))

    def _waited(self, some: "list[_Promise]", reply: Reply) -> None:
        if isinstance(reply, StoreError):
            # The connection is lost: that holds for all.
            some, self._fresh = some + self._fresh, []
        for promise in some:
            self._copied(promise, reply)
        if self._fresh:
            self._wait()
        else:
            self._is_waiting = False

    def _copied(self, promise: "_Promise", reply: Reply) -> None:
        try:
            promise.copied(reply)
        except Exception as error:
            # What one caller does with its answer harms nobody else.
            context = {"message": "an answer of a Redis server could not be used", "exception": error}
            self._loop.call_exception_handler(context)


class _Promise:
    def __init__(self, done: Copied) -> None:
        self._done = done
        self.reply: Reply = None

    def answered(self, reply: Reply) -> None:
        self.reply = reply

    def copied(self, reply: Reply) -> None:
        self._done(self.reply, reply)
