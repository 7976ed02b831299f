"""Ctrl-C and SIGTERM as a word that is looked at, instead of an exception that may come anywhere."""

import asyncio
import signal
from collections.abc import Coroutine
from types import FrameType, TracebackType
from typing import Any, Self

_SIGNALS = (signal.SIGINT, signal.SIGTERM)
_LOOK_S = 0.1


class Interrupt:
    """Listens while it is entered, which only the main thread can. The second signal is a KeyboardInterrupt."""

    def __init__(self) -> None:
        self.heard = False
        self._before: dict[signal.Signals, Any] = {}

    def __enter__(self) -> Self:
        self._before = {number: signal.signal(number, self._hear) for number in _SIGNALS}
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        for number, handler in self._before.items():
            signal.signal(number, handler)

    def _hear(self, number: int, frame: FrameType | None) -> None:
        if self.heard:
            raise KeyboardInterrupt
        self.heard = True

    async def during(self, work: Coroutine[Any, Any, None]) -> bool:
        """Do the work, or as much of it as can be done before a signal; whether it came to its end."""
        task = asyncio.create_task(work)
        while not task.done() and not self.heard:
            await asyncio.wait([task], timeout=_LOOK_S)
        if not task.done():
            task.cancel()
            await asyncio.wait([task])
            return False
        await task
        return True
