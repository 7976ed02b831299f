"""The default policy: visit what is known not to be empty, hold what found nothing, be woken by the enqueue itself."""

import math

from rockdove.core.dequeue.base import Plan, Sleep, View

_UNTIL_WOKEN = Sleep(math.inf, wakes=True)


class Wake:
    """Never an empty answer while a visible message exists, and no visit that is certainly a miss."""

    monitor_s = None

    def visits(self, view: View) -> Plan:
        while True:
            found, first, size = 0, view.next_index(), view.size
            for step in range(size):
                index = (first + step) % size
                if view.may_have_visible(index):
                    found += yield index
            if found:
                return
            yield _UNTIL_WOKEN
