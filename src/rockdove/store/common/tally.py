"""Exact counts of messages by state, at a cost that does not grow with their number.

A message's state changes by the mere passing of time, so no counter can hold it. The tally keeps the total, and for
each second of the future how many messages become visible in it; whole seconds that have passed are dropped. Only the
second that is passing right now must be looked up in the index, and that is bounded by a second's traffic.
"""

from collections.abc import Callable, Sequence

from rockdove.core.clock import SECOND_US
from rockdove.core.message import Entry
from rockdove.store.base import Counts


class Tally:
    """Counts of one physical queue. ``t`` is a visible-from time, ``received`` whether it was ever received."""

    def __init__(self, now_us: int, on_fill: Callable[[], None] = lambda: None) -> None:
        """``on_fill`` is called before the first message is counted, when there was none."""
        self._on_fill = on_fill
        self.total = 0
        # By second: how many never-received, and how many in-flight, messages become visible in it.
        self._delayed: dict[int, int] = {}
        self._hidden: dict[int, int] = {}
        # The sum of what is hidden, also of seconds that have passed but are not forgotten yet.
        self._hidden_total = 0
        # Seconds before this one are forgotten: what became visible in them is only in the total.
        self._from = now_us // SECOND_US

    def add(self, t: int, received: bool, number: int = 1) -> None:
        if not self.total:
            self._on_fill()
        self.total += number
        second = t // SECOND_US
        if second < self._from:
            return
        if received:
            self._hidden_total += number
            self._hidden[second] = self._hidden.get(second, 0) + number
        else:
            self._delayed[second] = self._delayed.get(second, 0) + number

    def drop(self, t: int, received: bool) -> None:
        self.add(t, received, -1)

    def add_new(self, fresh: Sequence[Entry]) -> None:
        """The same as `add` for each of many that were never received, and quicker."""
        if not self.total:
            self._on_fill()
        self.total += len(fresh)
        start, delayed = self._from, self._delayed
        for entry in fresh:
            second = entry.visible_us // SECOND_US
            if second >= start:
                delayed[second] = delayed.get(second, 0) + 1

    def hide(self, before: Sequence[Entry], hidden_us: int) -> None:
        """Entries were claimed, and become visible again all at the same time."""
        start, delayed, hidden = self._from, self._delayed, self._hidden
        for entry in before:
            second = entry.visible_us // SECOND_US
            if second < start:
                continue
            if entry.receive_count:
                self._hidden_total -= 1
                hidden[second] = hidden.get(second, 0) - 1
            else:
                delayed[second] = delayed.get(second, 0) - 1
        second = hidden_us // SECOND_US
        if second >= start:
            self._hidden_total += len(before)
            hidden[second] = hidden.get(second, 0) + len(before)

    def counts(self, now_us: int, passing: tuple[int, int]) -> Counts:
        """``passing``: how many are still (in flight, delayed) of those that become visible in this very second."""
        self.forget(now_us)
        second = now_us // SECOND_US
        in_flight = passing[0] + self._hidden_total - self._hidden.get(second, 0)
        delayed = passing[1] + sum(self._delayed.values()) - self._delayed.get(second, 0)
        return Counts(visible=self.total - in_flight - delayed, in_flight=in_flight, delayed=delayed)

    def in_flight_at_most(self) -> int:
        """An upper bound that needs no look into the index, nor at the clock."""
        return self._hidden_total

    def forget(self, now_us: int) -> None:
        second = now_us // SECOND_US
        if second > self._from:
            self._from = second
            for numbers in (self._delayed, self._hidden):
                for past in [key for key in numbers if key < second or not numbers[key]]:
                    number = numbers.pop(past)
                    if numbers is self._hidden:
                        self._hidden_total -= number
