"""Exact counts of messages by state, at a cost that does not grow with their number.

A message's state changes by the mere passing of time, so no counter can hold it. The tally keeps the total, and for
each second of the future how many messages become visible in it; whole seconds that have passed are dropped. Only the
second that is passing right now must be looked up in the index, and that is bounded by a second's traffic.
"""

from rockdove.core.clock import SECOND_US
from rockdove.store.base import Counts


class Lane:
    """How many messages become visible in each second to come."""

    def __init__(self) -> None:
        self.total = 0
        self._seconds: dict[int, int] = {}

    def shift(self, second: int, number: int) -> None:
        self.total += number
        left = self._seconds.get(second, 0) + number
        if left:
            self._seconds[second] = left
        else:
            del self._seconds[second]

    def after(self, second: int) -> int:
        return self.total - self._seconds.get(second, 0)

    def forget(self, second: int) -> None:
        for past in [key for key in self._seconds if key < second]:
            self.total -= self._seconds.pop(past)


class Tally:
    """Counts of one physical queue. ``t`` is a visible-from time, ``received`` whether it was ever received."""

    def __init__(self, now_us: int) -> None:
        self.total = 0
        self._delayed = Lane()
        self._hidden = Lane()
        # Seconds before this one are forgotten: what became visible in them is only in the total.
        self._from = now_us // SECOND_US

    def add(self, t: int, received: bool, number: int = 1) -> None:
        self.total += number
        second = t // SECOND_US
        if second >= self._from:
            (self._hidden if received else self._delayed).shift(second, number)

    def drop(self, t: int, received: bool) -> None:
        self.add(t, received, -1)

    def counts(self, now_us: int, passing: tuple[int, int]) -> Counts:
        """``passing``: how many are still (in flight, delayed) of those that become visible in this very second."""
        self.forget(now_us)
        second = now_us // SECOND_US
        in_flight = passing[0] + self._hidden.after(second)
        delayed = passing[1] + self._delayed.after(second)
        return Counts(visible=self.total - in_flight - delayed, in_flight=in_flight, delayed=delayed)

    def in_flight_at_most(self, now_us: int) -> int:
        """An upper bound that needs no look into the index."""
        self.forget(now_us)
        return self._hidden.total

    def forget(self, now_us: int) -> None:
        second = now_us // SECOND_US
        if second > self._from:
            self._from = second
            self._delayed.forget(second)
            self._hidden.forget(second)
