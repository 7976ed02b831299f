"""A standard queue without message groups: claims are decided on the cached head in memory, and written behind.

What takes a connection (`db`) runs in the writer's thread, all else in the event loop's.
"""

from collections.abc import Callable, Sequence
from functools import partial
from itertools import compress
from typing import Any, TypeAlias

import apsw

from rockdove.core.clock import SECOND_US
from rockdove.core.errors import StoreError
from rockdove.core.ids import SEQUENCE_MASK
from rockdove.core.lease import LEASED_US
from rockdove.core.message import Entry
from rockdove.core.queue import PhysicalRecord
from rockdove.store.base import Appended, Claimed, Counts, Done, Draft, Want
from rockdove.store.common.head import FETCHED_BYTES, KEPT, LOW, START, Head
from rockdove.store.common.pin import Pins
from rockdove.store.common.size import DeadBound, extra_text
from rockdove.store.common.tally import Tally
from rockdove.store.sqlite import statement
from rockdove.store.sqlite.numbers import Numbers
from rockdove.store.sqlite.row import decode_rows, entries, entry
from rockdove.store.sqlite.shared import Shared
from rockdove.store.sqlite.shelf import Change, Shelf, State
from rockdove.store.sqlite.statement import APPEND, MOVE
from rockdove.store.sqlite.together import Together
from rockdove.store.sqlite.writer import Batch

# What one append has put into a batch: its entries, where they went, and who waits for it.
Sent: TypeAlias = tuple[list[Entry], list[Appended], Done[list[Appended]]]


class PlainQueue(Shelf):
    """See `rockdove.store.base.Physical`. For the event loop's thread, but for what takes a connection."""

    def __init__(
        self,
        shared: Shared,
        queue: str,
        record: PhysicalRecord,
        numbers: Numbers,
        tally: Tally,
        together: Together,
        empty: bool,
    ) -> None:
        super().__init__(shared, queue, record, numbers, tally, together)
        self.head = Head(None if empty else START)
        self._parked: list[tuple[Want, Done[Claimed]]] = []
        # Entries that calls on their way to the disk work on, and how many: no claim may be decided on them meanwhile.
        self._pinned = Pins()
        # What is appended by the batch that is being collected.
        self._batch: Batch | None = None
        self._sent: list[Sent] = []
        # Entries that are being removed: nothing brings them back.
        self._leaving = Pins()
        # Takes over what waits to be decided, once there is another kind of queue in place of this one.
        self._successor: Callable[[Want, Done[Claimed]], None] | None = None

    def retire(self, claim: Callable[[Want, Done[Claimed]], None]) -> None:
        """Another kind of queue has these messages from now on; ``claim`` is its verb."""
        self._successor = claim
        self.head.abandon()
        parked, self._parked = self._parked, []
        for want, done in parked:
            claim(want, done)

    def append(self, drafts: Sequence[Draft], done: Done[list[Appended]]) -> None:
        if self.dropped or self.record.leaves:
            done(self.gone())
            return
        batch = self.writer.batch
        if self._batch is not batch:
            # All appends that one batch brings are taken over together.
            self._batch, self._sent = batch, []
            self.writer.wait_sent(partial(self._appended, self._sent))
        rows, number, prefix, numbers = batch.appends, self.record.number, self.record.prefix, self.numbers
        id = self.numbers.take(len(drafts))
        size_bytes = 0
        appended: list[Appended] = []
        fresh: list[Entry] = []
        for draft in drafts:
            message, t = draft.message, draft.visible_us
            if message.extra is None:
                extra, name = None, f"{prefix}{id & SEQUENCE_MASK:010x}"
            else:
                extra, name = extra_text(message.extra), self.message_id(id, message)
            sent_us = message.sent_us
            late = sent_us < numbers.newest_us
            if not late:
                numbers.newest_us = sent_us
            rows += (APPEND, id, t, number, sent_us, late, message.md5, message.body, extra)
            appended.append(Appended(id, name))
            fresh.append(Entry(id, t, message))
            size_bytes += len(message.body) + (0 if extra is None else len(extra))
            id += 1
        self._sent.append((fresh, appended, done))
        batch.sent_bytes += size_bytes
        if batch.sent_bytes > self.writer.heavy_bytes:
            self.writer.close_batch()

    def _appended(self, sent: list[Sent], failed: StoreError | None) -> None:
        if self._sent is sent:
            # The batch holds this listener, and all that it has brought to others.
            self._batch, self._sent = None, []
        if failed is None:
            fresh = sent[0][0] if len(sent) == 1 else [new for each, _, _ in sent for new in each]
            self.tally.add_new(fresh)
            self.head.put_new(fresh)
        for _, appended, done in sent:
            self.writer.tell(done, appended if failed is None else failed)
        if failed is None and self.record.number in self.arrivals.heard:
            self.arrivals.appended(self.record.number, fresh, self.clock.now_us())

    def claim(self, want: Want, done: Done[Claimed]) -> None:
        if self.tally.total and self.is_refused(done):
            return
        if self.is_crowded(want):
            done(Claimed([], [], crowded=True))
            return
        now = self.clock.now_us()
        head = self.head
        if self._parked or head.is_short(now, want.limit + want.order_hint - 1 if want.order_hint else KEPT):
            self._park(want, done)
            return
        self._claim(want, done, now)
        if not head.fetching and head.is_short(now, LOW):
            self._fetch()

    def _park(self, want: Want, done: Done[Claimed]) -> None:
        """Decide a claim when the next entries have been fetched."""
        self._parked.append((want, done))
        if not self.head.fetching:
            self._fetch()

    def _claim(self, want: Want, done: Done[Claimed], now: int) -> None:
        self.writer.make_way()
        head, rows = self.head, self.writer.batch.moves
        hidden_us = now + want.timeout_us
        claimed = Claimed([], [], None, now)
        before: list[Entry] = []
        expired: list[int] = []
        bound = DeadBound(claimed.dead)
        while len(claimed.entries) < want.limit and not bound.is_reached:
            found = head.take(now, want.limit - len(claimed.entries), want.order_hint, self.rng)
            if want.room_bytes:
                found = head.fit(found, want, claimed)
            if not found:
                break
            for old in found:
                if old.message.sent_us < want.sent_after_us:
                    expired.append(old.id)
                    continue
                count, first_us = old.receive_count, old.first_received_us or now
                if 0 < want.max_receives <= count:
                    claimed.dead.append(Entry(old.id, hidden_us, old.message, count, first_us))
                else:
                    count += 1
                    claimed.entries.append(Entry(old.id, hidden_us, old.message, count, first_us))
                before.append(old)
                rows += (MOVE, old.id, hidden_us, count, first_us, None, None, None, None)
        if expired:
            self._remove_all(expired, lambda gone: None)
            claimed.expired = expired
        if not before and head.is_short(now, 1):
            # All that was cached had expired, or was forgotten meanwhile; there is more on disk.
            self._park(want, partial(_add_expired, expired, done) if expired else done)
            return
        if not before:
            claimed.next_us = head.next_us()
            claimed.landing = self.is_landing
            done(claimed)
            return
        # Only now: without a timeout, the loop above would find the same entries for ever.
        head.put_new(claimed.entries)
        if claimed.dead:
            head.put_new(claimed.dead)
        self.writer.wait(partial(self._claimed, before, hidden_us, claimed, done))

    def _claimed(
        self, before: list[Entry], hidden_us: int, claimed: Claimed, done: Done[Claimed], failed: StoreError | None
    ) -> None:
        if failed is not None:
            done(failed)
            return
        self.tally.hide(before, hidden_us)
        done(claimed)
        if self.record.number in self.arrivals.heard:
            self.arrivals.tell(self.record.number, 0, hidden_us)

    def _fetch(self) -> None:
        fetch = self.head.fetch()
        arguments = (self.record.number, *fetch.start, KEPT, FETCHED_BYTES)

        def read(db: apsw.Connection) -> tuple[int, str]:
            return db.execute(statement.REFILL, arguments).get  # type: ignore[no-any-return]

        def fetched(result: tuple[int, str] | StoreError) -> None:
            parked, self._parked = self._parked, []
            if isinstance(result, StoreError):
                for _, done in parked:
                    done(result)
                return
            seen, text = result
            self.writer.cached_bytes += len(text)
            rows = decode_rows(text)
            # There may be more behind the last row if the limit was reached, or if not all that was seen did fit.
            more = seen == KEPT or len(rows) < seen
            bound = (rows[-1].t, rows[-1].id + 1) if more else None
            free = (row for row in rows if row.id not in self._pinned and row.id not in self._leaving)
            self.head.fetched(fetch, map(entry, free), bound)
            now = self.clock.now_us()
            for want, done in parked:
                if self._successor is None:
                    self._claim(want, done, now)
                else:
                    self._successor(want, done)

        self.writer.call(read, fetched)

    def move(self, id: int, visible_us: int, receive_count: int | None, done: Done[bool]) -> None:
        if self.is_refused(done):
            return
        now = self.clock.now_us()

        def call(db: apsw.Connection) -> tuple[bool, list[Change]]:
            for old in entries(db.execute(statement.SELECT_ENTRY, (id,))):
                if old.visible_us == LEASED_US:
                    return False, []
                if not old.receive_count or (receive_count is not None and old.visible_us <= now):
                    return False, [Change(id, None, None, old)]
                new = Entry(id, visible_us, old.message, old.receive_count, old.first_received_us)
                db.execute("UPDATE entry SET t = ? WHERE id = ?", (visible_us, id))
                return True, [Change(id, (old.visible_us, True), (visible_us, True), new)]
            return False, []

        self.pin((id,))
        self.change(call, done, (id,), told=lambda moved: self.told_moved(visible_us) if moved else None)

    def remove(self, id: int, receive_count: int | None, done: Done[bool]) -> None:
        self.remove_all((id,), lambda found: done(found if isinstance(found, StoreError) else found[0]))

    def remove_all(self, removed: Sequence[int], done: Done[list[bool]]) -> None:
        self.writer.make_way()
        self._remove_all(removed, done)

    def _remove_all(self, removed: Sequence[int], done: Done[list[bool]]) -> None:
        batch, discard = self.writer.batch, self.head.discard
        self._leaving.add(removed)
        for id in removed:
            entry = discard(id)
            if entry is None:
                batch.unsure.append(id)
            else:
                batch.gone[id] = (entry.visible_us, entry.receive_count > 0)
        batch.removed += removed
        # Not the batch itself, which holds this listener: such a circle would be left to the garbage collector.
        self.writer.wait(partial(self._removed, batch.gone, removed, done))

    def _removed(
        self, gone: dict[int, State], removed: Sequence[int], done: Done[list[bool]], failed: StoreError | None
    ) -> None:
        self._leaving.drop(removed)
        if failed is not None:
            done(failed)
            return
        found: list[bool] = []
        for id in removed:
            # Popped: the same message may be deleted twice in one batch.
            state = gone.pop(id, None)
            found.append(state is not None)
            if state is not None:
                self.tally.drop(*state)
        done(found)

    def release(self, claimed: Sequence[Entry], done: Done[None]) -> None:
        now = self.clock.now_us()

        def call(db: apsw.Connection) -> tuple[None, list[Change]]:
            changes: list[Change] = []
            for new in claimed:
                rc = max(new.receive_count - 1, 0)
                back = Entry(new.id, now, new.message, rc, new.first_received_us if rc else 0)
                # Only what is still as the claim left it.
                db.execute(
                    "UPDATE entry SET t = ?, rc = ?, first = ? WHERE id = ? AND t = ? AND rc = ?",
                    (now, rc, back.first_received_us, new.id, new.visible_us, new.receive_count),
                )
                if db.changes():
                    changes.append(Change(new.id, (new.visible_us, True), (now, rc > 0), back))
                else:
                    found = entries(db.execute(statement.SELECT_ENTRY, (new.id,)))
                    changes += [Change(new.id, None, None, as_it_is) for as_it_is in found]
            return None, changes

        given_back = [new.id for new in claimed]
        self.pin(given_back)
        number = self.record.number
        self.change(call, done, given_back, told=lambda _: self.arrivals.tell(number, len(given_back)))

    def pin(self, ids: Sequence[int]) -> None:
        self._pinned.add(ids)
        for id in ids:
            self.head.discard(id)

    def unpin(self, ids: Sequence[int]) -> None:
        self._pinned.drop(ids)

    def count(self, done: Done[Counts]) -> None:
        now = self.clock.now_us()
        second_end = (now // SECOND_US + 1) * SECOND_US

        def call(db: apsw.Connection) -> tuple[tuple[int, int], list[Change]]:
            return db.execute(statement.PASSING, (self.record.number, now, second_end)).get, []

        self.change(call, lambda got: done(self.counts(now, got) if isinstance(got, tuple) else got))

    def expire(self, sent_after_us: int, done: Done[list[int]]) -> None:

        def seen(ids: list[int] | StoreError) -> None:
            if isinstance(ids, StoreError):
                done(ids)
            elif ids:
                self.remove_all(ids, partial(removed, ids))
            else:
                done([])

        def removed(ids: list[int], found: list[bool] | StoreError) -> None:
            # A claim may have met some of them meanwhile, and removed them.
            done(found if isinstance(found, StoreError) else list(compress(ids, found)))

        self.writer.call(lambda db: self.expired_ids(db, sent_after_us), seen)

    def next_visible_us(self) -> int | None:
        return self.head.next_us()

    def append_in(
        self, db: apsw.Connection, drafts: Sequence[Draft], first_id: int, now_us: int
    ) -> tuple[list[Appended], list[Change]]:
        appended: list[Appended] = []
        changes: list[Change] = []
        rows: list[Any] = []
        for id, draft in enumerate(drafts, first_id):
            message, t = draft.message, draft.visible_us
            extra, late = extra_text(message.extra), self.numbers.is_late(message)
            rows += (APPEND, id, t, self.record.number, message.sent_us, late, message.md5, message.body, extra)
            appended.append(Appended(id, self.message_id(id, message)))
            changes.append(Change(id, None, (t, False), Entry(id, t, message)))
        statement.append(db, rows)
        return appended, changes

    def remove_in(self, db: apsw.Connection, ids: Sequence[int], now_us: int) -> tuple[list[int], list[Change]]:
        changes: list[Change] = []
        for id in ids:
            for old in entries(db.execute(statement.SELECT_ENTRY, (id,))):
                db.execute("DELETE FROM entry WHERE id = ?", (id,))
                db.execute("DELETE FROM body WHERE id = ?", (id,))
                changes.append(Change(id, (old.visible_us, old.receive_count > 0), None))
        return [change.id for change in changes], changes

    def land(self, changes: list[Change]) -> None:
        self.count_changes(changes)
        for change in changes:
            if change.entry is None:
                self.head.discard(change.id)
            elif change.id not in self._pinned and change.id not in self._leaving:
                self.head.put(change.entry)

    def drop(self) -> None:
        super().drop()
        self.head = Head(None)

    def abandon(self) -> None:
        super().abandon()
        self.head.abandon()


def _add_expired(expired: list[int], done: Done[Claimed], claimed: Claimed | StoreError) -> None:
    """A claim was tried again: what it removed the first time is its doing, too."""
    if isinstance(claimed, Claimed):
        claimed.expired += expired
    done(claimed)
