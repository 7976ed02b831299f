"""One Redis server: connected again and again, told from a dead one within a second, and asked by function calls."""

import asyncio
import contextlib
import logging
import re
from collections import deque
from collections.abc import Awaitable, Callable
from functools import partial
from typing import Any, TypeAlias

import hiredis

from rockdove.core.errors import QueueAway, StoreError, StoreFull, StoreInterrupted
from rockdove.store.base import Done, OverQuota
from rockdove.store.common.gone import gone
from rockdove.store.common.outcome import outcome_of
from rockdove.store.redis.address import Address, Endpoint
from rockdove.store.redis.connection import Answered, Connection, Reply, Word, connect
from rockdove.store.redis.copies import Copies
from rockdove.store.redis.library import CODE, NAME
from rockdove.store.redis.silence import LOOK_S, PATIENCE_S, Silence

# Seconds before the next try to reach a server that is not there.
AGAIN_S = 0.1
SOON_S = 0.01
# Seconds without a refusal after which the next one is told again.
REFUSED_S = 60.0
# A key of no meaning, written to see whether a server that has refused changes takes them again.
PROBE = "rd:probe"
# A copy that follows, and has said so a moment ago.
_FOLLOWS = re.compile(rb"state=online,.*lag=[01]\b")
# Functions that add a message, or decide something: what they do counts when copies have it. Of the rest, what is lost
# with a server has not happened: a message is received again, and nothing is lost.
PROMISES = frozenset(
    (
        "rd_accept",
        "rd_append",
        "rd_begin",
        "rd_commit",
        "rd_decide",
        "rd_install",
        "rd_land",
        "rd_landed",
        "rd_lease_claim",
        "rd_lease_end",
        "rd_lease_make",
        "rd_mark",
        "rd_plan",
        "rd_prepare",
        "rd_reserve",
        "rd_send_off",
        "rd_set_aside",
        "rd_settle",
        "rd_stage",
        "rd_transfer",
    )
)

log = logging.getLogger("rockdove")


# Asks a command of a server; raises `StoreError`.
Ask: TypeAlias = Callable[..., Awaitable[Any]]


class ServerAway(QueueAway):
    """The server cannot be reached: it was not asked."""


class ServerFull(QueueAway, StoreFull):
    """The server has no room: others may have."""


class Void(StoreError):
    """Somebody else has decided that this must not be sent any more."""


class Marked(StoreError):
    """Somebody else sends by the same key, and nobody knows yet what comes of it."""


class AlreadyThere(StoreError):
    """What was to land has landed before."""


class Server:
    """``joined`` is awaited with each new connection before anything else is asked, and ``is_back`` called when it can
    be. ``pushed`` hears what is published.

    For the event loop's thread.
    """

    def __init__(
        self,
        endpoint: Endpoint,
        address: Address,
        loop: asyncio.AbstractEventLoop,
        joined: Callable[["Server", Ask], Awaitable[None]],
        is_back: Callable[["Server"], None],
        pushed: Callable[["Server", bytes, bytes], None],
    ) -> None:
        self.endpoint = endpoint
        self._address = address
        self._joined = joined
        self._is_back = is_back
        self._pushed = pushed
        self._loop = loop
        self._connection: Connection | None = None
        # What is published comes on one of its own: Redis cuts off who listens if 32 MiB of answers wait for him.
        self._ears: Connection | None = None
        # Whoever looks after he has begun to listen must not miss what comes between the two: so calls wait until the
        # server has heard who listened by then. How often it was told who listens, how often it has heard that, and the
        # calls, each with how often it was told before.
        self._told_listeners = self._heard_listeners = 0
        self._waiting: deque[tuple[int, Connection, Done[Any], tuple[Word, ...], bool]] = deque()
        # Connected, but not yet `joined`.
        self._new: list[Connection] = []
        # Of the connection; None: nothing was promised on it yet.
        self._copies: Copies | None = None
        self._task: asyncio.Task[None] | None = None
        self._gone = asyncio.Event()
        self._channels: dict[str, None] = {}
        # Why it cannot be used, in words for the operator, and what of that was told.
        self.trouble: str | None = "it was not tried yet"
        self._told: str | None = None
        # Why what it promises does not count at the moment: too few copies follow it.
        self.short: str | None = None
        # Calls that change something, and those that failed.
        self.calls = 0
        self.failed = 0
        self._is_closing = False
        # When it last refused a change, and whether it still does, as far as is known.
        self._refused_s = -REFUSED_S
        self._refuses = False
        # Its place among the servers of the store, once that is known.
        self.slot = -1
        self.version = 0

    def __str__(self) -> str:
        return str(self.endpoint)

    @property
    def is_up(self) -> bool:
        return self._connection is not None

    @property
    def takes_messages(self) -> bool:
        return self.is_up and self.short is None and not self._refuses

    def start(self) -> None:
        self._task = self._loop.create_task(self._stay_connected())

    def close(self) -> None:
        self._is_closing = True
        if self._task is not None:
            self._task.cancel()
        for connection in (self._connection, self._ears, *self._new):
            if connection is not None:
                connection.close()

    # Calls.

    def call(self, done: Done[Any], function: str, key: str, *words: Word, changes: bool = True) -> None:
        """Call a function. With copies to wait for, what it promises counts when they have it."""
        self.call_on(done, function, (key,), *words, changes=changes)

    def call_on(
        self, done: Done[Any], function: str, keys: tuple[str, ...], *words: Word, changes: bool = True
    ) -> None:
        """The same with several keys."""
        connection = self._connection
        if connection is None:
            self._loop.call_soon(done, self.away())
            return
        self.calls += changes
        told = ("FCALL", function, len(keys), *keys, *words)
        is_promise = self._address.replicas > 0 and function in PROMISES
        if is_promise and self.short is not None:
            # It was not asked: others may do it.
            self._loop.call_soon(done, ServerAway(f"the Redis server {self}: {self.short}"))
            return
        self._call(connection, done, told, is_promise)

    def command(self, done: Done[Any], *words: Word) -> None:
        connection = self._connection
        if connection is None:
            self._loop.call_soon(done, self.away())
        else:
            self._call(connection, done, words)

    def _call(self, connection: Connection, done: Done[Any], words: tuple[Word, ...], is_copied: bool = False) -> None:
        if connection is self._connection and self._heard_listeners < self._told_listeners:
            self._waiting.append((self._told_listeners, connection, done, words, is_copied))
        else:
            self._send(connection, done, words, is_copied)

    def _send(self, connection: Connection, done: Done[Any], words: tuple[Word, ...], is_copied: bool) -> None:
        if not is_copied:
            connection.call(words, partial(self._answered, done))
            return

        def copied(first: Reply, reply: Reply) -> None:
            if isinstance(first, Exception) or isinstance(reply, StoreError):
                self._answered(done, reply if isinstance(reply, StoreError) else first)
            elif not isinstance(reply, int):
                self.failed += 1
                done(StoreInterrupted(f"the Redis server {self} does not tell whether copies have it: {reply}"))
            elif reply >= self._address.replicas:
                self._answered(done, first)
            else:
                self._be_short(reply)
                done(StoreInterrupted(f"the Redis server {self}: {self.short}"))

        if self._copies is None:
            self._copies = Copies(connection, self._loop, self._address.replicas, lambda: self.short is not None)
        self._copies.call(words, copied)

    def _answered(self, done: Done[Any], reply: Reply) -> None:
        done(self._error(reply) if isinstance(reply, hiredis.ReplyError) else reply)

    def _error(self, error: Exception) -> StoreError:
        text = str(error)
        match text.split(" ", 1)[0]:
            case "GONE":
                return gone()
            case "VOID":
                return Void(text)
            case "MARKED":
                return Marked(text)
            case "LANDED":
                return AlreadyThere(text)
            case "MANY":
                return OverQuota(text)
            case "NOAUTH":
                self.failed += 1
                return StoreError(f"the Redis server {self}: it wants a password: write redis://:PASSWORD@HOST:PORT")
            case "OOM":
                self._refuses = True
                return ServerFull(f"the Redis server {self} has used up its memory")
            case "READONLY" | "LOADING" | "MASTERDOWN" | "MISCONF" | "NOREPLICAS" | "BUSY":
                return self._refused(text)
        if "Function not found" in text:
            return self._begin_anew("its functions were removed")
        self.failed += 1
        return StoreError(f"the Redis server {self}: {text}")

    def _refused(self, text: str) -> ServerAway:
        """It was asked, and has done nothing: others may."""
        self.failed += 1
        self._refuses = True
        if self._loop.time() - self._refused_s > REFUSED_S:
            log.warning("the Redis server %s refuses changes: %s", self, text, extra={"event": "server-refuses"})
        self._refused_s = self._loop.time()
        return ServerAway(f"the Redis server {self}: {text}")

    def _begin_anew(self, why: str) -> ServerAway:
        """It was asked, and has done nothing. Connect again: that loads what it needs, or finds out that it cannot."""
        self.failed += 1
        self.trouble = why
        if self._connection is not None:
            self._connection.abort()
        return ServerAway(f"the Redis server {self}: {why}")

    def away(self) -> ServerAway:
        return ServerAway(f"the Redis server {self} cannot be reached: {self.trouble}")

    async def ask(self, function: str, key: str, *words: Word) -> Any:
        """Raises `StoreError`."""
        return await outcome_of(lambda done: self.call(done, function, key, *words))

    async def ask_command(self, *words: Word) -> Any:
        """Raises `StoreError`."""
        return await outcome_of(lambda done: self.command(done, *words))

    # Wake-ups.

    def listen(self, channel: str) -> None:
        if channel not in self._channels:
            self._channels[channel] = None
            if self._ears is not None:
                self._subscribe(self._ears, channel)

    def _subscribe(self, ears: Connection, *channels: str) -> None:
        for channel in channels:
            ears.say(("SUBSCRIBE", channel))
        self._told_listeners += 1
        # It is answered after them.
        ears.call(("PING",), partial(self._subscribed, ears))

    def _subscribed(self, ears: Connection, reply: Reply) -> None:
        if ears is not self._ears:
            return
        self._heard_listeners += 1
        while self._waiting and self._waiting[0][0] <= self._heard_listeners:
            _, connection, done, words, is_copied = self._waiting.popleft()
            self._send(connection, done, words, is_copied)

    def unlisten(self, channel: str) -> None:
        if channel in self._channels:
            del self._channels[channel]
            if self._ears is not None:
                self._ears.say(("UNSUBSCRIBE", channel))

    def _heard(self, notice: list[Any]) -> None:
        if notice[0] == b"message":
            self._pushed(self, notice[1], notice[2])

    # Connecting.

    async def _stay_connected(self) -> None:
        while True:
            self._gone.clear()
            try:
                await asyncio.wait_for(self._connect(), 4 * PATIENCE_S)
            except (OSError, TimeoutError, StoreError) as error:
                self._fail(error)
                # One that waits for others does not for long.
                await asyncio.sleep(SOON_S if isinstance(error, ServerAway) else AGAIN_S)
                continue
            await self._watch()

    def _fail(self, error: Exception) -> None:
        for connection in self._new:
            connection.abort()
        self._new.clear()
        if isinstance(error, TimeoutError):
            self.trouble = "it does not answer"
        elif isinstance(error, OSError):
            self.trouble = (error.strerror or str(error)).lower()
        else:
            self.trouble = str(error).removeprefix(f"the Redis server {self}: ")
        if not isinstance(error, ServerAway):
            # Not of one that waits for others.
            self._report()

    def _report(self) -> None:
        if self.trouble != self._told:
            self._told = self.trouble
            log.warning("the Redis server %s cannot be used: %s", self, self.trouble, extra={"event": "server-away"})

    async def _connect(self) -> None:
        connection = await self._reach()
        if self._address.database:
            await self._tell(connection, "SELECT", self._address.database)
        await self._load(connection)
        await self._joined(self, partial(self._tell, connection))
        await self._count_copies(connection)
        ears = await self._reach()
        if not (connection.is_open and ears.is_open):
            raise ServerAway("the connection was lost")
        self._connection, self._ears = connection, ears
        self._new.clear()
        self._copies = None
        self._told_listeners = self._heard_listeners = 0
        if self._channels:
            self._subscribe(ears, *self._channels)
        self.trouble = None
        if self._told is not None:
            self._told = None
            log.warning("the Redis server %s is back", self, extra={"event": "server-back"})
        self._is_back(self)

    async def _reach(self) -> Connection:
        connection = await connect(*self.endpoint, self._heard, self._lost)
        self._new.append(connection)
        address = self._address
        login = ("AUTH", address.user or "default", address.password) if address.password is not None else ()
        await self._tell(connection, "HELLO", 3, *login)
        return connection

    async def _count_copies(self, connection: Connection) -> None:
        """See whether enough copies follow it."""
        if self._address.replicas:
            with contextlib.suppress(StoreError):
                self._told_copies(await self._tell(connection, "INFO", "replication"))

    def _told_copies(self, told: Any) -> None:
        if not isinstance(told, bytes):
            return
        online = sum(_FOLLOWS.search(line) is not None for line in told.splitlines())
        if online >= self._address.replicas:
            if self.short is not None:
                log.warning("the Redis server %s has its copies again", self, extra={"event": "copies-back"})
            self.short = None
        else:
            self._be_short(online)

    def _told_probe(self, told: Any) -> None:
        self._refuses = isinstance(told, Exception)

    def _be_short(self, number: int) -> None:
        text = f"{number} of {self._address.replicas} copies follow it, so it takes no messages"
        if self.short is None:
            log.warning("the Redis server %s: %s", self, text, extra={"event": "copies-away"})
        self.short = text

    async def _load(self, connection: Connection) -> None:
        libraries = await self._tell(connection, "FUNCTION", "LIST", "LIBRARYNAME", NAME, "WITHCODE")
        if not any(CODE.encode() in library.values() for library in map(_fields, libraries)):
            await self._tell(connection, "FUNCTION", "LOAD", "REPLACE", CODE)

    async def _tell(self, connection: Connection, *words: Word) -> Any:
        return await outcome_of(lambda done: self._call(connection, done, words))

    async def _watch(self) -> None:
        """Until a connection is lost; a server that is silent for too long is given up."""
        connection, ears = self._connection, self._ears
        silence, deaf = Silence(self._loop.time()), Silence(self._loop.time())
        while connection is not None and ears is not None and connection.is_open and ears.is_open:
            since_s = connection.silent_since_s
            if since_s is None and self._refuses:
                connection.call(("SET", PROBE, "1"), self._told_probe)
            elif since_s is None and self.short is not None:
                connection.call(("INFO", "replication"), self._told_copies)
            elif since_s is None:
                connection.call(("PING",), lambda reply: None)
            now_s = self._loop.time()
            if ears.silent_since_s is None and now_s - ears.heard_s > PATIENCE_S:
                ears.call(("PING",), lambda reply: None)
            silent_s = silence.lasts(since_s, now_s)
            deaf_s = deaf.lasts(ears.silent_since_s, now_s)
            if max(silent_s, deaf_s) > PATIENCE_S:
                self.trouble = "it does not answer"
                connection.abort()
            try:
                await asyncio.wait_for(self._gone.wait(), LOOK_S)
            except TimeoutError:
                continue
            return

    def _lost(self, connection: Connection, pending: list[Answered]) -> None:
        if connection is self._connection or connection is self._ears:
            for each in (self._connection, self._ears):
                if each is not None and each is not connection:
                    each.abort()
            self._connection = self._ears = None
            if self.trouble is None:
                self.trouble = "the connection was lost"
            waiting, self._waiting = self._waiting, deque()
            for _, _, done, _, _ in waiting:
                # They were not asked.
                self._loop.call_soon(done, self.away())
            if not self._is_closing:
                self._report()
            self._gone.set()
        self.failed += len(pending)
        error = StoreInterrupted(f"the connection to the Redis server {self} was lost")
        for answered in pending:
            answered(error)


def _fields(library: Any) -> dict[Any, Any]:
    """A map in RESP3 is a dictionary, or a flat list."""
    return library if isinstance(library, dict) else dict(zip(library[::2], library[1::2], strict=True))
