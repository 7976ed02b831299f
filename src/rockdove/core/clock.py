"""Where time comes from: the wall clock in service, a stepped one in tests."""

from time import time_ns
from typing import Protocol

# One second in the unit that every time inside Rockdove has: microseconds since 1970, UTC.
SECOND_US = 1_000_000


class Clock(Protocol):
    """Tells the time in microseconds since 1970, UTC."""

    def now_us(self) -> int: ...


class SystemClock:
    """The machine's wall clock, less what it is ahead of a better one that it was compared with."""

    def __init__(self) -> None:
        self.ahead_us = 0

    def now_us(self) -> int:
        return self.machine_us() - self.ahead_us

    def machine_us(self) -> int:
        return time_ns() // 1000


class ManualClock:
    """A clock that moves only when told to, so that tests step over timeouts instead of sleeping."""

    def __init__(self, start_us: int = 1_700_000_000 * SECOND_US) -> None:
        self._now_us = start_us

    def now_us(self) -> int:
        return self._now_us

    def advance(self, seconds: float) -> None:
        self._now_us += int(seconds * SECOND_US)
