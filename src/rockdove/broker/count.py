"""How many messages a logical queue has, and how old they are, over all its physical queues."""

from collections.abc import Callable

from rockdove.broker.gather import Gatherer
from rockdove.broker.queue import Queue
from rockdove.core.errors import Fault
from rockdove.store.base import Browsing, Counts


def count(queue: Queue, done: Callable[[Counts | Fault], None]) -> None:
    """Exact numbers over all physical queues."""
    total = Counts(0, 0, 0)

    def counted(part: Counts) -> None:
        nonlocal total
        total += part

    gatherer = Gatherer(lambda fault: done(fault or total))
    for physical in queue.physical:
        physical.count(gatherer.part(counted))
    gatherer.close()


def oldest(browsing: Browsing, queue: Queue, done: Callable[[int | Fault | None], None]) -> None:
    """When the oldest message was sent, over all physical queues; None: there is none."""
    times: list[int] = []

    def told(sent_us: int | None) -> None:
        if sent_us is not None:
            times.append(sent_us)

    gatherer = Gatherer(lambda fault: done(fault or min(times, default=None)))
    for physical in queue.physical:
        browsing.oldest(physical, gatherer.part(told))
    gatherer.close()
