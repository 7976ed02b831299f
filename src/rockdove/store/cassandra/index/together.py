"""What is asked of one partition while something else is under way there goes together, the next time."""

import asyncio
from collections.abc import Awaitable, Callable, Hashable
from typing import Any, Generic, TypeVar

from rockdove.core.errors import StoreError

Key = TypeVar("Key", bound=Hashable)
Item = TypeVar("Item")


class Together(Generic[Key, Item]):
    """For the event loop's thread. ``act`` has some items of one key done, and tells what came of each."""

    def __init__(self, act: Callable[[Key, list[Item]], Awaitable[list[Any]]], most: int) -> None:
        """``most`` items are done at a time."""
        self._act = act
        self._most = most
        self._waiting: dict[Key, list[tuple[Item, asyncio.Future[Any]]]] = {}
        self._tasks: set[asyncio.Task[None]] = set()

    def ask(self, key: Key, item: Item) -> "asyncio.Future[Any]":
        """Its outcome, or a `StoreError`."""
        loop = asyncio.get_running_loop()
        future: asyncio.Future[Any] = loop.create_future()
        waiting = self._waiting.get(key)
        if waiting is None:
            self._waiting[key] = [(item, future)]
            task = loop.create_task(self._work(key))
            self._tasks.add(task)
            task.add_done_callback(self._tasks.discard)
        else:
            waiting.append((item, future))
        return future

    @property
    def is_busy(self) -> bool:
        return bool(self._tasks)

    async def _work(self, key: Key) -> None:
        waiting = self._waiting[key]
        try:
            while waiting:
                some = waiting[: self._most]
                del waiting[: self._most]
                try:
                    outcomes = await self._act(key, [item for item, _ in some])
                except StoreError as error:
                    for _, future in some:
                        if not future.done():
                            future.set_exception(error)
                            # Who does not wait for it does not want to know.
                            future.exception()
                else:
                    for (_, future), outcome in zip(some, outcomes, strict=True):
                        if not future.done():
                            future.set_result(outcome)
        finally:
            del self._waiting[key]
