"""Turns: of what takes much memory only so many at once, whoever asks for it."""

import asyncio
from collections import deque
from collections.abc import Callable


class MemoryTurns:
    """Whoever takes a turn gives it back. Those who find none are started later, in their order."""

    def __init__(self, number: int) -> None:
        self._free = number
        self._line: deque[Callable[[], None]] = deque()

    def take(self, start: Callable[[], None]) -> None:
        if self._free:
            self._free -= 1
            start()
        else:
            self._line.append(start)

    def give(self) -> None:
        if self._line:
            # Not at once: what the last one held is let go first.
            asyncio.get_running_loop().call_soon(self._line.popleft())
        else:
            self._free += 1
