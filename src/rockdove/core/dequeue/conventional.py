"""The paper's starting point: ask the next few physical queues, and reply at once."""

from rockdove.core.dequeue.base import Plan, View

MAX_VISITS = 3


class Conventional:
    """Round-robin. A visit to an empty queue costs as much as one to a full queue, and brings nothing."""

    monitor_s = None

    def __init__(self, max_visits: int = MAX_VISITS) -> None:
        self._max_visits = max_visits

    def visits(self, view: View) -> Plan:
        for _ in range(min(self._max_visits, view.size)):
            yield view.next_index()
