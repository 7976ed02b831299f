"""Looks after the elastic queues of an account while somebody is interested: what they do, over time.

A controller publishes the present; pages show the past as well, so somebody has to write it down. It goes on for
a while when the last page is closed, as long as the session lasts.
"""

import asyncio
import logging
import math
import time
from collections.abc import Awaitable, Callable, Iterable
from typing import Final, TypeVar

from msgspec import Struct, field

from rockdove.client import AsyncClient
from rockdove.console.sample import Load, Samples, loads_of, point
from rockdove.console.session import Session
from rockdove.core.elastic import Elastic, ElasticError
from rockdove.core.elastic import read as read_elastic
from rockdove.core.errors import QueueDoesNotExist, RockdoveError
from rockdove.elastic.state import Published
from rockdove.elastic.state import read as read_state

# Seconds between two looks.
TICK_S: Final = 2.0
# Between two looks that take long.
_PAUSE_S: Final = 0.2
# Seconds for which it goes on when nobody looks.
KEPT_S: Final = 3_600.0
# Queues that are looked at each time; the others are only named.
MOST: Final = 50
_AT_A_TIME: Final = 8

log = logging.getLogger("rockdove")
T = TypeVar("T")


class Scaled(Struct):
    """An elastic queue."""

    name: str
    url: str
    elastic: Elastic
    samples: Samples = field(default_factory=Samples)
    paused: bool = False
    holder: str | None = None
    held_until: float | None = None
    updated: float | None = None
    published: Published | None = None
    loads: list[Load] = []

    def is_held(self, now: float) -> bool:
        return self.held_until is not None and self.held_until > now


class Recorder:
    """Of one account. For one event loop."""

    def __init__(self) -> None:
        self.queues: dict[str, Scaled] = {}
        self.trouble: RockdoveError | None = None
        self._session: Session | None = None
        self._task: asyncio.Task[None] | None = None
        self._looked_s = 0.0
        # What the service has told so far: how many messages were sent to each elastic queue, and when that was.
        self._version: str | None = None
        self._told_s = 0.0
        self._sent: dict[str, int] = {}

    def look(self, session: Session) -> None:
        """Somebody is interested."""
        self._session = session
        self._looked_s = time.monotonic()
        if self._task is None or self._task.done():
            self._task = asyncio.get_running_loop().create_task(self._run())

    @property
    def is_ready(self) -> bool:
        """Whether it knows by now which queues are elastic."""
        return self._version is not None

    @property
    def is_idle(self) -> bool:
        return self._task is None or self._task.done()

    async def _run(self) -> None:
        while (client := self._client()) is not None:
            begun = time.monotonic()
            try:
                async with asyncio.timeout(5 * TICK_S):
                    await self._tick(client)
                self.trouble = None
            except TimeoutError:
                log.debug("a look at elastic queues took too long")
            except RockdoveError as error:
                self.trouble = error
            await asyncio.sleep(max(TICK_S - (time.monotonic() - begun), _PAUSE_S))

    def _client(self) -> AsyncClient | None:
        session = self._session
        if session is None or session.is_over or time.monotonic() - self._looked_s > KEPT_S:
            return None
        return session.client

    async def _tick(self, client: AsyncClient) -> None:
        await self._find(client)
        await _each(self._sent, lambda name: self._read(client, name))
        await _each(list(self.queues.values())[:MOST], lambda queue: self._sample(client, queue))

    async def _find(self, client: AsyncClient) -> None:
        """Which queues are elastic, and how many messages they were sent."""
        more = True
        while more:
            told = await client.figures(self._version)
            if told.whole:
                self._sent.clear()
            for each in told.queues:
                if each.elastic:
                    self._sent[each.queue_name] = each.sent
                else:
                    self._sent.pop(each.queue_name, None)
            for name in told.gone:
                self._sent.pop(name, None)
            self._version, self._told_s, more = told.version, told.time, told.more
        for name in self.queues.keys() - self._sent.keys():
            del self.queues[name]

    async def _read(self, client: AsyncClient, name: str) -> None:
        """How a queue is set. Those that are not shown over time are asked once."""
        known = self.queues.get(name)
        if known is not None and known not in list(self.queues.values())[:MOST]:
            return
        try:
            url = known.url if known is not None else await client.queue_url(name)
            text = (await client.attributes(url, ["RockdoveElastic"])).get("RockdoveElastic")
            elastic = read_elastic(text) if text else None
        except (QueueDoesNotExist, ElasticError):
            elastic = None
        if elastic is None:
            self.queues.pop(name, None)
        elif known is not None:
            known.elastic = elastic
        else:
            self.queues[name] = Scaled(name, url, elastic)

    async def _sample(self, client: AsyncClient, queue: Scaled) -> None:
        sent = self._sent.get(queue.name)
        if sent is None:
            return
        production = queue.samples.production(self._told_s, sent)
        try:
            state = await client.elastic_state(queue.url)
            queue.paused, queue.holder = state.paused, state.holder
            queue.held_until, queue.updated = state.held_until, state.updated
            queue.published = read_state(state.state)
            now = time.time()
            has_controller = queue.published is not None and queue.is_held(now)
            if queue.published is not None and has_controller:
                queue.loads, target = loads_of(queue.published), float(queue.published.target)
            else:
                # Nobody publishes: the service knows the loads, and nobody the workers.
                queue.loads, target = await _described(client, queue), math.nan
        except QueueDoesNotExist:
            self.queues.pop(queue.name, None)
            return
        queue.samples.add(point(now, production, queue.loads, target, has_controller))

    async def close(self) -> None:
        if self._task is not None:
            self._task.cancel()
            await asyncio.gather(self._task, return_exceptions=True)


async def _described(client: AsyncClient, queue: Scaled) -> list[Load]:
    return [
        Load(
            each.index,
            "away" if not each.reachable or each.state == "down" else "draining" if each.state == "draining" else "up",
            each.approximate_number_of_messages or 0,
        )
        for each in await client.physical_queues(queue.url)
    ]


async def _each(things: Iterable[T], do: Callable[[T], Awaitable[None]]) -> None:
    """A few at a time: each has a connection of its own."""
    room = asyncio.Semaphore(_AT_A_TIME)

    async def one(thing: T) -> None:
        async with room:
            await do(thing)

    for outcome in await asyncio.gather(*(one(thing) for thing in things), return_exceptions=True):
        if isinstance(outcome, BaseException):
            raise outcome


class Recorders:
    """Of all accounts."""

    def __init__(self) -> None:
        self._known: dict[tuple[str, bool], Recorder] = {}

    def of(self, session: Session) -> Recorder:
        """Of the session's account, from now on up to date."""
        for key in [key for key, recorder in self._known.items() if recorder.is_idle]:
            del self._known[key]
        recorder = self._known.setdefault((session.account.id, bool(session.id)), Recorder())
        recorder.look(session)
        return recorder

    async def close(self) -> None:
        for recorder in self._known.values():
            await recorder.close()
