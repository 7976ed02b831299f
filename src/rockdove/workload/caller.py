"""One thread's requests: timed, dropped on purpose, and tried again while the service is away."""

import asyncio
import time
from collections.abc import Awaitable, Callable
from typing import TypeVar

from rockdove.client import UnexpectedAnswer, Unreachable
from rockdove.core.clock import Clock
from rockdove.core.errors import Fault, OverLimit, RequestThrottled, Throttling
from rockdove.workload.answer import Answer
from rockdove.workload.fault import Dice
from rockdove.workload.journal import Journal, Partition

T = TypeVar("T")

# Pauses between tries double from the first to the last.
_FIRST_PAUSE_S = 0.05
_LAST_PAUSE_S = 1.0
_TOO_MANY_REQUESTS = 429
_BUSY = (OverLimit, RequestThrottled, Throttling)


class Caller:
    """Asks for one sender or receiver."""

    def __init__(self, dice: Dice, journal: Journal, clock: Clock, patience_s: float) -> None:
        self._dice = dice
        self._journal = journal
        self._clock = clock
        self._patience_s = patience_s

    async def ask(self, place: Partition, op: str, call: Callable[[], Awaitable[T]]) -> Answer[T] | None:
        """None: the request or its answer was dropped on purpose, of which a real client would learn by a time-out.

        Raises what the service refuses, and what still goes wrong when patience is at its end.
        """
        if self._dice.drops_request():
            now_us = self._clock.now_us()
            self._journal.dropped_request(place, op, Answer(None, now_us, now_us, 0, None))
            return None
        answer = await self._answered(place, op, call)
        if self._dice.drops_response():
            unseen = Answer(None, answer.began_us, answer.ended_us, answer.latency_us, None)
            self._journal.dropped_response(place, op, unseen)
            return None
        return answer

    async def _answered(self, place: Partition, op: str, call: Callable[[], Awaitable[T]]) -> Answer[T]:
        deadline: float | None = None
        pause_s = _FIRST_PAUSE_S
        while True:
            began_us, start_ns = self._clock.now_us(), time.perf_counter_ns()
            try:
                value = await call()
            except (Fault, Unreachable, UnexpectedAnswer) as error:
                self._journal.failed(place, op, self._answer(None, began_us, start_ns, _status(error)))
                deadline = deadline or time.monotonic() + self._patience_s
                if not is_passing(error) or time.monotonic() + pause_s > deadline:
                    raise
            else:
                return self._answer(value, began_us, start_ns)
            await asyncio.sleep(pause_s)
            pause_s = min(2 * pause_s, _LAST_PAUSE_S)

    def _answer(self, value: T, began_us: int, start_ns: int, status: int | None = 200) -> Answer[T]:
        latency_us = (time.perf_counter_ns() - start_ns) // 1000
        return Answer(value, began_us, began_us + latency_us, latency_us, status)


def is_passing(error: Exception) -> bool:
    """Whether the same request may succeed a little later."""
    if isinstance(error, Fault):
        return error.status >= 500 or isinstance(error, _BUSY)
    if isinstance(error, UnexpectedAnswer):
        return error.status >= 500 or error.status == _TOO_MANY_REQUESTS
    return isinstance(error, Unreachable)


def _status(error: Exception) -> int | None:
    return getattr(error, "status", None) or None
