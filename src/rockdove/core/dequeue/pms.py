"""Periodical monitoring and scheduling: numbers of messages are looked at now and then, and the fullest is first."""

import math
from random import Random

from rockdove.core.dequeue.base import Plan, Sleep, View
from rockdove.core.dequeue.conventional import MAX_VISITS

MONITOR_S = 0.1


class Pms:
    """Visits what had messages at the last look; where nothing had any, the receive is held until the next look.

    All who look at the same numbers run to the same fullest queue, where the first takes all: that is what the paper
    found. With ``spread`` they draw lots instead, by the numbers of messages.
    """

    def __init__(
        self,
        rng: Random,
        max_visits: int = MAX_VISITS,
        monitor_s: float = MONITOR_S,
        spread: bool = True,
    ) -> None:
        self._rng = rng
        self._max_visits = max_visits
        self._spread = spread
        self.monitor_s: float | None = monitor_s
        self._hold = Sleep(monitor_s)

    def visits(self, view: View) -> Plan:
        while True:
            worth = [(number, index) for index in range(view.size) if (number := view.waiting(index)) > 0]
            if worth:
                key = self._lot if self._spread else _fullest
                for _, index in sorted(worth, key=key)[: self._max_visits]:
                    yield index
                return
            yield self._hold

    def _lot(self, place: tuple[int, int]) -> float:
        """In order of these, queues are drawn one after another, each with a chance that goes by its number."""
        return -math.log(1.0 - self._rng.random()) / place[0]


def _fullest(place: tuple[int, int]) -> tuple[int, int]:
    number, index = place
    return -number, index
