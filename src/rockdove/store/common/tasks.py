"""What goes on in the background of a store."""

import asyncio
import contextlib
from collections.abc import Awaitable, Coroutine
from typing import Any, TypeVar

from rockdove.core.errors import StoreError
from rockdove.store.base import Done

Outcome = TypeVar("Outcome")


class Tasks:
    """Keeps hold of tasks until they are over. For the event loop's thread."""

    def __init__(self, loop: asyncio.AbstractEventLoop) -> None:
        self._loop = loop
        self._tasks: set[asyncio.Task[None]] = set()
        self._is_closed = False

    def run(self, work: Awaitable[Any]) -> None:
        """Of what fails because a server was lost, others take care later; so they do of what comes too late."""
        if self._is_closed:
            if asyncio.iscoroutine(work):
                work.close()
            return

        async def run() -> None:
            with contextlib.suppress(StoreError):
                await work

        self._keep(run(), work)

    def tell(self, work: Awaitable[Any], done: Done[Any]) -> None:
        """``done`` is called with what comes of it, also if that is a defect: nobody waits for ever."""

        async def run() -> None:
            try:
                outcome = await work
            except StoreError as error:
                outcome = error
            except Exception as error:
                context = {"message": "the store has a defect", "exception": error}
                self._loop.call_exception_handler(context)
                outcome = StoreError(f"{type(error).__name__}: {error}")
            done(outcome)

        self._keep(run(), work)

    def _keep(self, whole: Coroutine[Any, Any, None], work: Awaitable[Any]) -> None:
        def over(task: asyncio.Task[None]) -> None:
            self._tasks.discard(task)
            if asyncio.iscoroutine(work):
                # It may have been cancelled before it began.
                work.close()

        task = self._loop.create_task(whole)
        self._tasks.add(task)
        task.add_done_callback(over)

    @property
    def is_busy(self) -> bool:
        return bool(self._tasks)

    def close(self) -> None:
        self._is_closed = True
        for task in self._tasks:
            task.cancel()


async def at_once(*work: Awaitable[Outcome]) -> list[Outcome]:
    """All of it, to its end, also if some fails. Raises what failed first."""
    outcomes = await asyncio.gather(*work, return_exceptions=True)
    for outcome in outcomes:
        if isinstance(outcome, BaseException):
            raise outcome
    return outcomes  # type: ignore[return-value]
