"""One open stream: what is to be sent on it, in a bounded buffer."""

import asyncio
from collections import deque

from rockdove.console.session import Session

# Events that wait for a browser that does not read; then it is told everything anew.
_MOST = 30


class Watcher:
    """``queue``: of a page about one queue; None for the list, empty for pages that ask about the service alone."""

    def __init__(self, session: Session, queue: str | None) -> None:
        self.session = session
        self.queue = queue
        self.wake = asyncio.Event()
        self.is_behind = False
        self._pending: deque[bytes] = deque()

    def put(self, data: bytes) -> None:
        if not data:
            return
        if len(self._pending) >= _MOST:
            self._pending.clear()
            self.is_behind = True
        self._pending.append(data)
        self.wake.set()

    def begin(self, data: bytes) -> None:
        """Everything, instead of what was still to be sent."""
        self.is_behind = False
        self._pending.clear()
        self.put(data)

    async def take(self, patience_s: float) -> bytes:
        """What is to be sent; empty after so long, and when the session is over."""
        try:
            async with asyncio.timeout(patience_s):
                await self.wake.wait()
        except TimeoutError:
            return b""
        self.wake.clear()
        data = b"".join(self._pending)
        self._pending.clear()
        return data
