"""The store of a front-end: another process has the data, and does what it is asked for."""

import asyncio
from collections.abc import Callable, Sequence
from weakref import WeakValueDictionary

from rockdove.core.clock import Clock, SystemClock
from rockdove.core.errors import StoreError
from rockdove.core.queue import PhysicalRecord, QueueRecord
from rockdove.store import base
from rockdove.store.base import Arrived, Done, Effort, Hint, Physical, Snapshot
from rockdove.store.remote import asked, told
from rockdove.store.remote.capability import (
    RemoteBrowsing,
    RemoteLeases,
    RemotePublications,
    RemoteTransfers,
    RemoteUpkeep,
)
from rockdove.store.remote.link import Link
from rockdove.store.remote.physical import RemotePhysical
from rockdove.store.remote.record import RemoteRecords

# After so many seconds without a word the owner hangs.
SILENT_S = 3.0
SILENT = "the process that has the data does not answer"
# Without the owner, changes fail.
AWAY = "the process that has the data is not there; it is started again"


class RemoteStore:
    """See `rockdove.store.base.Store`. While the owner is away, every call fails at once; then all goes on."""

    name = "remote"
    has_fast_claims = False
    duties: base.Duties | None = None
    # The owner tells it.
    sizing: base.Sizing | None = None

    def __init__(self, path: str, clock: Clock) -> None:
        """``path`` is the owner's Unix socket. ``clock`` is set as the owner's is."""
        self._clock = clock
        self.link = Link(path, self._begin, self._notice)
        self.records = RemoteRecords(self.link)
        # Known when the owner was reached.
        self.browsing: base.Browsing | None = None
        self.upkeep: base.Upkeep | None = None
        self.transfers: base.Transfers | None = None
        self.leases: base.Leases | None = None
        self.publications: base.Publications | None = None
        # The owner's business.
        self.landings: base.Landings | None = None
        self._state = told.State(None, None, Effort())
        self._loop = asyncio.get_running_loop()
        self._first: asyncio.Future[Snapshot] = self._loop.create_future()
        # Those that somebody has at hand.
        self._physical: WeakValueDictionary[int, RemotePhysical] = WeakValueDictionary()
        self._arrived: Arrived = lambda number, visible, next_us: None
        self._listened: dict[int, None] = {}
        self._delivered: list[tuple[int, int]] = []
        # Called when the owner is there again.
        self.on_return: Callable[[], None] = lambda: None
        # Called with what other front-ends say, by its topic.
        self.told: dict[str, Callable[[bytes], None]] = {}

    async def open(self) -> Snapshot:
        """Waits for the owner."""
        self.link.start()
        return await self._first

    def close(self) -> None:
        if self._delivered:
            self._say_delivered()
        self.link.close()

    @property
    def full(self) -> str | None:
        return self._state.full

    @property
    def trouble(self) -> str | None:
        if not self.link.is_up:
            return AWAY
        if self._loop.time() - self.link.heard_s > SILENT_S:
            return SILENT
        return self._state.trouble

    @property
    def effort(self) -> Effort:
        return self._state.effort

    def physical(self, queue: QueueRecord, record: PhysicalRecord) -> RemotePhysical:
        found = self._physical.get(record.number)
        if found is None or found.record.prefix != record.prefix:
            found = self._physical[record.number] = RemotePhysical(self.link, record)
        found.record = record
        return found

    def delivered(self, physical: Physical, claims: Sequence[tuple[int, int]]) -> None:
        """Said a round of the loop later: by then the answer has left, and is not lost if this process is killed."""
        if not self._delivered:
            self._loop.call_soon(self._say_delivered)
        self._delivered += claims

    def _say_delivered(self) -> None:
        entries, self._delivered = self._delivered, []
        if entries:
            self.link.say(asked.Delivered(entries))

    def refresh(self, physical: Sequence[Physical], done: Done[None]) -> None:
        def refreshed(hints: list[Hint] | StoreError) -> None:
            if isinstance(hints, StoreError):
                hints = [base.UNKNOWN] * len(physical)
            for each, hint in zip(physical, hints, strict=True):
                assert isinstance(each, RemotePhysical)
                each.known = hint
            done(None)

        self.link.ask(refreshed, asked.Refresh, [each.record.number for each in physical])

    # Wake-ups.

    def on_arrival(self, arrived: Arrived) -> None:
        self._arrived = arrived

    def listen(self, physical: Physical) -> None:
        self._listened[physical.record.number] = None
        self.link.say(asked.Listen(physical.record.number))

    def unlisten(self, physical: Physical) -> None:
        self._listened.pop(physical.record.number, None)
        self.link.say(asked.Unlisten(physical.record.number))

    # Other front-ends.

    def tell(self, topic: str, payload: bytes) -> None:
        """Say something to all other front-ends, and to the owner."""
        self.link.say(asked.Tell(topic, payload))

    def call(self, topic: str, payload: bytes, done: Done[bytes]) -> None:
        """Ask the owner for something that is no business of the store's."""
        self.link.ask(done, asked.AskOwner, topic, payload)

    # What the owner says.

    def _begin(self, begin: told.Begin) -> None:
        self._take_state(begin.state)
        if not self._first.done():
            self.name, self.has_fast_claims = begin.store, begin.has_fast_claims
            self._take_capabilities(begin.capabilities)
            self._first.set_result(begin.snapshot)
            return
        for each in self._physical.values():
            each.known = base.UNKNOWN
        self.on_return()
        self.records.reset(begin.snapshot)
        for number in list(self._listened):
            self.link.say(asked.Listen(number))
            # Something may have come meanwhile.
            self._arrived(number, 1, None)

    def _take_state(self, state: told.State) -> None:
        self._state = state
        if isinstance(self._clock, SystemClock):
            self._clock.offset_us = state.offset_us

    def _take_capabilities(self, there: Sequence[str]) -> None:
        link = self.link
        self.browsing = RemoteBrowsing(link) if "browsing" in there else None
        self.upkeep = RemoteUpkeep(link) if "upkeep" in there else None
        self.transfers = RemoteTransfers(link) if "transfers" in there else None
        self.leases = RemoteLeases(link) if "leases" in there else None
        self.publications = RemotePublications(link) if "publications" in there else None

    def _notice(self, notice: told.Notice) -> None:
        match notice:
            case told.Arrived(physical=number, visible=visible, next_us=next_us):
                self._arrived(number, visible, next_us)
            case told.Changed(change=change):
                self.records.changed(change)
            case told.State():
                self._take_state(notice)
            case told.Passed(topic=topic, payload=payload):
                listener = self.told.get(topic)
                if listener is not None:
                    listener(payload)
