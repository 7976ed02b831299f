"""The store that keeps everything in memory, for tests and throw-away queues; it lasts as long as its object."""

import secrets
from collections.abc import Sequence, Set
from random import Random

from rockdove.core.clock import Clock
from rockdove.core.errors import StoreError
from rockdove.core.queue import PhysicalRecord, QueueRecord
from rockdove.store.base import Arrived, Done, Duties, Effort, Physical, Snapshot, StillHolds
from rockdove.store.common.arrivals import ArrivalListeners
from rockdove.store.common.ledger import Ledger
from rockdove.store.memory.capability import MemoryBrowsing, MemoryTransfers, MemoryUpkeep
from rockdove.store.memory.lease import MemoryLeases
from rockdove.store.memory.physical import MemoryPhysical
from rockdove.store.memory.pile import Past, Pile
from rockdove.store.memory.publish import MemoryPublications
from rockdove.store.memory.record import MemoryRecords


class MemoryStore:
    """See `rockdove.store.base.Store`. Closed and opened again, the same object still has everything."""

    name = "memory"
    duties: Duties | None = None
    # Memory has no faults that a program survives.
    trouble: str | None = None
    full: str | None = None
    effort = Effort()

    def __init__(self, clock: Clock, rng: Random) -> None:
        self._clock = clock
        self._rng = rng
        self.ledger = Ledger(clock)
        self.ledger.secret = secrets.token_bytes(32)
        self.arrivals = ArrivalListeners()
        self._pasts: dict[str, Past] = {}
        self._physical: dict[int, MemoryPhysical] = {}
        self._arrived: Arrived = lambda number, visible, next_us: None
        self._unlanded: dict[int, int] = {}
        self.records = MemoryRecords(self.ledger, self._put_queue, self._drop_queue)
        self.browsing = MemoryBrowsing()
        self.upkeep = MemoryUpkeep(self._physical, self.ledger.keys)
        self.transfers: MemoryTransfers | None = MemoryTransfers()
        self.leases = MemoryLeases(clock, self._physical.get)
        self.publications = MemoryPublications(clock, self._physical.get, self._unlanded)
        self.landings = self.publications

    async def open(self) -> Snapshot:
        return self.ledger.snapshot()

    def close(self) -> None:
        """Nothing is under way between two calls, and nothing is held outside."""

    def held_by(self, process: int) -> None:
        """Nobody else can want what is in memory."""

    def be_shared(self) -> None:
        """It is as quick as it can be."""

    def delivered(self, physical: Physical, claims: Sequence[tuple[int, int]]) -> None:
        """Whoever claims here lives as long as the store."""

    def refresh(self, physical: Sequence[Physical], done: Done[None]) -> None:
        done(None)

    def on_arrival(self, arrived: Arrived) -> None:
        self._arrived = arrived

    def listen(self, physical: Physical) -> None:
        self.arrivals.listen(physical.record.number, self._arrived)

    def unlisten(self, physical: Physical) -> None:
        self.arrivals.unlisten(physical.record.number, self._arrived)

    def physical(self, queue: QueueRecord, record: PhysicalRecord) -> MemoryPhysical:
        found = self._physical.get(record.number)
        if found is not None and found.record.prefix == record.prefix:
            return found
        if record.number in self.records.reserved:
            return self._begin(queue, record)
        return MemoryPhysical(record, None, self.arrivals, self._unlanded)

    def _put_queue(self, queue: QueueRecord) -> StoreError | None:
        before = self.ledger.queue(queue.uid)
        there = set() if before is None else {record.number for record in before.physical}
        kept = {record.number for record in queue.physical}
        if there & kept and any(self._physical[number].holds_any for number in there - kept):
            return StillHolds("a physical queue that was to go holds messages")
        self._end(queue, keep=kept)
        for record in queue.physical:
            self.records.reserved.pop(record.number, None)
            if record.number not in self._physical:
                self._begin(queue, record)
            self._physical[record.number].take_record(record)
        return None

    def _drop_queue(self, queue: QueueRecord) -> StoreError | None:
        self._end(queue, keep=set())
        self.leases.drop_queue(queue.uid)
        self.publications.drop_queue(queue.uid)
        self._pasts.pop(queue.uid, None)
        return None

    def _begin(self, queue: QueueRecord, record: PhysicalRecord) -> MemoryPhysical:
        past = self._pasts.setdefault(queue.uid, Past())
        pile = Pile(record, queue.fifo, past, self._clock, self._rng)
        physical = self._physical[record.number] = MemoryPhysical(record, pile, self.arrivals, self._unlanded)
        return physical

    def _end(self, queue: QueueRecord, keep: Set[int]) -> None:
        """Drop the physical queues that a queue has, but those with the numbers to keep."""
        before = self.ledger.queue(queue.uid)
        if before is None:
            return
        for record in before.physical:
            if record.number not in keep:
                self._physical.pop(record.number).drop()
        if not any(record.number in keep for record in before.physical):
            # Purged: forget the deduplication keys, so that the same messages can be sent again.
            self.publications.purge_queue(queue.uid)
            purged = self._pasts.pop(queue.uid, None)
            if purged is not None:
                # What was moved here once must not come again.
                self._pasts[queue.uid] = Past(purged.once)
