"""The store on Apache Cassandra."""

import asyncio
import secrets
from collections.abc import Sequence
from random import Random
from weakref import WeakValueDictionary

from rockdove.core.clock import Clock
from rockdove.core.errors import DataFolderError, StoreError, StoreInterrupted
from rockdove.core.queue import PhysicalRecord, QueueRecord
from rockdove.store.base import (
    Arrived,
    Done,
    Duties,
    Effort,
    Hint,
    Landings,
    Leases,
    Physical,
    Publications,
    Sizing,
    Snapshot,
    Transfers,
)
from rockdove.store.cassandra import schema
from rockdove.store.cassandra.address import Address
from rockdove.store.cassandra.agreed import AgreedPhysical, AgreedPlaces, AgreedTransfers, Replicas
from rockdove.store.cassandra.bodies import Bodies
from rockdove.store.cassandra.comparison import ClockComparison
from rockdove.store.cassandra.duty import CassandraDuties
from rockdove.store.cassandra.index.queues import IndexedQueues
from rockdove.store.cassandra.index.voice import SIGNS
from rockdove.store.cassandra.landing import AgreedLandings
from rockdove.store.cassandra.peers import Peers
from rockdove.store.cassandra.record import JOURNAL, CassandraRecords, Numbers
from rockdove.store.cassandra.session import Session
from rockdove.store.cassandra.size import CassandraSizing
from rockdove.store.common.arrivals import ArrivalListeners
from rockdove.store.common.ledger import Ledger
from rockdove.store.common.tasks import Tasks
from rockdove.store.remote.capability import RemoteBrowsing, RemoteLeases, RemotePublications, RemoteUpkeep

# Seconds between two looks at queues that somebody listens to, for the case that nobody has told.
LOOK_S = 1.0
# Seconds between two looks at the clock.
CLOCK_S = 1.0
# How often a new keyspace is given its identity, if nodes do not answer in time.
FOUND_TRIES = 4
# Seconds that what was begun has to be finished when the store is closed.
FINISH_S = 5.0


class CassandraStore:
    """See `rockdove.store.base.Store`."""

    name = "cassandra"
    has_fast_claims = True
    full: str | None = None

    def __init__(self, address: Address, clock: Clock, rng: Random, loop: asyncio.AbstractEventLoop) -> None:
        self._loop = loop
        self.session = Session(address, loop)
        self._comparison = ClockComparison(self.session, clock)
        self.ledger = Ledger(clock)
        self._tasks = Tasks(loop)
        self.arrivals = ArrivalListeners()
        self._arrived: Arrived = lambda number, visible, next_us: None
        # As long as somebody uses them.
        self._physical: WeakValueDictionary[int, AgreedPhysical] = WeakValueDictionary()
        bodies = Bodies(self.session, clock)
        self.peers = Peers(self.session, address, self._tasks, loop, self._heard)
        self.replicas = Replicas(self.session, clock, self.ledger, bodies, self.arrivals, self, self._tasks)
        self.index = IndexedQueues(
            self.session, clock, rng, self.ledger, self.replicas, self.arrivals, self.peers, self._tasks, loop
        )
        places = self._places = AgreedPlaces(self.replicas, self.index, bodies, self._tasks, self.ledger)
        self.records = CassandraRecords(
            self.session, Numbers(self.session), self.ledger, places, self._tasks, self._changed
        )
        self.browsing = RemoteBrowsing(self.index)
        self.upkeep = RemoteUpkeep(self.index)
        self.leases: Leases | None = RemoteLeases(self.index)
        self.publications: Publications | None = RemotePublications(self.replicas)
        self._landings = AgreedLandings(
            self.replicas, bodies, self._tasks, loop, lambda uid: self.ledger.queue(uid) is not None
        )
        self.landings: Landings | None = self._landings
        self.transfers: Transfers | None = AgreedTransfers(self.replicas, self.index, self._tasks)
        self.duties: Duties | None = CassandraDuties(self.session, self._tasks)
        self.sizing: Sizing | None = CassandraSizing(self.session, self._tasks)

    @property
    def effort(self) -> Effort:
        return Effort(self.session.calls, self.session.failed)

    @property
    def trouble(self) -> str | None:
        return self.session.trouble

    async def open(self) -> Snapshot:
        await self.session.open()
        try:
            await self._comparison.make()
            self.session.space, self.ledger.secret = await self._identify()
            await self.peers.open(self.ledger.secret)
            await self.records.open()
        except (StoreError, OSError) as error:
            self.close()
            raise DataFolderError(str(error)) from None
        self._tasks.run(self._look())
        self._tasks.run(self._watch_clock())
        self._tasks.run(self._landings.begin())
        self._tasks.run(self._places.begin())
        self._tasks.run(self.index.begin())
        return self.ledger.snapshot()

    async def _identify(self) -> tuple[str, bytes]:
        """What names begin with, and the key under which receipt handles are signed: of whoever was first."""
        for at in range(FOUND_TRIES):
            try:
                await self.session.ask_agreed(schema.FOUND, secrets.token_hex(6), secrets.token_bytes(32))
                break
            except StoreInterrupted:
                # It may be done, by whomever: the read below tells. Nodes that have just begun are slow.
                if at == FOUND_TRIES - 1:
                    raise
        ((space, secret),) = await self.session.ask_serial(schema.READ_IDENTITY)
        return space, secret

    def close(self) -> None:
        self._tasks.close()
        self.peers.close()
        if self._is_busy:
            # What was begun is finished, if the loop goes on for so long.
            self._loop.create_task(self._finish())
        else:
            self.session.close()

    @property
    def _is_busy(self) -> bool:
        return self.replicas.is_busy or self.index.is_busy

    async def _finish(self) -> None:
        deadline_s = self._loop.time() + FINISH_S
        while self._is_busy and self._loop.time() < deadline_s:
            await asyncio.sleep(0.01)
        self.replicas.close()
        self.session.close()

    def held_by(self, process: int) -> None:
        """Any number of processes may use it."""

    def be_shared(self) -> None:
        """It is as quick as it can be."""

    def delivered(self, physical: Physical, claims: Sequence[tuple[int, int]]) -> None:
        """What a front-end had claimed when it died comes back when its timeout has passed."""

    def refresh(self, physical: Sequence[Physical], done: Done[None]) -> None:
        self._tasks.tell(self._refresh([each for each in physical if isinstance(each, AgreedPhysical)]), done)

    async def _refresh(self, physical: Sequence[AgreedPhysical]) -> None:
        hints = await asyncio.gather(*map(self._hint, physical))
        # All at once: they hold for a moment only.
        for each, hint in zip(physical, hints, strict=True):
            each.take_hint(hint)

    async def _hint(self, physical: AgreedPhysical) -> Hint:
        agreed = await self.replicas.of(physical.uid).hint(physical.record.number)
        indexed = await self.index.hint(physical.record.number)
        times = [hint.next_us for hint in (agreed, indexed) if hint.next_us is not None]
        may_hold_any = agreed.may_hold_any or indexed.may_hold_any
        return Hint(min(times, default=None), may_hold_any, agreed.may_be_noisy)

    def physical(self, queue: QueueRecord, record: PhysicalRecord) -> AgreedPhysical:
        found = self._physical.get(record.number)
        if found is None or found.record.prefix != record.prefix:
            found = self._physical[record.number] = AgreedPhysical(self.index, queue.uid, record)
        found.record = record
        return found

    # Wake-ups.

    def on_arrival(self, arrived: Arrived) -> None:
        self._arrived = arrived

    def listen(self, physical: Physical) -> None:
        self.arrivals.listen(physical.record.number, self._arrived)

    def unlisten(self, physical: Physical) -> None:
        self.arrivals.unlisten(physical.record.number, self._arrived)

    async def _look(self) -> None:
        while True:
            await asyncio.sleep(LOOK_S)
            for number in list(self.arrivals.heard):
                self.index.look(number)
            for uid in {queue.uid for number in list(self.arrivals.heard) if (queue := self.ledger.queue_with(number))}:
                replica = self.replicas.of(uid)
                self._tasks.run(replica.journal.catch_up())

    async def _watch_clock(self) -> None:
        while True:
            await asyncio.sleep(CLOCK_S)
            try:
                await self.session.check()
                await self._comparison.make()
            except StoreError:
                continue
            except Exception as error:
                # Whatever it is: nobody else would see that all is well again, or a clock that is wrong.
                context = {"message": "a look at Cassandra has failed", "exception": error}
                self._loop.call_exception_handler(context)

    # Between front-ends.

    def _changed(self) -> None:
        self.peers.tell(JOURNAL, self.records.journal.version)

    def added(self, uid: str, version: int) -> None:
        """See `rockdove.store.cassandra.replica.Following`."""
        self.peers.tell(uid, version)

    def landing(self, uid: str, is_own: bool) -> None:
        self._landings.heard(uid, is_own)

    def _heard(self, name: str, version: int) -> None:
        if name == JOURNAL:
            if version > self.records.journal.version:
                self.records.heard()
            return
        if name[0] in SIGNS:
            self.index.heard(name)
            return
        replica = self.replicas.get(name)
        if replica is not None and version > replica.journal.version:
            self._tasks.run(replica.journal.catch_up())
