"""Looks at the numbers of messages in physical queues, for dequeue policies that go by them."""

import asyncio
from collections.abc import Callable
from functools import partial

from rockdove.broker.ask import PhysicalQueueUnavailable
from rockdove.broker.gather import Gatherer
from rockdove.broker.queue import Queue
from rockdove.core.errors import Fault, StoreError
from rockdove.store.base import Counts, Store

# What a queue is taken to hold whose number could not be told: a visit will show.
UNKNOWN = 1


class Monitor:
    """Looks when somebody needs the numbers and they are too old; never more often than the policy says."""

    def __init__(self, store: Store) -> None:
        self._store = store
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
        away: list[int] = []

        def counted(index: int, counts: Counts) -> None:
            numbers[index] = 0 if counts.held else counts.visible

        def failed(index: int, fault: Fault) -> None:
            if isinstance(fault, PhysicalQueueUnavailable):
                away.append(index)

        def done(fault: Fault | None) -> None:
            if len(away) < queue.size:
                # No visit would reach them. If all are away, a visit tells the client.
                for index in away:
                    numbers[index] = 0
            if queue.fifo and any(numbers):
                self._leave_out_held(queue, numbers)
            else:
                self._tell(queue, numbers)

        gatherer = Gatherer(done)
        for index, physical in enumerate(queue.visited):
            physical.count(gatherer.part(partial(counted, index), partial(failed, index)))
        gatherer.close()

    def _leave_out_held(self, queue: Queue, numbers: list[int]) -> None:
        """Messages behind others of their group that are in flight count as waiting, and no visit gets them."""

        def refreshed(outcome: StoreError | None) -> None:
            # Where hints could not be made true, they are what is right in any case.
            self._tell(queue, [number if queue.may_have_visible(index) else 0 for index, number in enumerate(numbers)])

        self._store.refresh(queue.visited, refreshed)

    def _tell(self, queue: Queue, numbers: list[int]) -> None:
        queue.numbers = numbers
        for then in self._waiting.pop(queue):
            then()
