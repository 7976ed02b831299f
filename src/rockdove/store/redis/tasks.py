"""What goes on in the background of a store."""

import asyncio
import contextlib
from collections.abc import Awaitable
from typing import Any

from rockdove.core.errors import StoreError
from rockdove.store.base import Done


class Tasks:
    """Keeps hold of tasks until they are over. For the event loop's thread."""

    def __init__(self, loop: asyncio.AbstractEventLoop) -> None:
        self._loop = loop
        self._tasks: set[asyncio.Task[None]] = set()

    def run(self, work: Awaitable[Any]) -> None:
        """Of what fails because a server was lost, others take care later."""

        async def run() -> None:
            with contextlib.suppress(StoreError):
                await work

        self._keep(run())

    def tell(self, work: Awaitable[Any], done: Done[Any]) -> None:
        """``done`` is called with what comes of it."""

        async def run() -> None:
            try:
                outcome = await work
            except StoreError as error:
                outcome = error
            done(outcome)

        self._keep(run())

    def _keep(self, work: Any) -> None:
        task = self._loop.create_task(work)
        self._tasks.add(task)
        task.add_done_callback(self._tasks.discard)

    def close(self) -> None:
        for task in self._tasks:
            task.cancel()
