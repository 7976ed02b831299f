"""How full queues are, and how old: many of them asked of the store together."""

import asyncio
from collections.abc import Iterable
from functools import partial

from msgspec import Struct

from rockdove.broker.ask import ask
from rockdove.broker.broker import Broker
from rockdove.broker.gather import Gatherer
from rockdove.broker.queue import Queue
from rockdove.core.errors import Fault
from rockdove.core.lease import Holding
from rockdove.store.base import Counts, Store

# Queues that are asked for together: they cost the store one transaction, and the others who wait not too long.
AT_ONCE = 50
# After a look at all, this many times as long as it took passes before the next begins: those who ask without end
# leave most of the time to others.
REST = 4


class Level(Struct):
    """How full a queue is, and how old; None where the store could not tell, or has nothing."""

    counts: Counts | None = None
    oldest_us: int | None = None


async def levels(broker: Broker, queues: Iterable[Queue]) -> dict[Queue, Level]:
    found = {queue: Level(Counts(0, 0, 0)) for queue in queues}
    # Of an empty queue nothing needs to be asked.
    full = [queue for queue in found if queue.may_hold_any()]
    for start in range(0, len(full), AT_ONCE):
        await _ask(broker, {queue: found[queue] for queue in full[start : start + AT_ONCE]})
    return found


async def holdings(store: Store) -> dict[str, Holding]:
    """What consumers have leased, by the queue's uid; nothing where the store cannot tell."""
    if store.leases is None:
        return {}
    try:
        held: dict[str, Holding] = await ask(store.leases.holdings)
    except Fault:
        return {}
    return held


async def store_bytes(store: Store) -> int | None:
    """None: the store does not tell."""
    if store.sizing is None:
        return None
    try:
        size: int = await ask(store.sizing.size)
    except Fault:
        return None
    return size


async def _ask(broker: Broker, found: dict[Queue, Level]) -> None:
    """Fill in levels; all questions go to the store in one batch."""
    told: asyncio.Future[None] = asyncio.get_running_loop().create_future()
    # What could not be told is left open.
    gatherer = Gatherer(lambda fault: None if told.done() else told.set_result(None))

    def counted(level: Level, counts: Counts) -> None:
        level.counts = counts

    def aged(level: Level, oldest_us: int | None) -> None:
        level.oldest_us = oldest_us

    for queue, level in found.items():
        level.counts = None
        broker.count(queue, gatherer.part(partial(counted, level)))
        broker.oldest(queue, gatherer.part(partial(aged, level)))
    gatherer.close()
    await told
