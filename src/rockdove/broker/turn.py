"""Turns: of what takes much memory only so many at once, whoever asks for it."""

import asyncio
from collections import deque
from collections.abc import Callable, Hashable


class MemoryTurns:
    """Whoever takes a turn gives it back. Those who find none are started later.

    Each queue has a line of its own, and the lines take turns: many who wait for one queue keep nobody of another.
    """

    def __init__(self, number: int) -> None:
        self._free = number
        self._lines: dict[Hashable, deque[Callable[[], None]]] = {}

    @property
    def is_free(self) -> bool:
        """Whether who asks now need not wait."""
        return self._free > 0

    @property
    def waiting(self) -> int:
        return sum(map(len, self._lines.values()))

    def take(self, start: Callable[[], None], line: Hashable) -> None:
        if self._free:
            self._free -= 1
            start()
        else:
            self._lines.setdefault(line, deque()).append(start)

    def give(self) -> None:
        if not self._lines:
            self._free += 1
            return
        line = next(iter(self._lines))
        waiting = self._lines.pop(line)
        start = waiting.popleft()
        if waiting:
            self._lines[line] = waiting
        # Not at once: what the last one held is let go first.
        asyncio.get_running_loop().call_soon(start)

    async def turn(self, line: Hashable) -> None:
        """Wait for one."""
        taken: asyncio.Future[None] = asyncio.get_running_loop().create_future()

        def start() -> None:
            if taken.done():
                self.give()
            else:
                taken.set_result(None)

        self.take(start, line)
        try:
            await taken
        except asyncio.CancelledError:
            if taken.done() and not taken.cancelled():
                self.give()
            raise
