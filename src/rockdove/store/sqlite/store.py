"""The embedded store: one SQLite file, one writer thread, group commit; what is reported done is on disk."""

import asyncio
import random
from collections.abc import Sequence
from pathlib import Path

import apsw

from rockdove.core.clock import SECOND_US, Clock
from rockdove.core.errors import FolderFull
from rockdove.core.limits import COOL_DOWN_S, DEDUPLICATION_S, RECEIVE_ATTEMPT_S
from rockdove.core.queue import PhysicalRecord, QueueRecord
from rockdove.store.base import Arrived, Done, Duties, Effort, Physical, Sizing, Snapshot
from rockdove.store.common.arrivals import ArrivalListeners
from rockdove.store.common.ledger import Ledger
from rockdove.store.sqlite.browsing import SqliteBrowsing
from rockdove.store.sqlite.capability import SqliteTransfers, SqliteUpkeep
from rockdove.store.sqlite.damage import log_damage
from rockdove.store.sqlite.folder import LOG, Folder, damaged
from rockdove.store.sqlite.inspection import inspect
from rockdove.store.sqlite.janitor import Janitor
from rockdove.store.sqlite.landing import SqliteLandings
from rockdove.store.sqlite.lease import SqliteLeases
from rockdove.store.sqlite.publish import SqlitePublications, forget_publications
from rockdove.store.sqlite.record import SqliteRecords
from rockdove.store.sqlite.room import FULL, Room, keep_log
from rockdove.store.sqlite.shared import Shared
from rockdove.store.sqlite.shelves import Shelves
from rockdove.store.sqlite.size import SqliteSizing
from rockdove.store.sqlite.standard import Face
from rockdove.store.sqlite.writer import Writer


class SqliteStore:
    """See `rockdove.store.base.Store`. For the event loop's thread, but for what takes a connection."""

    name = "sqlite"
    has_fast_claims = False
    duties: Duties | None = None

    def __init__(self, folder: Path, clock: Clock, rng: random.Random, loop: asyncio.AbstractEventLoop) -> None:
        self._folder = Folder(folder)
        self._clock = clock
        self._loop = loop
        self._room = Room(folder, self._room_changed)
        # Why nothing can be sent at the moment; None: it can.
        self.full: str | None = None
        self.writer = Writer(self._connect_marked, self._room, loop)
        self.writer.on_failure = self._abandon
        self.arrivals = ArrivalListeners()
        self.ledger = Ledger(clock)
        shared = Shared(self.writer, clock, rng, self._room, self.arrivals)
        self._shelves = Shelves(shared)
        self.writer.on_rest = self._shelves.weigh
        self._arrived: Arrived = lambda number, visible, next_us: None
        self.landings = SqliteLandings(shared)
        self.records = SqliteRecords(
            shared,
            self._shelves,
            self.ledger,
            lambda dropped: self._janitor.empty(dropped),
            self.landings.unlanded.drop_queue,
        )
        self._janitor = Janitor(self.writer, self._room, loop, self._is_ill, self.records.free_number, self._forget_old)
        self.browsing = SqliteBrowsing(self.writer)
        self.upkeep = SqliteUpkeep(self._shelves, self.ledger)
        self.sizing: Sizing | None = SqliteSizing(folder, loop)
        self.transfers = SqliteTransfers(shared)
        self.leases = SqliteLeases(shared, self._shelves)
        self.publications = SqlitePublications(shared, self.landings)

    async def open(self) -> Snapshot:
        """Blocks while it reads: nothing else is served before."""
        self._folder.take()
        try:
            wrong = log_damage(self._folder.path)
            if wrong is not None:
                raise damaged(self._folder.path, wrong, LOG)
            db = self._connect()
            try:
                inspect(self._folder, db)
                self.records.load(db)
                self.landings.load(db)
            except (apsw.CorruptError, apsw.SQLError, ValueError, TypeError) as error:
                raise damaged(self._folder.path, str(error)) from None
            finally:
                keep_log(self._folder.path, db)
                db.close()
        except BaseException:
            self._folder.mark()
            self._folder.release()
            raise
        self.writer.heavy_bytes = self._room.commit_bytes()
        self.writer.start()
        self._janitor.start()
        self._shelves.open_full(self.ledger.queue_with)
        return self.ledger.snapshot()

    def _connect(self) -> apsw.Connection:
        try:
            return self._folder.connect()
        except FolderFull:
            if not self._room.is_kept_back():
                raise
            self._room.give_up()
            self.full = FULL
            return self._folder.connect()

    def _connect_marked(self) -> apsw.Connection:
        """In the writer's thread, or the checkpoint's."""
        db = self._folder.connect()
        self._folder.mark()
        return db

    def _room_changed(self, full: str | None) -> None:
        """Where a batch is written: in the writer's thread, or in the loop."""

        def change() -> None:
            self.full = full

        if not self._loop.is_closed():
            self._loop.call_soon_threadsafe(change)

    def close(self) -> None:
        self._janitor.stop()
        self._folder.unmark()
        self.writer.stop()
        self._folder.release()

    def physical(self, queue: QueueRecord, record: PhysicalRecord) -> Face:
        return self._shelves.of(queue, record)

    def held_by(self, process: int) -> None:
        self._folder.holder = process

    def be_shared(self) -> None:
        self.writer.alone = True

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

    @property
    def trouble(self) -> str | None:
        return self.writer.trouble

    @property
    def effort(self) -> Effort:
        return Effort(self.writer.commits, self.writer.failures, self.writer.busy_s)

    def _is_ill(self) -> bool:
        return self.trouble is not None or self.full is not None

    def _abandon(self) -> None:
        self._shelves.abandon()
        self._janitor.hurry()

    def _forget_old(self, db: apsw.Connection) -> None:
        """Deduplication keys, attempts, publications and deleted names are kept only for as long as they matter."""
        now = self._clock.now_us()
        db.execute("DELETE FROM seen WHERE at_us <= ?", (now - DEDUPLICATION_S * SECOND_US,))
        db.execute("DELETE FROM attempt WHERE at_us <= ?", (now - RECEIVE_ATTEMPT_S * SECOND_US,))
        # Of a time that has not come yet: the clock was set back.
        db.execute("DELETE FROM seen WHERE at_us >= ?", (now + DEDUPLICATION_S * SECOND_US,))
        forget_publications(db, now)
        db.execute("DELETE FROM deleted WHERE deleted_us <= ?", (now - COOL_DOWN_S * SECOND_US,))
