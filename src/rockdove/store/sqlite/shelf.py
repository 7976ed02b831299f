"""What every physical queue of the embedded store has: its number, its counts, and its place in the store.

What takes a connection (`db`) runs in the writer's thread, all else in the event loop's.
"""

from collections.abc import Callable, Sequence
from typing import Any, TypeAlias, TypeVar

import apsw
from msgspec import Struct
from msgspec.structs import replace

from rockdove.core import ids
from rockdove.core.errors import QueueGone, StoreError, StoreFull
from rockdove.core.message import Entry, Message
from rockdove.core.queue import PhysicalRecord
from rockdove.store.base import Appended, Claimed, Counts, Done, Draft, Hint, Want
from rockdove.store.common.size import stored_bytes
from rockdove.store.common.tally import Tally
from rockdove.store.sqlite import statement
from rockdove.store.sqlite.numbers import Numbers
from rockdove.store.sqlite.room import LAST
from rockdove.store.sqlite.row import entries
from rockdove.store.sqlite.shared import Shared
from rockdove.store.sqlite.together import Together

R = TypeVar("R")

# Expired messages removed at a time, and entries looked at to find them.
EXPIRE_AT_ONCE = 500

# When a message becomes visible, and whether it was ever received: what the tally counts by.
State: TypeAlias = tuple[int, bool]


class Change(Struct, gc=False):
    """What a call has done to one entry: its state before and after (None: it was not, or is no longer, there)."""

    id: int
    before: State | None
    after: State | None
    entry: Entry | None = None
    group: str | None = None


class Shelf:
    """Base of the physical queues of the embedded store. Methods with a connection run in the writer's thread."""

    def __init__(
        self,
        shared: Shared,
        queue: str,
        record: PhysicalRecord,
        numbers: Numbers,
        tally: Tally,
        together: Together,
    ) -> None:
        """``queue`` is the logical queue's uid."""
        self.shared = shared
        self.writer = shared.writer
        self.clock = shared.clock
        self.rng = shared.rng
        self.arrivals = shared.arrivals
        self.queue = queue
        self.record = record
        self.numbers = numbers
        self.tally = tally
        # True once the queue was deleted or purged: whoever still has this shelf gets nothing out of it or into it.
        self.dropped = False
        self.together = together

    def is_crowded(self, want: Want) -> bool:
        """Whether as many are in flight as may be, or a few less: the tally is behind by up to a second."""
        if not want.max_in_flight:
            return False
        now_us, total = self.clock.now_us(), 0
        for tally in self.together.tallies.values():
            tally.forget(now_us)
            total += tally.in_flight_at_most()
        return total >= want.max_in_flight

    def is_refused(self, done: Done[Any]) -> bool:
        """Whether the disk has no room even for this, and ``done`` was told so."""
        is_last = self.shared.room.last
        if is_last:
            done(StoreFull(LAST))
        return is_last

    def take_record(self, record: PhysicalRecord) -> None:
        """The same physical queue may leave from now on, or stay."""
        self.record = record

    def drop(self) -> None:
        self.dropped = True

    def gone(self) -> StoreError:
        return QueueGone("the physical queue is gone, or takes no more messages")

    def refuses(self, db: apsw.Connection, drafts: Sequence[Draft], now_us: int) -> bool:
        """Whether it leaves, and does not take these any more. In the writer's thread."""
        return self.record.leaves

    def holds(self, groups: Sequence[str], done: Done[list[bool]]) -> None:
        self.writer.call(lambda db: [self.holds_group(db, group) for group in groups], done)

    def holds_group(self, db: apsw.Connection, group: str) -> bool:
        """In the writer's thread."""
        sql = "SELECT 1 FROM entry WHERE pq = ? AND grp = ? LIMIT 1"
        return db.execute(sql, (self.record.number, group)).get is not None

    def message_id(self, id: int, message: Message) -> str:
        if message.extra is not None and message.extra.message_id:
            return message.extra.message_id
        return f"{self.record.prefix}{id & ids.SEQUENCE_MASK:010x}"

    def change(
        self,
        call: Callable[[apsw.Connection], tuple[R, list[Change]] | StoreError],
        done: Done[R],
        pinned: Sequence[int] = (),
        brought: Sequence[Draft] = (),
        told: Callable[[R], None] = lambda result: None,
    ) -> None:
        """Run a call in the transaction; once it has landed, take its changes over and tell its result.

        ``told`` is called after that.
        """

        self.writer.make_way()

        def landed(outcome: tuple[R, list[Change]] | StoreError) -> None:
            self.unpin(pinned)
            if isinstance(outcome, StoreError):
                done(outcome)
            else:
                self.land(outcome[1])
                done(outcome[0])
                told(outcome[0])

        self.writer.call(call, landed, len(brought), sum([stored_bytes(draft.message) for draft in brought]))

    @property
    def is_landing(self) -> bool:
        """Whether published messages are about to come."""
        return self.record.number in self.shared.landing

    def counts(self, now_us: int, passing: tuple[int, int]) -> Counts:
        """What is published, and has not landed, can be received in a moment: it counts as visible."""
        found = self.tally.counts(now_us, passing)
        unlanded = self.shared.landing.get(self.record.number)
        return replace(found, visible=found.visible + unlanded) if unlanded else found

    def find(self, id: int, done: Done[Entry | None]) -> None:
        def call(db: apsw.Connection) -> Entry | None:
            return next(iter(map(self.shown, entries(db.execute(statement.SELECT_ENTRY, (id,))))), None)

        self.writer.call(call, done)

    def shown(self, row: Entry) -> Entry:
        """An entry as others see it."""
        row.visible_us = self.shown_us(row.visible_us, row.receive_count, row.message.sent_us)
        return row

    def shown_us(self, t: int, receive_count: int, sent_us: int) -> int:
        """From when an entry is visible, as others see it."""
        return t

    def hint(self) -> Hint:
        total = self.tally.total > 0
        # A claim tells that something is about to come: a visit is not in vain.
        return Hint(0, total, self.is_noisy) if self.is_landing else Hint(self.next_visible_us(), total, self.is_noisy)

    @property
    def is_noisy(self) -> bool:
        """Whether a group holds more than its share of what is in flight."""
        return False

    def next_visible_us(self) -> int | None:
        """A time before which there is certainly nothing to claim; None: there is nothing at all."""
        raise NotImplementedError

    def count_changes(self, changes: list[Change]) -> None:
        for change in changes:
            if change.before is not None:
                self.tally.drop(*change.before)
            if change.after is not None:
                self.tally.add(*change.after)

    def expired_ids(self, db: apsw.Connection, sent_after_us: int) -> list[int]:
        """Some of the entries that were sent before a time: they are the first ones, and among those that came late."""
        low = ids.entry_id(self.record.number, 0)
        first = db.execute(statement.OLDEST, (low, low | ids.SEQUENCE_MASK, EXPIRE_AT_ONCE))
        found: list[int] = [id for id, sent in first if sent < sent_after_us]
        if not found:
            late: Any = db.execute(statement.EXPIRED_LATE, (self.record.number, sent_after_us, EXPIRE_AT_ONCE))
            found = [id for (id,) in late]
        return found

    def recount(self, rows: list[tuple[Any, ...]]) -> None:
        """Begin with what is on disk: rows (second, received, number)."""
        for second, received, number in rows:
            self.tally.add(second * 1_000_000, bool(received), number)

    # What a transfer between two physical queues is made of. The first two run in the writer's thread.

    def append_in(
        self, db: apsw.Connection, drafts: Sequence[Draft], first_id: int, now_us: int
    ) -> tuple[list[Appended], list[Change]]:
        raise NotImplementedError

    def remove_in(self, db: apsw.Connection, ids: Sequence[int], now_us: int) -> tuple[list[int], list[Change]]:
        raise NotImplementedError

    def land(self, changes: list[Change]) -> None:
        raise NotImplementedError

    def pin(self, ids: Sequence[int]) -> None:
        """A call is on its way to the disk for these: decide nothing about them in memory until it has landed."""

    def unpin(self, ids: Sequence[int]) -> None:
        """It has landed."""

    def abandon(self) -> None:
        """A transaction failed: what is remembered in memory may not be what is on disk."""
        self.numbers.abandon()

    # Who waits for messages is told after the outcome.

    def told_appended(self, drafts: Sequence[Draft]) -> None:
        if self.record.number in self.arrivals.heard:
            self.arrivals.appended(self.record.number, drafts, self.clock.now_us())

    def told_hidden(self, claimed: Claimed) -> None:
        """What was claimed is visible again when its timeout has passed."""
        if self.record.number in self.arrivals.heard:
            times = [entry.visible_us for entry in (*claimed.entries, *claimed.dead)]
            self.arrivals.tell(self.record.number, 0, min(times, default=None))

    def told_moved(self, visible_us: int) -> None:
        visible = visible_us <= self.clock.now_us()
        self.arrivals.tell(self.record.number, int(visible), None if visible else visible_us)

    def told_removed(self, number: int) -> None:
        """Where groups are locked by what is in flight, others of them may be claimed now."""
