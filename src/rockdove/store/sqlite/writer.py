"""The one thread that writes, and its group commit: one transaction, one fsync, for all that is waiting.

The event loop collects changes in a `Batch`. As soon as the thread is free it takes the whole batch, applies it with a
few statements that carry many rows each (a statement costs two hand-overs of the interpreter lock, however many rows it
has), commits, and the loop then tells everybody who waits. In a process that does little else, the loop writes small
batches itself while the thread is at rest.
"""

import asyncio
import contextlib
import logging
import threading
from collections import deque
from collections.abc import Callable
from itertools import repeat
from queue import SimpleQueue
from time import perf_counter
from typing import Any, TypeAlias

import apsw
import msgspec

from rockdove.core.errors import DataFolderError, StoreError, StoreFull
from rockdove.store.sqlite import statement
from rockdove.store.sqlite.room import BATCH_BYTES, CHANGED_BYTES, COMMIT_BYTES, FULL, Room, written_bytes
from rockdove.store.sqlite.session import Session, failure

log = logging.getLogger("rockdove")

# So many in a batch are worth a commit, whatever else is coming.
ENOUGH = 256
# Columns of an append that may have any length, the first as bytes, and how many bytes a character may take.
BODY, EXTRA = 7, 8
MOST_UTF8 = 4
# Batches between two moments of rest, and what they may bring into memory.
REST_EVERY = 128
REST_BYTES = 16 * 1024 * 1024
# Rows that a call changes, about.
ROWS_A_CALL = 4
# What takes longer, or brings more, would keep the event loop too long: the thread writes it.
QUICK_S = 0.002
QUICK_BYTES = 256 * 1024
QUICK_SIZE = 1024

# Runs in the writer's thread inside the transaction, after the batch's rows.
Call: TypeAlias = Callable[[apsw.Connection], Any]
Landed: TypeAlias = Callable[[Any], None]
Aside: TypeAlias = tuple[Callable[[apsw.Connection], None], Callable[[], None]]


class Batch:
    """Changes that go to disk together."""

    __slots__ = (
        "appends",
        "calls",
        "changed",
        "failed",
        "gone",
        "kept_bytes",
        "moves",
        "refused",
        "removed",
        "results",
        "senders",
        "sent_bytes",
        "unsure",
        "waiting",
    )

    def __init__(self) -> None:
        # Rows as `rockdove.store.sqlite.statement` has them, flat. Applied in this order: an entry is known, and can be
        # moved, only when its append has landed; and what is removed is not moved afterwards.
        self.appends: list[Any] = []
        self.moves: list[Any] = []
        self.removed: list[int] = []
        # What was removed, and the state in which it was: when visible, and whether ever received. Of those that are
        # not known in memory the thread finds it out.
        self.gone: dict[int, tuple[int, bool]] = {}
        self.unsure: list[int] = []
        # With the bytes that messages take which the call brings; 0: it brings none, and is never refused.
        self.calls: list[tuple[Call, Landed, int]] = []
        # Called in order when the batch has landed, with None or the error; first those who sent what is in `appends`.
        self.senders: list[Callable[[StoreError | None], None]] = []
        self.waiting: list[Callable[[StoreError | None], None]] = []
        # About what messages bring, so that a batch does not become too large.
        self.sent_bytes = 0
        # What calls may keep on the disk that bring no messages: not left out, they look at the room themselves.
        self.kept_bytes = 0
        # Why what brings messages was left out.
        self.refused: StoreError | None = None
        self.results: list[Any] = []
        self.failed: StoreError | None = None
        # Whether it wrote anything: to read tells nothing of whether the disk takes changes.
        self.changed = False

    @property
    def size(self) -> int:
        """A measure of what it holds, for who wants to know whether it grows: rows, calls and listeners."""
        rows = (len(self.appends) + len(self.moves)) // statement.WIDTH
        return rows + len(self.removed) + len(self.calls) + len(self.senders) + len(self.waiting)

    @property
    def incoming_bytes(self) -> int:
        """What the messages in it take on the disk, and other rows; 0: there are none."""
        number = sum([size for _, _, size in self.calls]) + self.kept_bytes
        if self.appends:
            extras = [extra for extra in self.appends[EXTRA :: statement.WIDTH] if extra]
            size = sum(map(len, self.appends[BODY :: statement.WIDTH]))
            size += sum([len(extra) * (1 if extra.isascii() else MOST_UTF8) for extra in extras])
            number += written_bytes(len(self.appends) // statement.WIDTH, size)
        return number + BATCH_BYTES if number else 0

    def doubt(self) -> None:
        """What was known in memory is no longer sure."""
        self.unsure += self.gone
        self.gone.clear()


class Writer:
    """Owns the writing connection. All methods are for the event loop's thread."""

    def __init__(self, connect: Callable[[], apsw.Connection], room: Room, loop: asyncio.AbstractEventLoop) -> None:
        # Of the thread, but for `_store` while the thread is at rest.
        self._session = Session(connect, room)
        self._room = room
        self._loop = loop
        self._inbox: SimpleQueue[Batch | Aside | None] = SimpleQueue()
        self._thread = threading.Thread(target=self._run, name="rockdove-writer", daemon=True)
        self._busy = False
        self._scheduled = False
        self._gathered = 0
        # Whether the process has little to do but write. Then no batch waits for more to come, and the loop itself
        # writes what is quickly written: to wake the thread would cost more.
        self.alone = False
        # How much the thread was given to do, and how much of it is done. Only the thread changes the second.
        self._given = 0
        self._done = 0
        # What the last batch took.
        self._took_s = 0.0
        self._closed = False
        self.batch = Batch()
        # Those that are large enough, and wait for their turn; and when a batch is.
        self._heavy: deque[Batch] = deque()
        self.heavy_bytes = COMMIT_BYTES
        self._spent: Batch | None = None
        # What was brought into memory since the last moment of rest.
        self.cached_bytes = 0
        # How many batches have landed: who wants to know whether anything was written compares.
        self.commits = 0
        # Why the last batch failed; None: it has landed.
        self.trouble: str | None = None
        self.failures = 0
        # Seconds that were spent on batches. Changed by whoever writes one.
        self.busy_s = 0.0
        # Called now and then, between two batches.
        self.on_rest: Callable[[], None] = lambda: None
        # Called when nothing of a batch was stored, before those who wait for it are told.
        self.on_failure: Callable[[], None] = lambda: None

    def start(self) -> None:
        self._thread.start()

    def stop(self) -> None:
        """Write what is waiting, and end. Nobody is told any more: the loop is no longer running."""
        self._closed = True
        for batch in (*self._heavy, self.batch):
            self._inbox.put(batch)
        self._inbox.put(None)
        self._thread.join()

    def wait(self, landed: Callable[[StoreError | None], None]) -> None:
        """Be told when all that was put into the batch so far has landed."""
        self.batch.waiting.append(landed)
        if not (self._busy or self._scheduled):
            self._gather()

    def wait_sent(self, landed: Callable[[StoreError | None], None]) -> None:
        """The same for who appends: he may be refused while the others are not."""
        self.batch.senders.append(landed)
        if not (self._busy or self._scheduled):
            self._gather()

    def call(
        self,
        call: Call,
        landed: Landed,
        messages: int = 0,
        size_bytes: int = 0,
        kept_bytes: int = 0,
        frees: bool = False,
    ) -> None:
        """Run something inside the transaction, after the batch's rows; ``landed`` gets its result or the error.

        Who brings messages says how many, and their bytes; also whether it frees as many, and so is run on a full disk.
        Who may keep a row of another kind says its bytes, and keeps none if the room is full.
        """
        self.batch.kept_bytes += kept_bytes
        self.batch.calls.append((call, landed, 0 if frees else written_bytes(messages, size_bytes)))
        if not (self._busy or self._scheduled):
            self._gather()
        if messages:
            self.batch.sent_bytes += size_bytes
            if self.batch.sent_bytes > self.heavy_bytes:
                self.close_batch()

    def make_way(self) -> None:
        """On a disk that is nearly full, end a batch that has become large: the log must have room for it."""
        if not self._room.low:
            return
        batch = self.batch
        rows = len(batch.moves) // statement.WIDTH + len(batch.removed) + ROWS_A_CALL * len(batch.calls)
        if rows * CHANGED_BYTES > self.heavy_bytes:
            self.close_batch()

    def close_batch(self) -> None:
        """What was sent is enough for a commit: the next goes into another batch."""
        self._heavy.append(self.batch)
        self.batch = Batch()

    def _gather(self) -> None:
        """Send the batch when a round of the event loop has brought nothing new.

        As long as requests are there to be read, to read them is the better use of the interpreter: the thread would
        wait for it, wake up in vain again and again, and get a smaller batch.
        """
        self._scheduled = True
        self._gathered = self.batch.size
        self._loop.call_soon(self._send)

    def _send(self) -> None:
        self._scheduled = False
        if self._busy or self._closed:
            return
        if self._heavy:
            batch = self._heavy.popleft()
        elif not self.alone and self._gathered < self.batch.size < ENOUGH:
            self._gather()
            return
        else:
            batch, self.batch = self.batch, Batch()
        self._busy = True
        if self.alone and self._is_quick(batch):
            self._store(batch)
            self._land(batch)
            return
        self._give(batch)
        # To take the last batch apart costs time, which is free while the thread wakes up.
        self._spent = None

    def _is_quick(self, batch: Batch) -> bool:
        """Whether the loop may write it by itself: rows alone, on a disk that is quick, with the thread at rest."""
        return (
            self._done == self._given
            and not batch.calls
            and batch.sent_bytes < QUICK_BYTES
            and batch.size < QUICK_SIZE
            and self._took_s < QUICK_S
            and not self._session.is_care_due
        )

    def _give(self, work: Batch | Aside) -> None:
        self._given += 1
        self._inbox.put(work)

    def aside(self, work: Callable[[apsw.Connection], None], done: Callable[[], None]) -> None:
        """Run maintenance in the writer's thread between two batches, outside a transaction. It may fail."""
        self._give((work, done))

    def _land(self, batch: Batch) -> None:
        self._busy = False
        self._spent = batch
        self.commits += 1
        self.cached_bytes += batch.sent_bytes
        if not self.commits % REST_EVERY or self.cached_bytes > REST_BYTES:
            self.cached_bytes = 0
            self.on_rest()
        failed = batch.failed
        if failed is not None:
            self._fail(failed)
        elif self.trouble is not None and batch.changed:
            self.trouble = None
            log.warning("the store takes changes again", extra={"event": "store-recovered"})
        for landed in batch.senders:
            self.tell(landed, failed or batch.refused)
        for landed in batch.waiting:
            self.tell(landed, failed)
        for (_, told, _), result in zip(batch.calls, batch.results or repeat(failed), strict=False):
            self.tell(told, result)
        rest = self.batch
        if (self._heavy or rest.senders or rest.waiting or rest.calls) and not self._scheduled:
            self._gather()

    def _fail(self, failed: StoreError) -> None:
        # Told once: while the disk is full, every request would write a line otherwise.
        if self.trouble is None:
            log.error("the store fails, and requests are told so: %s", failed, extra={"event": "store-trouble"})
        self.trouble = str(failed)
        self.failures += 1
        for batch in (*self._heavy, self.batch):
            batch.doubt()
        self.on_failure()

    def tell(self, listener: Callable[[Any], None], outcome: Any) -> None:
        """One listener's defect is not the others'."""
        try:
            listener(outcome)
        except Exception as error:
            self._loop.call_exception_handler({"message": "a store's caller failed", "exception": error})

    def _run(self) -> None:
        while (work := self._inbox.get()) is not None:
            if isinstance(work, Batch):
                self._store(work)
                if not self._closed:
                    self._loop.call_soon_threadsafe(self._land, work)
                self._session.after_commit()
            else:
                self._maintain(*work)
            self._done += 1
            # Let go of the batch before waiting for the next, so that the event loop frees it when it has time.
            work = None
        self._session.close()

    def _store(self, batch: Batch) -> None:
        """In the thread, or in the loop while the thread rests."""
        session = self._session
        incoming = batch.incoming_bytes

        def apply(db: apsw.Connection) -> None:
            # Asked each time: what was tried in vain is tried again without what fills the disk.
            batch.refused = StoreFull(FULL) if incoming and not session.admits(db, incoming) else None
            before = db.total_changes()
            _apply(db, batch)
            if batch.refused is None:
                self._room.messages += len(batch.appends) // statement.WIDTH
            batch.changed = db.total_changes() > before

        began = perf_counter()
        try:
            session.run(apply)
        except Exception as error:
            batch.failed, batch.results = failure(error), []
        self._took_s = perf_counter() - began
        self.busy_s += self._took_s

    def _maintain(self, work: Callable[[apsw.Connection], None], done: Callable[[], None]) -> None:
        # Busy or full: what was not tidied up now will be later.
        with contextlib.suppress(apsw.Error, DataFolderError):
            self._session.maintain(work)
        self._session.look()
        if not self._closed:
            self._loop.call_soon_threadsafe(done)


_rows = msgspec.json.Decoder(list[tuple[int, int, int]]).decode


def _apply(db: apsw.Connection, batch: Batch) -> None:
    moves, removed, unsure, refused = batch.moves, batch.removed, batch.unsure, batch.refused
    appends = batch.appends if refused is None else []
    if not (batch.calls or unsure) and statement.is_small(appends, moves, removed):
        statement.apply_small(db, appends, moves, removed)
        return
    db.execute("BEGIN IMMEDIATE")
    statement.append(db, appends)
    statement.move(db, moves)
    for found in statement.select_gone(db, unsure):
        batch.gone.update((id, (t, rc > 0)) for id, t, rc in _rows(found))
    statement.remove(db, removed)
    batch.results = [call(db) if refused is None or not size else refused for call, _, size in batch.calls]
    db.execute("COMMIT")
