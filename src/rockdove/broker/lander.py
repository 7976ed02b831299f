"""Brings published batches into their queues, chunk by chunk: in the one process that has the store."""

import asyncio
from functools import partial

from rockdove.broker.ask import ask
from rockdove.broker.compose import unpack
from rockdove.broker.context import Context
from rockdove.broker.placing import place_all
from rockdove.broker.queue import Queue
from rockdove.broker.route import Parts
from rockdove.core.errors import Fault
from rockdove.core.publication import Landing, PublicationName
from rockdove.store.base import Appended, Landings

# Seconds until what the store could not do is tried again.
AGAIN_S = 0.5
# Queues whose names are remembered.
MOST_KEYS = 1_000


class Lander:
    """Works whenever something was published, on all batches in turn."""

    def __init__(self, context: Context) -> None:
        self._context = context
        self._woken = asyncio.Event()
        # To find a queue by its uid takes a look at all of them.
        self._keys: dict[str, tuple[str, str]] = {}
        self._task: asyncio.Task[None] | None = None

    def start(self) -> None:
        """Go on with what was interrupted, and begin with what is new from now on."""
        landings = self._context.store.landings
        if landings is not None:
            landings.on_landing(self._woken.set)
            self._woken.set()
            self._task = asyncio.get_running_loop().create_task(self._run(landings))

    async def close(self) -> None:
        """What has not landed does after the restart."""
        if self._task is not None:
            self._task.cancel()
            await asyncio.gather(self._task, return_exceptions=True)

    async def _run(self, landings: Landings) -> None:
        while True:
            await self._woken.wait()
            self._woken.clear()
            try:
                await self._land_all(landings)
            except Fault:
                # The store has a fault of its own to tell.
                asyncio.get_running_loop().call_later(AGAIN_S, self._woken.set)

    async def _land_all(self, landings: Landings) -> None:
        last: PublicationName | None = None
        # What has failed since something has landed.
        failed: set[tuple[PublicationName, str, int]] = set()
        while (landing := await _next(landings, last)) is not None:
            last = landing.name
            which = (last, landing.attempt, landing.chunk)
            if which in failed:
                # All others have had their turn.
                await asyncio.sleep(AGAIN_S)
                failed.clear()
            queue = self._queue(last.queue)
            if queue is None:
                # It is being deleted, and takes what has not landed along.
                failed.add(which)
                continue
            try:
                await self._land(landings, landing, queue)
            except Fault:
                # The store has a fault of its own to tell. What waits for a server that is away holds nothing else up.
                failed.add(which)
            else:
                failed.clear()

    def _queue(self, uid: str) -> Queue | None:
        directory = self._context.directory
        key = self._keys.get(uid)
        queue = None if key is None else directory.get(*key)
        if queue is None or queue.record.uid != uid:
            queue = directory.with_uids({uid}).get(uid)
            if queue is not None:
                if len(self._keys) >= MOST_KEYS:
                    self._keys.clear()
                self._keys[uid] = queue.key
        return queue

    async def _land(self, landings: Landings, landing: Landing, queue: Queue) -> None:
        # In a FIFO queue times of sending grow with the places: there it is as if sent now.
        at_us = self._context.clock.now_us() if queue.fifo else landing.at_us
        drafts = unpack(queue, landing.parcels, at_us)

        async def land(parts: Parts) -> list[Appended] | None:
            return await ask(partial(landings.land, landing, drafts, parts))

        appended = await place_all(self._context.store.records, queue, drafts, land)
        if appended is None:
            return
        queue.events.sent += len(drafts)
        watch = self._context.watch
        if watch is not None:
            watch.published(queue, list(zip(drafts, appended, strict=True)))


async def _next(landings: Landings, after: PublicationName | None) -> Landing | None:
    return await ask(partial(landings.next, after))
