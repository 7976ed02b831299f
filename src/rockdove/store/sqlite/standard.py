"""A standard physical queue of the embedded store: one of two kinds behind one face.

Without message groups it is a `PlainQueue`, whose claims are decided in memory. With the first message that has a group
it becomes a `FairQueue`, whose claims are SQL, and stays one.

What takes a connection (`db`) runs in the writer's thread, all else in the event loop's.
"""

from collections.abc import Callable, Sequence
from typing import TypeAlias

import apsw

from rockdove.core.errors import StoreError
from rockdove.core.ids import SEQUENCE_MASK, entry_id
from rockdove.core.message import Entry
from rockdove.core.queue import PhysicalRecord
from rockdove.store.base import Appended, Claimed, Counts, Done, Draft, Hint, Want
from rockdove.store.common.tally import Tally
from rockdove.store.sqlite.fair import FairQueue
from rockdove.store.sqlite.fifo import FifoQueue
from rockdove.store.sqlite.numbers import Numbers
from rockdove.store.sqlite.plain import PlainQueue
from rockdove.store.sqlite.shared import Shared
from rockdove.store.sqlite.shelf import Change, Shelf
from rockdove.store.sqlite.together import Together

# Entries from before a queue's first group that get the empty group at a time: fairness counts by groups.
ADOPT_AT_ONCE = 1_000


class StandardQueue:
    """Hands each verb to the kind of queue that it is. Methods with a connection run in the writer's thread."""

    def __init__(
        self,
        shared: Shared,
        queue: str,
        record: PhysicalRecord,
        numbers: Numbers,
        tally: Tally,
        together: Together,
        on_kind: Callable[["PlainQueue | FairQueue"], None],
    ) -> None:
        """``on_kind`` is told which kind of queue it is."""
        self._shared = shared
        self.together = together
        self._on_kind = on_kind
        self.queue = queue
        self.record = record
        self.numbers = numbers
        self.tally = tally
        self.kind: PlainQueue | FairQueue

    @classmethod
    def around(
        cls, kind: "PlainQueue | FairQueue", on_kind: Callable[["PlainQueue | FairQueue"], None]
    ) -> "StandardQueue":
        """A new face for what nobody had a face of any more."""
        made = cls(kind.shared, kind.queue, kind.record, kind.numbers, kind.tally, kind.together, on_kind)
        made.kind = kind
        return made

    def open(self, empty: bool, grouped: bool) -> None:
        if grouped:
            self._be_fair()
        else:
            numbers, tally = self.numbers, self.tally
            self.kind = PlainQueue(self._shared, self.queue, self.record, numbers, tally, self.together, empty)
            self._on_kind(self.kind)

    def prepare(self, drafts: Sequence[Draft]) -> None:
        """Before the first message with a group comes in: from then on, groups count."""
        if isinstance(self.kind, PlainQueue):
            for draft in drafts:
                extra = draft.message.extra
                if extra is not None and extra.group_id is not None:
                    self._become_fair(self.kind)
                    return

    def _become_fair(self, plain: PlainQueue) -> None:
        number = self.record.number
        self._shared.writer.call(
            lambda db: db.execute("UPDATE physical SET grouped = 1 WHERE number = ?", (number,)).close(),
            lambda result: None,
        )
        plain.retire(self._be_fair().claim)

    def _be_fair(self) -> FairQueue:
        self.kind = fair = FairQueue(self._shared, self.queue, self.record, self.numbers, self.tally, self.together)
        self._on_kind(fair)
        self._adopt(entry_id(self.record.number, 0))
        return fair

    def _adopt(self, begin_id: int) -> None:
        """Give entries without a group the empty one; goes on by itself until the last is done or the queue is gone."""
        last_id = entry_id(self.record.number, SEQUENCE_MASK)

        def call(db: apsw.Connection) -> int | None:
            sql = "SELECT max(id) FROM (SELECT id FROM entry WHERE id BETWEEN ? AND ? ORDER BY id LIMIT ?)"
            end = db.execute(sql, (begin_id, last_id, ADOPT_AT_ONCE)).get
            if end is not None:
                db.execute("UPDATE entry SET grp = '' WHERE id BETWEEN ? AND ? AND grp IS NULL", (begin_id, end))
            return end  # type: ignore[no-any-return]

        def adopted(end: int | StoreError | None) -> None:
            if isinstance(end, int) and not self.kind.dropped:
                self._adopt(end + 1)

        self._shared.writer.call(call, adopted)

    # The verbs.

    def hint(self) -> Hint:
        return self.kind.hint()

    def append(self, drafts: Sequence[Draft], done: Done[list[Appended]]) -> None:
        self.prepare(drafts)
        self.kind.append(drafts, done)

    def claim(self, want: Want, done: Done[Claimed]) -> None:
        self.kind.claim(want, done)

    def move(self, id: int, visible_us: int, receive_count: int | None, done: Done[bool]) -> None:
        self.kind.move(id, visible_us, receive_count, done)

    def remove(self, id: int, receive_count: int | None, done: Done[bool]) -> None:
        self.kind.remove(id, receive_count, done)

    def remove_all(self, ids: Sequence[int], done: Done[list[bool]]) -> None:
        self.kind.remove_all(ids, done)

    def release(self, entries: Sequence[Entry], done: Done[None]) -> None:
        self.kind.release(entries, done)

    def count(self, done: Done[Counts]) -> None:
        self.kind.count(done)

    def find(self, id: int, done: Done[Entry | None]) -> None:
        self.kind.find(id, done)

    def holds(self, groups: Sequence[str], done: Done[list[bool]]) -> None:
        self.kind.holds(groups, done)

    def expire(self, sent_after_us: int, done: Done[list[int]]) -> None:
        self.kind.expire(sent_after_us, done)

    def retime(self, delay_us: int, done: Done[None]) -> None:
        """A standard queue's delay holds for messages sent from now on."""
        done(None)

    # What leases, transfers and publications are made of.

    def refuses(self, db: apsw.Connection, drafts: Sequence[Draft], now_us: int) -> bool:
        return self.kind.refuses(db, drafts, now_us)

    @property
    def shelf(self) -> Shelf:
        """The kind that it is now."""
        return self.kind

    def append_in(
        self, db: apsw.Connection, drafts: Sequence[Draft], first_id: int, now_us: int
    ) -> tuple[list[Appended], list[Change]]:
        return self.kind.append_in(db, drafts, first_id, now_us)

    def remove_in(self, db: apsw.Connection, ids: Sequence[int], now_us: int) -> tuple[list[int], list[Change]]:
        return self.kind.remove_in(db, ids, now_us)

    def land(self, changes: list[Change]) -> None:
        self.kind.land(changes)

    def take_record(self, record: PhysicalRecord) -> None:
        self.record = record
        self.kind.take_record(record)

    def drop(self) -> None:
        self.kind.drop()

    def abandon(self) -> None:
        self.kind.abandon()


# What has the verbs of a physical queue.
Face: TypeAlias = StandardQueue | FifoQueue
