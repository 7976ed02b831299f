"""Where time comes from: the wall clock in service, a stepped one in tests."""

import time
from typing import Protocol

# One second in the unit that every time inside Rockdove has: microseconds since 1970, UTC.
SECOND_US = 1_000_000


class Clock(Protocol):
    """Tells the time in microseconds since 1970, UTC."""

    def now_us(self) -> int: ...


# One that nobody sets; it goes on while the machine sleeps, where there is such.
_STEADY = getattr(time, "CLOCK_BOOTTIME", time.CLOCK_MONOTONIC)


class SystemClock:
    """The machine's wall clock. Once it was compared with a better one, that one's time, which goes on steadily.

    Whoever sets the wall clock then disturbs nothing.
    """

    def __init__(self) -> None:
        # What the better clock is ahead of the steady one.
        self.offset_us: int | None = None

    def now_us(self) -> int:
        offset_us = self.offset_us
        return self.machine_us() if offset_us is None else self.steady_us() + offset_us

    def machine_us(self) -> int:
        return time.time_ns() // 1000

    def steady_us(self) -> int:
        """Since some moment."""
        return time.clock_gettime_ns(_STEADY) // 1000


class ManualClock:
    """A clock that moves only when told to, so that tests step over timeouts instead of sleeping."""

    def __init__(self, start_us: int = 1_700_000_000 * SECOND_US) -> None:
        self._now_us = start_us

    def now_us(self) -> int:
        return self._now_us

    def advance(self, seconds: float) -> None:
        self._now_us += int(seconds * SECOND_US)
