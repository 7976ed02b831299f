"""How many messages a logical queue has, and how old they are, over all its physical queues."""

from collections.abc import Callable

from rockdove.broker.ask import PhysicalQueueUnavailable
from rockdove.broker.gather import Gatherer
from rockdove.broker.queue import Queue
from rockdove.core.errors import Fault
from rockdove.store.base import Browsing, Counts


def count(queue: Queue, done: Callable[[Counts | Fault], None]) -> None:
    """Exact numbers over all physical queues; those that cannot be reached are left out, unless none can."""
    total: Counts | None = None

    def counted(part: Counts) -> None:
        nonlocal total
        total = part if total is None else total + part

    def over(fault: Fault | None) -> None:
        is_rest = total is not None and isinstance(fault, PhysicalQueueUnavailable)
        done(fault if fault is not None and not is_rest else total or Counts(0, 0, 0))

    gatherer = Gatherer(over)
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
