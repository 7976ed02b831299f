"""How many bytes of messages a gateway holds that the service does not have yet."""

import asyncio
from collections import deque

# Who comes when so much is held has to wait: his connection is not read meanwhile.
MOST_HELD_BYTES = 128 * 1024 * 1024


class Budget:
    """Bytes, to be taken in the order of asking. What is larger than all of them may be taken alone."""

    def __init__(self, most: int = MOST_HELD_BYTES) -> None:
        self._most = most
        self._taken = 0
        self._waiting: deque[tuple[int, asyncio.Future[None]]] = deque()

    async def take(self, size: int) -> None:
        if not self._waiting and self._fits(size):
            self._taken += size
            return
        turn: asyncio.Future[None] = asyncio.get_running_loop().create_future()
        self._waiting.append((size, turn))
        try:
            await turn
        except asyncio.CancelledError:
            if turn.done() and not turn.cancelled():
                self.give(size)
            raise

    def give(self, size: int) -> None:
        self._taken -= size
        while self._waiting:
            wanted, turn = self._waiting[0]
            if not turn.cancelled():
                if not self._fits(wanted):
                    return
                self._taken += wanted
                turn.set_result(None)
            self._waiting.popleft()

    def _fits(self, size: int) -> bool:
        return not self._taken or self._taken + size <= self._most
