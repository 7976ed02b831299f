"""What every physical queue of the embedded store has: its number, its counts, and its place in the store."""

from collections.abc import Callable, Sequence
from typing import TYPE_CHECKING, Any, TypeAlias, TypeVar

import apsw
from msgspec import Struct

from rockdove.core import ids
from rockdove.core.errors import StoreError
from rockdove.core.message import Entry, Message
from rockdove.core.queue import PhysicalRecord
from rockdove.store.base import Appended, Done, Draft, Sight
from rockdove.store.row import decode_rows, entries, entry, stored_bytes
from rockdove.store.sql import statement
from rockdove.store.tally import Tally

if TYPE_CHECKING:
    from rockdove.store.sqlite import SqliteStore

R = TypeVar("R")

# Sequence numbers reserved on disk at a time; a restart skips what is left of them.
RESERVE = 65_536
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
    """Base of the physical queues of the embedded store."""

    def __init__(self, store: "SqliteStore", queue: str, record: PhysicalRecord, next_sequence: int) -> None:
        self.store = store
        self.writer = store.writer
        self.clock = store.clock
        self.rng = store.rng
        self.queue = queue
        self.record = record
        self.tally = Tally(store.clock.now_us())
        # True once the queue was deleted or purged: whoever still has this shelf gets nothing out of it or into it.
        self.dropped = False
        # When the newest message was sent, to know one that is older than those before it.
        self.newest_us = 0
        self._next = next_sequence
        self._reserved = next_sequence

    def take_numbers(self, number: int) -> int:
        """The first of so many new entry ids. What is given out is reserved on disk in the same transaction."""
        first = self._next
        self._next += number
        if self._next > self._reserved:
            self._reserved = self._next + RESERVE
            change = (self._reserved, self.record.number)
            self.writer.call(
                lambda db: db.execute("UPDATE physical SET reserved = ? WHERE number = ?", change).close(),
                lambda result: None,
            )
        return ids.entry_id(self.record.number, first)

    def drop(self) -> None:
        self.dropped = True

    def gone(self) -> StoreError:
        return StoreError("the queue is gone")

    def message_id(self, id: int, message: Message) -> str:
        if message.extra is not None and message.extra.message_id:
            return message.extra.message_id
        return f"{self.record.prefix}{id & ids.SEQUENCE_MASK:010x}"

    def change(
        self,
        call: Callable[[apsw.Connection], tuple[R, list[Change]]],
        done: Done[R],
        pinned: Sequence[int] = (),
        brought: Sequence[Draft] = (),
    ) -> None:
        """Run a call in the transaction; once it has landed, take its changes over and tell its result."""

        def landed(outcome: tuple[R, list[Change]] | StoreError) -> None:
            self.unpin(pinned)
            if isinstance(outcome, StoreError):
                done(outcome)
            else:
                self.land(outcome[1])
                done(outcome[0])

        self.writer.call(call, landed, len(brought), sum([stored_bytes(draft.message) for draft in brought]))

    def find(self, id: int, done: Done[Entry | None]) -> None:
        def call(db: apsw.Connection) -> Entry | None:
            return next(iter(map(self.shown, entries(db.execute(statement.SELECT_ENTRY, (id,))))), None)

        self.writer.call(call, done)

    def sight(self, limit: int, done: Done[list[Sight]]) -> None:
        def call(db: apsw.Connection) -> list[Sight]:
            rows: Any = db.execute(statement.SIGHT, (self.record.number, limit))
            return [Sight(self.shown_us(t, rc, sent), id, size) for id, t, rc, sent, size in rows]

        self.writer.call(call, done)

    def read(self, ids: Sequence[int], done: Done[list[Entry]]) -> None:
        def call(db: apsw.Connection) -> list[Entry]:
            return [self.shown(row) for id in ids for row in entries(db.execute(statement.SELECT_ENTRY, (id,)))]

        self.writer.call(call, done)

    def scan(self, after: int, limit: int, room_bytes: int, done: Done[list[Entry]]) -> None:
        low = ids.entry_id(self.record.number, 0)
        arguments = (max(after, low - 1), low | ids.SEQUENCE_MASK, limit, room_bytes)

        def call(db: apsw.Connection) -> list[Entry]:
            return [self.shown(entry(row)) for row in decode_rows(db.execute(statement.SCAN, arguments).get)]

        self.writer.call(call, done)

    def oldest(self, done: Done[int | None]) -> None:
        number = self.record.number
        low = ids.entry_id(number, 0)
        arguments = (low, low | ids.SEQUENCE_MASK, number)

        def call(db: apsw.Connection) -> int | None:
            return db.execute(statement.OLDEST_SENT, arguments).get  # type: ignore[no-any-return]

        self.writer.call(call, done)

    def shown(self, row: Entry) -> Entry:
        """An entry as others see it."""
        row.visible_us = self.shown_us(row.visible_us, row.receive_count, row.message.sent_us)
        return row

    def shown_us(self, t: int, receive_count: int, sent_us: int) -> int:
        """From when an entry is visible, as others see it."""
        return t

    def has_noisy(self) -> bool:
        return False

    def next_visible_us(self) -> int | None:
        raise NotImplementedError

    def may_have_visible(self, now_us: int) -> bool:
        next_us = self.next_visible_us()
        return next_us is not None and next_us <= now_us

    def in_flight_at_most(self) -> int:
        self.tally.forget(self.clock.now_us())
        return self.tally.in_flight_at_most()

    def count_changes(self, changes: list[Change]) -> None:
        for change in changes:
            if change.before is not None:
                self.tally.drop(*change.before)
            if change.after is not None:
                self.tally.add(*change.after)

    def is_late(self, message: Message) -> bool:
        """Whether a message is older than one that came before it: moved here, or sent by a clock that was set back."""
        late = message.sent_us < self.newest_us
        if not late:
            self.newest_us = message.sent_us
        return late

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
        self._reserved = self._next
