"""Physical queues of the embedded store whose messages have groups: every verb is SQL in the writer's transaction.

What takes a connection (`db`) runs in the writer's thread, all else in the event loop's.
"""

from collections.abc import Callable, Sequence

import apsw
from msgspec.structs import replace

from rockdove.core.clock import SECOND_US
from rockdove.core.errors import StoreError
from rockdove.core.lease import LEASED_US
from rockdove.core.message import Entry
from rockdove.store.base import Appended, Claimed, Counts, Done, Draft, Want
from rockdove.store.common.size import extra_text
from rockdove.store.sqlite import statement
from rockdove.store.sqlite.row import entries
from rockdove.store.sqlite.shelf import Change, Shelf, State


class GroupedQueue(Shelf):
    """What FIFO and fair queues have in common; see `rockdove.store.base.Physical`."""

    def append(self, drafts: Sequence[Draft], done: Done[list[Appended]]) -> None:
        if self.dropped:
            done(self.gone())
            return
        now, first = self.clock.now_us(), self.numbers.take(len(drafts))

        def call(db: apsw.Connection) -> tuple[list[Appended], list[Change]] | StoreError:
            return self.gone() if self.refuses(db, drafts, now) else self.append_in(db, drafts, first, now)

        self.change(call, done, brought=drafts, told=lambda _: self.told_appended(drafts))

    def claim(self, want: Want, done: Done[Claimed]) -> None:
        if self.dropped or not self.tally.total:
            done(Claimed([], [], landing=self.is_landing))
            return
        if self.is_refused(done):
            return
        if self.is_crowded(want):
            done(Claimed([], [], crowded=True))
            return
        now = self.clock.now_us()

        def claimed(outcome: Claimed | StoreError) -> None:
            if isinstance(outcome, Claimed) and not outcome.entries:
                outcome.landing = self.is_landing
            done(outcome)

        self.change(self.claim_call(want, now), claimed, told=self.told_hidden)

    def claim_call(self, want: Want, now_us: int) -> Callable[[apsw.Connection], tuple[Claimed, list[Change]]]:
        """What a claim does in the transaction."""
        return lambda db: self.claim_in(db, want, now_us)

    def claim_in(self, db: apsw.Connection, want: Want, now_us: int) -> tuple[Claimed, list[Change]]:
        raise NotImplementedError

    def move(self, id: int, visible_us: int, receive_count: int | None, done: Done[bool]) -> None:
        if self.is_refused(done):
            return
        now = self.clock.now_us()

        def call(db: apsw.Connection) -> tuple[bool, list[Change]]:
            found = self.received(db, id) if receive_count is None else self.held(db, id, receive_count, now)
            if found is None:
                return False, []
            db.execute("UPDATE entry SET t = ? WHERE id = ?", (visible_us, id))
            return True, [Change(id, (found.visible_us, True), (visible_us, True), group=group_of(found))]

        self.change(call, done, told=lambda moved: self.told_moved(visible_us) if moved else None)

    def remove(self, id: int, receive_count: int | None, done: Done[bool]) -> None:
        now = self.clock.now_us()

        def call(db: apsw.Connection) -> tuple[bool, list[Change]]:
            if receive_count is not None and self.held(db, id, receive_count, now) is None:
                return False, []
            removed, changes = self.remove_in(db, [id], now)
            return bool(removed), changes

        self.change(call, done, told=lambda removed: self.told_removed(int(removed)))

    def remove_all(self, ids: Sequence[int], done: Done[list[bool]]) -> None:
        now = self.clock.now_us()

        def call(db: apsw.Connection) -> tuple[list[bool], list[Change]]:
            removed, changes = self.remove_in(db, ids, now)
            left = set(removed)
            found: list[bool] = []
            for id in ids:
                # One that is named twice is removed once.
                found.append(id in left)
                left.discard(id)
            return found, changes

        self.change(call, done, told=lambda found: self.told_removed(sum(found)))

    def received(self, db: apsw.Connection, id: int) -> Entry | None:
        """The entry, if it was received, and is not leased."""
        for found in entries(db.execute(statement.SELECT_ENTRY, (id,))):
            if found.receive_count and found.visible_us < LEASED_US:
                return found
        return None

    def held(self, db: apsw.Connection, id: int, receive_count: int, now_us: int) -> Entry | None:
        """The entry, if it is in flight by that very receive."""
        found = self.received(db, id)
        return found if found and found.visible_us > now_us and found.receive_count == receive_count else None

    def release(self, claimed: Sequence[Entry], done: Done[None]) -> None:
        now = self.clock.now_us()

        def call(db: apsw.Connection) -> tuple[None, list[Change]]:
            changes: list[Change] = []
            for new in claimed:
                rc = max(new.receive_count - 1, 0)
                # Only what is still as the claim left it.
                db.execute(
                    "UPDATE entry SET t = ?, rc = ?, first = ? WHERE id = ? AND t = ? AND rc = ?",
                    (now, rc, new.first_received_us if rc else 0, new.id, new.visible_us, new.receive_count),
                )
                if db.changes():
                    changes.append(Change(new.id, (new.visible_us, True), (now, rc > 0), group=group_of(new)))
            return None, changes

        self.change(call, done, told=lambda _: self.arrivals.tell(self.record.number, len(claimed)))

    def count(self, done: Done[Counts]) -> None:
        now = self.clock.now_us()
        second_end = (now // SECOND_US + 1) * SECOND_US

        def call(db: apsw.Connection) -> tuple[tuple[tuple[int, int], int | None], list[Change]]:
            first_us = db.execute(statement.FIRST, (self.record.number,)).get
            return (self.passing(db, now, second_end), first_us), []

        def counted(got: tuple[tuple[int, int], int | None] | StoreError) -> None:
            if not isinstance(got, tuple):
                done(got)
                return
            passing, first_us = got
            counts = self.counts(now, passing)
            is_held = counts.visible > 0 and not self.is_landing and (first_us is None or first_us > now)
            done(replace(counts, held=is_held))

        self.change(call, counted)

    def passing(self, db: apsw.Connection, now_us: int, end_us: int) -> tuple[int, int]:
        """How many (in flight, delayed) become visible between two times."""
        return db.execute(statement.PASSING, (self.record.number, now_us, end_us)).get  # type: ignore[no-any-return]

    def expire(self, sent_after_us: int, done: Done[list[int]]) -> None:
        now = self.clock.now_us()

        def call(db: apsw.Connection) -> tuple[list[int], list[Change]]:
            return self.remove_in(db, self.expired_ids(db, sent_after_us), now)

        self.change(call, done, told=lambda removed: self.told_removed(len(removed)))

    def next_visible_us(self) -> int | None:
        return 0 if self.tally.total else None

    def state(self, row: Entry) -> State:
        """What the tally holds of an entry."""
        return row.visible_us, row.receive_count > 0

    def insert(self, db: apsw.Connection, id: int, t: int, group: str, draft: Draft) -> None:
        message = draft.message
        db.execute(
            "INSERT INTO entry (id, pq, t, sent, grp, late) VALUES (?, ?, ?, ?, ?, ?)",
            (id, self.record.number, t, message.sent_us, group, self.numbers.is_late(message)),
        )
        db.execute(
            "INSERT INTO body VALUES (?, ?, CAST(? AS TEXT), ?)",
            (id, message.md5, message.body, extra_text(message.extra)),
        )

    def delete(self, db: apsw.Connection, row: Entry) -> Change:
        db.execute("DELETE FROM entry WHERE id = ?", (row.id,))
        db.execute("DELETE FROM body WHERE id = ?", (row.id,))
        return Change(row.id, self.state(row), None, group=group_of(row))

    def delete_all(self, db: apsw.Connection, ids: Sequence[int]) -> tuple[list[Entry], list[Change]]:
        """What there was of these, each once: one that is named twice is gone the second time."""
        found: list[Entry] = []
        changes: list[Change] = []
        for id in ids:
            for row in entries(db.execute(statement.SELECT_ENTRY, (id,))):
                found.append(row)
                changes.append(self.delete(db, row))
        return found, changes

    def hide(self, db: apsw.Connection, row: Entry, want: Want, now_us: int) -> tuple[Entry, bool, Change]:
        """Claim one entry: as it is now, whether it has had its deliveries, and the change."""
        dead = 0 < want.max_receives <= row.receive_count
        new = Entry(
            row.id,
            now_us + want.timeout_us,
            row.message,
            row.receive_count if dead else row.receive_count + 1,
            row.first_received_us or now_us,
        )
        db.execute(
            "UPDATE entry SET t = ?, rc = ?, first = ? WHERE id = ?",
            (new.visible_us, new.receive_count, new.first_received_us, row.id),
        )
        return new, dead, Change(row.id, self.state(row), (new.visible_us, True), group=group_of(row))

    def next_us(self, db: apsw.Connection, now_us: int) -> int | None:
        """When the next entry becomes visible by itself."""
        return db.execute(statement.NEXT, (self.record.number, now_us)).get  # type: ignore[no-any-return]


# In a FIFO queue, an entry that waits behind others of its group has t = WAITING_US + its place: no clock reaches it.
WAITING_US = 1 << 61


def group_of(row: Entry) -> str:
    """The group as the index has it: messages without one share the empty group."""
    extra = row.message.extra
    return "" if extra is None or extra.group_id is None else extra.group_id
