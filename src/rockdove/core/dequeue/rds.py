"""Retry dequeue-request scheduling: a receive that finds nothing is held, and looks again after a sleep."""

from rockdove.core.dequeue.base import Plan, Sleep, View
from rockdove.core.dequeue.conventional import MAX_VISITS

SLEEP_S = 0.1
# Bounds of the sleep that adapts itself, where it begins, and by how much it changes.
SHORTEST_S = 0.01
LONGEST_S = 5.0
FIRST_S = 0.1
FACTOR = 1.25


class Rds:
    """Round-robin, like the conventional policy; but an empty answer is given only when the client's time is over.

    Held after a whole round of visits that found nothing, not after the first miss.
    """

    monitor_s = None

    def __init__(self, max_visits: int = MAX_VISITS, sleep_s: float | None = SLEEP_S) -> None:
        """Without ``sleep_s``, the sleep adapts itself: longer after a miss, shorter after a hit."""
        self._max_visits = max_visits
        self._adapts = sleep_s is None
        self._sleep_s = FIRST_S if sleep_s is None else sleep_s

    @property
    def sleep_s(self) -> float:
        return self._sleep_s

    def visits(self, view: View) -> Plan:
        slept = False
        while True:
            found = 0
            for _ in range(min(self._max_visits, view.size)):
                found += yield view.next_index()
            if self._adapts and slept:
                self._adapt(found > 0)
            if found:
                return
            yield Sleep(self._sleep_s)
            slept = True

    def _adapt(self, hit: bool) -> None:
        changed = self._sleep_s / FACTOR if hit else self._sleep_s * FACTOR
        self._sleep_s = min(max(changed, SHORTEST_S), LONGEST_S)
