"""The store on Redis servers."""

import asyncio
import contextlib
from collections.abc import Sequence
from random import Random
from weakref import WeakValueDictionary

from rockdove.core.clock import Clock
from rockdove.core.errors import DataFolderError, StoreError
from rockdove.core.queue import PhysicalRecord, QueueRecord
from rockdove.store.base import (
    Arrived,
    Done,
    Duties,
    Effort,
    Landings,
    Leases,
    Physical,
    Publications,
    Sizing,
    Snapshot,
    Transfers,
)
from rockdove.store.common.arrivals import ArrivalListeners
from rockdove.store.common.ledger import Ledger
from rockdove.store.common.tasks import Tasks
from rockdove.store.redis.address import Address
from rockdove.store.redis.capability import RedisBrowsing, RedisUpkeep
from rockdove.store.redis.duty import RedisDuties
from rockdove.store.redis.flight import Flights
from rockdove.store.redis.landing import LANDING, RedisLandings
from rockdove.store.redis.lease import RedisLeases
from rockdove.store.redis.mender import Mender
from rockdove.store.redis.physical import RedisPhysical, key_of
from rockdove.store.redis.publish import RedisPublications
from rockdove.store.redis.record import RedisRecords
from rockdove.store.redis.server import Ask, Server
from rockdove.store.redis.servers import Servers
from rockdove.store.redis.size import RedisSizing
from rockdove.store.redis.transfer import RedisTransfers

# Where servers tell of changed records.
CHANGED = "rd:changed"


class RedisStore:
    """See `rockdove.store.base.Store`."""

    name = "redis"
    has_fast_claims = False
    full: str | None = None

    def __init__(self, address: Address, clock: Clock, rng: Random, loop: asyncio.AbstractEventLoop) -> None:
        self._clock = clock
        self._rng = rng
        self.servers = Servers(address, clock, loop, self._pushed)
        self.servers.on_join = self._joined
        self.servers.on_back = self._is_back
        self.ledger = Ledger(clock)
        self.arrivals = ArrivalListeners(self._begin_to_hear, self._stop_hearing)
        self._arrived: Arrived = lambda number, visible, next_us: None
        # As long as somebody uses them.
        self._physical: WeakValueDictionary[int, RedisPhysical] = WeakValueDictionary()
        self._flights: WeakValueDictionary[str, Flights] = WeakValueDictionary()
        self._tasks = Tasks(loop)
        self.records = RedisRecords(self.servers, self.ledger, clock, rng, self._tasks)
        leases = RedisLeases(self.servers, clock, self._tasks)
        self.leases: Leases | None = leases
        self._landings = RedisLandings(self.servers, self.ledger, clock, self._tasks, self._find)
        self.landings: Landings | None = self._landings
        self.publications: Publications | None = RedisPublications(self.servers, clock, self._tasks, self._landings)
        self.browsing = RedisBrowsing()
        self.upkeep = RedisUpkeep(clock)
        self.duties: Duties | None = RedisDuties(self.servers)
        self.sizing: Sizing | None = RedisSizing(self.servers)
        transfers = RedisTransfers(clock, self._find)
        self.transfers: Transfers | None = transfers
        self.mender = Mender(self.servers, clock, self._tasks, leases.finish, transfers.finish)
        self._is_open = False

    @property
    def effort(self) -> Effort:
        servers = self.servers.all
        return Effort(sum(server.calls for server in servers), sum(server.failed for server in servers))

    @property
    def trouble(self) -> str | None:
        """With more than half of the servers, all can be done but what waits for one of the others."""
        usable = [server for server in self.servers.up if server.short is None]
        return self.servers.trouble if len(usable) < self.servers.majority else None

    async def open(self) -> Snapshot:
        for server in self.servers.all:
            server.listen(CHANGED)
            server.listen(LANDING)
        await self.servers.open()
        try:
            await self.records.load()
        except StoreError as error:
            self.close()
            raise DataFolderError(str(error)) from None
        self._is_open = True
        for server in self.servers.up:
            self.records.is_back(server)
            with contextlib.suppress(StoreError):
                # One that is lost meanwhile tells when it is back.
                await self._landings.is_back(server)
        self.mender.start()
        return self.ledger.snapshot()

    def close(self) -> None:
        self._tasks.close()
        self.servers.close()

    def held_by(self, process: int) -> None:
        """Any number of processes may use it."""

    def be_shared(self) -> None:
        """It is as quick as it can be."""

    def delivered(self, physical: Physical, claims: Sequence[tuple[int, int]]) -> None:
        """What a front-end had claimed when it died comes back when its timeout has passed."""

    def refresh(self, physical: Sequence[Physical], done: Done[None]) -> None:
        parts = [part for part in physical if isinstance(part, RedisPhysical)]
        left = len(parts)
        if not left:
            done(None)
            return
        failed: StoreError | None = None

        def told(outcome: StoreError | None) -> None:
            nonlocal left, failed
            left -= 1
            failed = failed or outcome
            if not left:
                done(failed)

        for part in parts:
            part.refresh(told)

    def physical(self, queue: QueueRecord, record: PhysicalRecord) -> RedisPhysical:
        flights = self._flights.setdefault(queue.uid, Flights())
        flights.be_of(queue.physical)
        found = self._physical.get(record.number)
        if found is not None and found.record.prefix == record.prefix:
            physical = found
        else:
            physical = self._physical[record.number] = self._make(queue.uid, record, flights)
        physical.take_record(record, self.ledger.version)
        return physical

    def _make(self, uid: str, record: PhysicalRecord, flights: Flights) -> RedisPhysical:
        return RedisPhysical(record, uid, self.servers, self._clock, self._rng, flights)

    def _find(self, number: int) -> RedisPhysical:
        """A physical queue, also one that is no more."""
        queue = self.ledger.queue_with(number)
        if queue is None:
            return self._make("", PhysicalRecord(number, ""), Flights())
        return self.physical(queue, next(part for part in queue.physical if part.number == number))

    # Wake-ups.

    def on_arrival(self, arrived: Arrived) -> None:
        self._arrived = arrived

    def listen(self, physical: Physical) -> None:
        self.arrivals.listen(physical.record.number, self._arrived)

    def unlisten(self, physical: Physical) -> None:
        self.arrivals.unlisten(physical.record.number, self._arrived)

    def _begin_to_hear(self, number: int) -> None:
        self.servers.of_physical(number).listen(key_of(number))

    def _stop_hearing(self, number: int) -> None:
        self.servers.of_physical(number).unlisten(key_of(number))

    def _pushed(self, server: Server, channel: bytes, text: bytes) -> None:
        if channel == CHANGED.encode():
            self.records.changed(server, int(text))
            return
        if channel == LANDING.encode():
            self._landings.heard(text)
            return
        visible, _, next_us = text.partition(b" ")
        self.arrivals.tell(int(channel[4:-1]), int(visible), int(next_us) if next_us else None)

    async def _joined(self, server: Server, ask: Ask) -> None:
        server.version = int(await ask("GET", "rd:version") or 0)

    def _is_back(self, server: Server) -> None:
        """It may have missed changes of records, and whoever waits may have missed messages."""
        if self._is_open:
            self.records.is_back(server)
            self._tasks.run(self._landings.is_back(server))
            for number in [number for number in self.arrivals.heard if self.servers.of_physical(number) is server]:
                server.listen(key_of(number))
                self.arrivals.tell(number, 1)
