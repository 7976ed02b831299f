"""The store that keeps everything in memory, for tests and throw-away queues; it lasts as long as its object."""

import secrets
from collections.abc import Callable, Iterable, Sequence, Set
from random import Random

from msgspec import Struct

from rockdove.core.clock import Clock
from rockdove.core.errors import StoreError
from rockdove.core.message import Entry, Message
from rockdove.core.queue import DeletedQueue, PhysicalRecord, QueueRecord
from rockdove.store.base import (
    Arrived,
    Done,
    Duties,
    Effort,
    Physical,
    QueueDropped,
    QueuePut,
    Sizing,
    Snapshot,
    StillHolds,
)
from rockdove.store.common.arrivals import ArrivalListeners
from rockdove.store.common.ledger import Ledger
from rockdove.store.common.size import stored_bytes
from rockdove.store.memory.capability import MemoryBrowsing, MemoryTransfers, MemoryUpkeep
from rockdove.store.memory.lease import LeasesState, MemoryLeases
from rockdove.store.memory.past import Past, PastState
from rockdove.store.memory.physical import MemoryPhysical
from rockdove.store.memory.pile import Pile, PileState
from rockdove.store.memory.publish import MemoryPublications, PublicationsState
from rockdove.store.memory.record import MemoryRecords


class QueueState(Struct, array_like=True):
    """A queue with all it holds, as it is written down. ``closed``: numbers of those that are about to go."""

    queue: QueueRecord
    piles: list[PileState]
    closed: list[int]
    past: PastState
    leases: LeasesState
    publications: PublicationsState


class MemoryStore:
    """See `rockdove.store.base.Store`. Closed and opened again, the same object still has everything."""

    name = "memory"
    has_fast_claims = False
    duties: Duties | None = None
    sizing: Sizing | None = None
    # Memory has no faults that a program survives.
    trouble: str | None = None
    full: str | None = None
    effort = Effort()

    def __init__(
        self,
        clock: Clock,
        rng: Random,
        arrivals: ArrivalListeners | None = None,
        size: Callable[[Message], int] = stored_bytes,
        forgotten: Callable[[Entry], None] = lambda entry: None,
        first: int = 0,
    ) -> None:
        """``size``: how many bytes a message has. ``forgotten`` is called with each entry that is removed. ``first`` is
        where the sequence numbers of standard queues begin."""
        self._first = first
        self._size = size
        self._forgotten = forgotten
        self._clock = clock
        self._rng = rng
        self.ledger = Ledger(clock)
        self.ledger.secret = secrets.token_bytes(32)
        self.arrivals = ArrivalListeners() if arrivals is None else arrivals
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

    def forget(self) -> None:
        """Nobody uses it any more: its parts, which know each other, go at once."""
        vars(self).clear()

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

    # For who keeps one queue in each such store.

    def find(self, number: int) -> MemoryPhysical | None:
        return self._physical.get(number)

    @property
    def places(self) -> Iterable[MemoryPhysical]:
        return self._physical.values()

    def close_places(self, numbers: Sequence[int]) -> StoreError | None:
        """They take no more messages, being empty; if one is not, nothing changes."""
        places = [self._physical[number] for number in numbers if number in self._physical]
        if any(place.holds_any for place in places):
            return StillHolds("a physical queue that was to go holds messages")
        for place in places:
            place.is_closed = True
        return None

    def set_queue(self, queue: QueueRecord) -> StoreError | None:
        """Put its record at once."""
        failed = self._put_queue(queue)
        if failed is None:
            self.ledger.hear(QueuePut(self.ledger.version + 1, queue))
        return failed

    def end_queue(self, uid: str) -> None:
        """Drop it at once."""
        queue = self.ledger.queue(uid)
        if queue is not None:
            self._drop_queue(queue)
            gone = DeletedQueue(queue.account, queue.name, 0)
            self.ledger.hear(QueueDropped(self.ledger.version + 1, uid, gone))

    def forget_once(self, uid: str, keys: Sequence[str]) -> None:
        """Nobody appends by these keys any more."""
        past = self._pasts.get(uid)
        if past is not None:
            for key in keys:
                past.once.drop(key)

    def state(self, uid: str) -> "QueueState":
        """A queue as it is."""
        queue = self.ledger.queue(uid)
        assert queue is not None
        places = [self._physical[part.number] for part in queue.physical]
        piles = [place.pile.state() for place in places if place.pile is not None]
        closed = [place.record.number for place in places if place.is_closed]
        past = self._pasts.setdefault(uid, Past()).state()
        return QueueState(queue, piles, closed, past, self.leases.state(), self.publications.state())

    def take_state(self, state: "QueueState") -> None:
        """Have the queue that another one had; being new."""
        queue = state.queue
        self.ledger.load([queue], (), (), (), (), ())
        for pile in state.piles:
            physical = self._begin(queue, pile.record)
            assert physical.pile is not None
            physical.pile.take_state(pile)
            physical.is_closed = pile.record.number in state.closed
        self._pasts.setdefault(queue.uid, Past()).take_state(state.past)
        self.leases.take_state(state.leases)
        self.publications.take_state(state.publications)

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
        first = 0 if queue.fifo else self._first
        pile = Pile(record, queue.fifo, past, self._clock, self._rng, self._size, self._forgotten, first)
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
