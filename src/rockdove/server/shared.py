"""What several ask for at the same time is looked up once."""

import asyncio
from collections.abc import Awaitable, Callable


class Shared:
    """Asks when asked; those who ask meanwhile share the answer."""

    def __init__(self, source: Callable[[], Awaitable[bytes]]) -> None:
        self._source = source
        self._task: asyncio.Task[bytes] | None = None

    async def get(self) -> bytes:
        if self._task is None or self._task.done():
            self._task = asyncio.get_running_loop().create_task(self._ask())
        # Who hangs up does not take the answer away from the others.
        return await asyncio.shield(self._task)

    async def close(self) -> None:
        if self._task is not None:
            self._task.cancel()
            await asyncio.gather(self._task, return_exceptions=True)

    async def _ask(self) -> bytes:
        return await self._source()
