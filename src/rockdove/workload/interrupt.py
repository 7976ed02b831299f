"""Ctrl-C and SIGTERM as a word that is looked at, instead of an exception that may come anywhere."""

import asyncio
import signal
import time
from collections.abc import Callable, Coroutine, Iterator
from contextlib import contextmanager
from types import FrameType, TracebackType
from typing import Any, Self

_SIGNALS = (signal.SIGINT, signal.SIGTERM)
_LOOK_S = 0.1
# Signals this close are one word: `timeout` sends to a process and then to its group.
_SAME_S = 0.5


class Interrupt:
    """Listens while it is entered, which only the main thread can. The second signal is a KeyboardInterrupt."""

    def __init__(self, monotonic: Callable[[], float] = time.monotonic) -> None:
        self.heard = False
        self._heard_at = 0.0
        self._monotonic = monotonic
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
        if not self.heard:
            self.heard, self._heard_at = True, self._monotonic()
        elif self._monotonic() - self._heard_at > _SAME_S:
            raise KeyboardInterrupt

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


@contextmanager
def deaf() -> Iterator[None]:
    """Who is started meanwhile never hears Ctrl-C, which a terminal sends to all: somebody else tells them."""
    before = signal.pthread_sigmask(signal.SIG_BLOCK, {signal.SIGINT})
    try:
        yield
    finally:
        signal.pthread_sigmask(signal.SIG_SETMASK, before)
