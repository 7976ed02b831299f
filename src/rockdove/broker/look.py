"""Looking at messages and disturbing none, in bounded memory: however large they are, and however many look."""

from functools import partial

from rockdove.broker.ask import ask, need
from rockdove.broker.queue import Queue
from rockdove.broker.receive import Delivery
from rockdove.broker.turn import MemoryTurns
from rockdove.core import ids, limits
from rockdove.core.message import Entry
from rockdove.store.base import Browsing, Page, Physical, Scanned, Sight, Store

# Looks that have messages in memory at once; others wait. What they hold is no client's fault, and so nobody's to free.
AT_ONCE = 4


class Look:
    """What is found is a message's delivery that never was, with its physical queue's index."""

    def __init__(self, store: Store, processes: int = 1) -> None:
        """``processes`` share the turns."""
        self._store = store
        self._turns = MemoryTurns(max(AT_ONCE // processes, 1))

    async def next(self, queue: Queue, limit: int) -> list[tuple[int, Delivery]]:
        """The first messages in the order in which they become visible, as many as fit; at least one."""
        browsing = self._browsing()
        seen: list[tuple[Sight, int]] = []
        parts = list(queue.physical)
        for index, physical in enumerate(parts):
            seen += [(sight, index) for sight in await ask(partial(browsing.sight, physical, limit))]
            seen.sort(key=lambda each: (each[0].visible_us, each[0].id))
            del seen[limit:]
        chosen = _fitting(seen)
        await self._turns.turn(queue.key)
        try:
            return await _read(browsing, parts, chosen)
        finally:
            self._turns.give()

    async def page(
        self, queue: Queue, page: Page, only: int | None = None
    ) -> tuple[list[tuple[int, Delivery]], int | None]:
        """A page of all messages, those of one physical queue after those of another, each in the order of sending.

        Goes on after the entry with this id. No call changes an id, so that what is there throughout is met once.
        Gives the id to go on after, too; None: there are no more. ``only``: that physical queue, by its index; the last
        one together with those that leave.
        """
        browsing = self._browsing()
        parts = sorted(enumerate(queue.physical), key=lambda each: each[1].record.number)
        wanted = [
            (index, physical)
            for index, physical in parts
            if only in (None, min(index, queue.staying - 1))
            and page.after < ids.entry_id(physical.record.number, ids.SEQUENCE_MASK)
        ]
        await self._turns.turn(queue.key)
        try:
            for index, physical in wanted:
                found: Scanned = await ask(partial(browsing.scan, physical, page))
                after = found.after or ids.entry_id(physical.record.number, ids.SEQUENCE_MASK)
                is_last = found.after is None and physical is wanted[-1][1]
                if found.entries or not (page.takes_all or is_last):
                    # One that chooses looks at one physical queue at a time.
                    return [(index, Delivery(physical, entry, 0)) for entry in found.entries], after
        finally:
            self._turns.give()
        return [], None

    def _browsing(self) -> Browsing:
        return need(self._store.browsing, "browsing", self._store.name)


def _fitting(seen: list[tuple[Sight, int]]) -> list[tuple[Sight, int]]:
    number, size = 0, 0
    while number < len(seen) and size < limits.MAX_ANSWER_BYTES:
        size += seen[number][0].bytes
        number += 1
    return seen[:number]


async def _read(
    browsing: Browsing, parts: list[Physical], chosen: list[tuple[Sight, int]]
) -> list[tuple[int, Delivery]]:
    """In the order in which they were seen; what is gone since then is left out."""
    found: dict[int, Entry] = {}
    for index in {index for _, index in chosen}:
        wanted = [sight.id for sight, at in chosen if at == index]
        found |= {entry.id: entry for entry in await ask(partial(browsing.read, parts[index], wanted))}
    return [(index, Delivery(parts[index], found[sight.id], 0)) for sight, index in chosen if sight.id in found]
