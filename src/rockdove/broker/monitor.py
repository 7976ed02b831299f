"""Looks at the numbers of messages in physical queues, for dequeue policies that go by them."""

import asyncio
from collections.abc import Callable
from functools import partial

from rockdove.broker.gather import Gatherer
from rockdove.broker.queue import Queue
from rockdove.core.errors import Fault
from rockdove.store.base import Counts

# What a queue is taken to hold whose number could not be told: a visit will show.
UNKNOWN = 1


class Monitor:
    """Looks when somebody needs the numbers and they are too old; never more often than the policy says."""

    def __init__(self) -> None:
        # Those who wait for a look that is under way.
        self._waiting: dict[Queue, list[Callable[[], None]]] = {}

    def look(self, queue: Queue, then: Callable[[], None]) -> None:
        """Call ``then`` when the queue's numbers are new enough: at once, if they are."""
        now_s = asyncio.get_running_loop().time()
        period_s = queue.dequeue.monitor_s or 0.0
        if queue in self._waiting:
            self._waiting[queue].append(then)
        elif len(queue.numbers) == queue.size and now_s < queue.counted_s + period_s:
            then()
        else:
            self._waiting[queue] = [then]
            queue.counted_s = now_s
            self._count(queue)

    def _count(self, queue: Queue) -> None:
        numbers = [UNKNOWN] * queue.size

        def counted(index: int, counts: Counts) -> None:
            numbers[index] = counts.visible

        def done(fault: Fault | None) -> None:
            queue.numbers = numbers
            for then in self._waiting.pop(queue):
                then()

        gatherer = Gatherer(done)
        for index, physical in enumerate(queue.visited):
            physical.count(gatherer.part(partial(counted, index)))
        gatherer.close()
