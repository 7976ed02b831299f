"""Operations that may take milliseconds of the event loop: one at a time, so that others are served between them."""

import asyncio
from collections import deque
from collections.abc import Callable


class OneByOne:
    """Starts one thing in a round of the event loop, in the order in which they came."""

    def __init__(self) -> None:
        self._waiting: deque[Callable[[], None]] = deque()
        # Whether one was started in this round.
        self._busy = False

    def start(self, begin: Callable[[], None]) -> None:
        if self._busy:
            self._waiting.append(begin)
        else:
            self._begin(begin)

    def start_all(self) -> None:
        """There will be no more rounds."""
        while self._waiting:
            self._waiting.popleft()()

    def waiting(self) -> int:
        return len(self._waiting)

    def _begin(self, begin: Callable[[], None]) -> None:
        self._busy = True
        asyncio.get_running_loop().call_soon(self._next)
        begin()

    def _next(self) -> None:
        self._busy = False
        if self._waiting:
            self._begin(self._waiting.popleft())
