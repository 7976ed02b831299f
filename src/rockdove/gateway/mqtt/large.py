"""Large packets are read some at a time, so that clients cannot fill the memory with what they have not finished."""

import asyncio
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager

# A packet that is no larger is not counted.
SMALL_BYTES = 65_536
AT_ONCE = 64
# Seconds for a packet while nobody waits for his turn.
PACKET_S = 60.0
# While somebody does, who is reading has so many seconds, and more for each byte.
HURRY_S = 2.0
HURRY_BYTES_A_SECOND = 262_144


class Large:
    """For all connections of a gateway."""

    def __init__(self, at_once: int = AT_ONCE) -> None:
        self._turns = asyncio.Semaphore(at_once)
        # Of those that are being read: until when they must be there if others wait.
        self._reading: dict[asyncio.Timeout, float] = {}

    @asynccontextmanager
    async def turn(self, size: int) -> AsyncIterator[None]:
        """Raises `TimeoutError` in the one who is too slow."""
        if self._turns.locked():
            for reading, until_s in self._reading.items():
                reading.reschedule(min(reading.when() or until_s, until_s))
        async with self._turns, asyncio.timeout(PACKET_S) as mine:
            self._reading[mine] = asyncio.get_running_loop().time() + HURRY_S + size / HURRY_BYTES_A_SECOND
            try:
                yield
            finally:
                del self._reading[mine]
