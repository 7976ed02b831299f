"""Work in the background that is done again and again."""

import asyncio
import contextlib
from collections.abc import Awaitable, Callable

from rockdove.core.errors import Fault, StoreError


class Rounds:
    """From `start` to `close`, with so many seconds between two rounds.

    If a round takes long, the pause after it is ``rest`` times as long, so that the work is a small part of the time.
    """

    def __init__(self, work: Callable[[], Awaitable[object]], every_s: float, rest: float = 0.0) -> None:
        self._work = work
        self._every_s = every_s
        self._rest = rest
        self._task: asyncio.Task[None] | None = None

    def start(self) -> None:
        self._task = asyncio.get_running_loop().create_task(self._run())

    async def close(self) -> None:
        if self._task is not None:
            self._task.cancel()
            await asyncio.gather(self._task, return_exceptions=True)

    async def _run(self) -> None:
        loop, took_s = asyncio.get_running_loop(), 0.0
        while True:
            await asyncio.sleep(max(self._every_s, self._rest * took_s))
            begin_s = loop.time()
            # The store has a fault of its own to tell; the next round tries again.
            with contextlib.suppress(Fault, StoreError):
                await self._work()
            took_s = loop.time() - begin_s
