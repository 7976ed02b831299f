"""A FIFO physical queue of the embedded store.

Of each group only those entries stand in the index by time that can become claimable by themselves: the first one,
and what is in flight. All others *wait*, with ``t = WAITING_US + id``, until the group is free. So a claim finds the
next free group by one look at the index, however many messages wait behind a busy one.

The first entry of a group never waits (`_settle` sees to it). What is in flight holds back what stands behind it; one
before it, which is visible again, can be claimed.

What takes a connection (`db`) runs in the writer's thread, all else in the event loop's.
"""

from collections.abc import Iterable, Sequence
from typing import Any

import apsw
import msgspec

from rockdove.core import ids as entry_ids
from rockdove.core.clock import SECOND_US
from rockdove.core.limits import DEDUPLICATION_S, RECEIVE_ATTEMPT_S
from rockdove.core.message import Entry
from rockdove.store.base import Appended, Claimed, Done, Draft, Want
from rockdove.store.common.size import DeadBound, stored_bytes
from rockdove.store.sqlite import statement
from rockdove.store.sqlite.grouped import WAITING_US, GroupedQueue, group_of
from rockdove.store.sqlite.row import entries
from rockdove.store.sqlite.shelf import Change, State

# Visible entries looked at in one step of a claim, to find free groups.
LOOK_AHEAD = 64

_COLUMNS = f"SELECT {statement.COLUMNS} FROM entry JOIN body USING (id) "
_STANDING = _COLUMNS + "WHERE pq = ? AND grp = ? AND t < ?"
_WAITING = _COLUMNS + "WHERE pq = ? AND grp = ? AND t >= ? AND t < ? ORDER BY t LIMIT ?"
_FIRST_STANDING = "SELECT min(id) FROM entry WHERE pq = ? AND grp = ? AND t < ?"
# Past all that wait.
_END_US = 1 << 62
_SEEN = "SELECT id, message_id FROM seen WHERE queue = ? AND key = ? AND at_us > ? AND at_us < ?"


class FifoQueue(GroupedQueue):
    """Groups in order, one delivery of a group at a time, five minutes of deduplication."""

    delay_us = 0

    def refuses(self, db: apsw.Connection, drafts: Sequence[Draft], now_us: int) -> bool:
        """One that leaves takes messages of groups that it holds: their order is here. Others have a new place."""
        if not self.record.leaves:
            return False
        held: set[str] = set()
        keys: set[str] = set()
        for draft in drafts:
            key, extra = draft.deduplication_key, draft.message.extra
            group = (extra.group_id if extra else None) or ""
            if group in held or key in keys or self._seen(db, key, now_us) is not None:
                continue
            if not self.holds_group(db, group):
                return True
            held.add(group)
            if key is not None:
                keys.add(key)
        return False

    def append_in(
        self, db: apsw.Connection, drafts: Sequence[Draft], first_id: int, now_us: int
    ) -> tuple[list[Appended], list[Change]]:
        appended: list[Appended] = []
        changes: list[Change] = []
        for id, draft in enumerate(drafts, first_id):
            known = self._seen(db, draft.deduplication_key, now_us)
            if known is not None:
                appended.append(known)
                continue
            extra = draft.message.extra
            group = (extra.group_id if extra else None) or ""
            # The delay is the queue's, and may have changed since the draft was written.
            visible_us = draft.message.sent_us + self.delay_us
            t = WAITING_US + id if self.holds_group(db, group) else visible_us
            self.insert(db, id, t, group, draft)
            new = Appended(id, self.message_id(id, draft.message))
            if draft.deduplication_key is not None:
                db.execute(
                    "INSERT OR REPLACE INTO seen VALUES (?, ?, ?, ?, ?)",
                    (self.queue, draft.deduplication_key, new.id, new.message_id, now_us),
                )
            appended.append(new)
            changes.append(Change(id, None, (visible_us, False)))
        return appended, changes

    def _seen(self, db: apsw.Connection, key: str | None, now_us: int) -> Appended | None:
        if key is None:
            return None
        # If the clock was set back since, nobody knows how long ago it was: better to store one twice than to lose it.
        window_us = DEDUPLICATION_S * SECOND_US
        for id, message_id in db.execute(_SEEN, (self.queue, key, now_us - window_us, now_us + window_us)):
            return Appended(id, message_id)
        return None

    def claim_in(self, db: apsw.Connection, want: Want, now_us: int) -> tuple[Claimed, list[Change]]:
        if want.attempt is not None:
            again = self._again(db, want, now_us)
            if again is not None:
                return again
            if want.repeats:
                return Claimed([], [], claimed_us=now_us), []
        claimed, changes = Claimed([], [], claimed_us=now_us), list[Change]()
        visited: set[str] = set()
        bound = DeadBound(claimed.dead)

        def is_enough() -> bool:
            is_full = want.room_bytes > 0 and claimed.bytes >= want.room_bytes
            return len(claimed.entries) == want.limit or is_full or bound.is_reached

        while not is_enough():
            sql = "SELECT grp FROM entry WHERE pq = ? AND t <= ? ORDER BY t, id LIMIT ?"
            rows: list[tuple[Any, ...]] = db.execute(sql, (self.record.number, now_us, LOOK_AHEAD)).fetchall()
            fresh = dict.fromkeys(group for (group,) in rows if group not in visited)
            if not fresh:
                break
            for group in fresh:
                visited.add(group)
                changes += self._claim_group(db, group, want, now_us, claimed)
                if is_enough():
                    break
        if not claimed.entries:
            claimed.next_us = self.next_us(db, now_us)
        elif want.attempt is not None and not self.shared.room.tight:
            self._remember(db, want.attempt, claimed.entries, now_us, now_us)
        return claimed, changes

    def _claim_group(self, db: apsw.Connection, group: str, want: Want, now_us: int, claimed: Claimed) -> list[Change]:
        standing = entries(db.execute(_STANDING, (self.record.number, group, WAITING_US)))
        in_flight = [row.id for row in standing if row.receive_count and row.visible_us > now_us]
        end_us = WAITING_US + min(in_flight) if in_flight else _END_US
        behind = [row for row in standing if WAITING_US + row.id >= end_us]
        changes = self._wait(db, (row for row in behind if row.visible_us <= now_us))
        standing = [row for row in standing if WAITING_US + row.id < end_us]
        if want.room_bytes:
            return changes + self._lease_group(db, group, want, now_us, claimed, standing, end_us)
        room = want.limit - len(claimed.entries)
        while True:
            rows = self._waiting(db, group, end_us, room)
            # What stands behind the last of them has its turn after those that were not read.
            last_id = rows[-1].id if len(rows) == room else None
            rows += [row for row in standing if last_id is None or row.id < last_id]
            standing = [row for row in standing if last_id is not None and row.id > last_id]
            if not rows:
                break
            rows.sort(key=lambda row: row.id)
            taken, given = self._claim_rows(db, rows, want, now_us, claimed)
            changes += taken
            if given or len(taken) < len(rows):
                untouched = [row for row in rows[len(taken) :] + standing if row.visible_us <= now_us]
                changes += self._wait(db, untouched) if given else self._delay(db, untouched)
                break
            # All of them were expired: what comes next?
            room = LOOK_AHEAD
        return changes + self._settle(db, group, now_us)

    def received(self, db: apsw.Connection, id: int) -> Entry | None:
        """One that is visible again keeps its place: whoever had it has it no more."""
        found = super().received(db, id)
        return found if found is not None and found.visible_us > self.clock.now_us() else None

    def _waiting(self, db: apsw.Connection, group: str, end_us: int, limit: int) -> list[Entry]:
        return entries(db.execute(_WAITING, (self.record.number, group, WAITING_US, end_us, limit)))

    def _lease_group(
        self,
        db: apsw.Connection,
        group: str,
        want: Want,
        now_us: int,
        claimed: Claimed,
        standing: list[Entry],
        end_us: int,
    ) -> list[Change]:
        """The same for a lease, which may want so many that their bodies must not all be read at once."""
        changes: list[Change] = []
        given, had_dead = False, len(claimed.dead)
        while True:
            rows = self._waiting(db, group, end_us, LOOK_AHEAD)
            last_id = rows[-1].id if len(rows) == LOOK_AHEAD else None
            rows += [row for row in standing if last_id is None or row.id < last_id]
            standing = [row for row in standing if last_id is not None and row.id > last_id]
            rows.sort(key=lambda row: row.id)
            taken, some = self._claim_rows(db, rows, want, now_us, claimed)
            given = given or some
            changes += taken
            if last_id is None or len(taken) < len(rows) or len(claimed.dead) > had_dead:
                untouched = [row for row in rows[len(taken) :] + standing if row.visible_us <= now_us]
                changes += self._wait(db, untouched) if given else self._delay(db, untouched)
                return changes + self._settle(db, group, now_us)

    def _claim_rows(
        self, db: apsw.Connection, rows: list[Entry], want: Want, now_us: int, claimed: Claimed
    ) -> tuple[list[Change], bool]:
        """Claim a group's messages in their order: the changes, one for each row, and whether any was claimed."""
        changes: list[Change] = []
        given = False
        for row in rows:
            if len(claimed.entries) == want.limit or not self._due(row, now_us):
                break
            if want.room_bytes and claimed.bytes >= want.room_bytes:
                break
            if row.message.sent_us < want.sent_after_us:
                changes.append(self.delete(db, row))
                claimed.expired.append(row.id)
                continue
            new, dead, change = self.hide(db, row, want, now_us)
            changes.append(change)
            (claimed.dead if dead else claimed.entries).append(new)
            given = True
            if want.room_bytes and not dead:
                claimed.bytes += stored_bytes(new.message)
            if dead:
                # The rest of the group follows when this one has gone to the dead-letter queue.
                break
        return changes, given

    def _due(self, row: Entry, now_us: int) -> bool:
        return row.receive_count > 0 or row.message.sent_us + self.delay_us <= now_us

    def _wait(self, db: apsw.Connection, rows: Iterable[Entry]) -> list[Change]:
        """Visible entries that are held back leave the index by time until it is their turn."""
        changes: list[Change] = []
        for row in rows:
            db.execute("UPDATE entry SET t = ? WHERE id = ?", (WAITING_US + row.id, row.id))
            waiting = Entry(row.id, WAITING_US + row.id, row.message, row.receive_count, row.first_received_us)
            changes.append(Change(row.id, self.state(row), self.state(waiting), group=group_of(row)))
        return changes

    def _delay(self, db: apsw.Connection, rows: Iterable[Entry]) -> list[Change]:
        """Entries that were given back before their delay was over become visible when it is."""
        changes: list[Change] = []
        for row in rows:
            t = row.message.sent_us + self.delay_us
            db.execute("UPDATE entry SET t = ? WHERE id = ?", (t, row.id))
            changes.append(Change(row.id, self.state(row), (t, False), group=group_of(row)))
        return changes

    def _settle(self, db: apsw.Connection, group: str, now_us: int) -> list[Change]:
        """If the first message of a group waits, it stops waiting."""
        first = db.execute(_FIRST_STANDING, (self.record.number, group, WAITING_US)).get
        waiting = self._waiting(db, group, _END_US if first is None else WAITING_US + first, 1)
        if not waiting:
            return []
        (row,) = waiting
        t = now_us if row.receive_count else row.message.sent_us + self.delay_us
        db.execute("UPDATE entry SET t = ? WHERE id = ?", (t, row.id))
        return [Change(row.id, self.state(row), (t, row.receive_count > 0), group=group)]

    def state(self, row: Entry) -> State:
        """A waiting entry counts as visible from its own delay on: it waits for its turn, not for the clock."""
        if row.visible_us < WAITING_US:
            return row.visible_us, row.receive_count > 0
        return (0, True) if row.receive_count else (row.message.sent_us + self.delay_us, False)

    def remove_in(self, db: apsw.Connection, ids: Sequence[int], now_us: int) -> tuple[list[int], list[Change]]:
        found, changes = self.delete_all(db, ids)
        for group in {group_of(row) for row in found}:
            changes += self._settle(db, group, now_us)
        return [row.id for row in found], changes

    def _remember(self, db: apsw.Connection, attempt: str, given: list[Entry], claimed_us: int, now_us: int) -> None:
        rows = [(row.id, row.receive_count, row.visible_us) for row in given]
        claims = msgspec.json.encode((claimed_us, rows)).decode()
        row = (self.queue, self.record.number, attempt, now_us, claims)
        db.execute("INSERT OR REPLACE INTO attempt (queue, pq, name, at_us, claims) VALUES (?, ?, ?, ?, ?)", row)

    def _again(self, db: apsw.Connection, want: Want, now_us: int) -> tuple[Claimed, list[Change]] | None:
        """The same entries as that attempt got, if all are still as it left them, with their visibility renewed."""
        sql = "SELECT claims FROM attempt WHERE queue = ? AND name = ? AND pq = ? AND at_us > ?"
        after_us = now_us - RECEIVE_ATTEMPT_S * SECOND_US
        claims = db.execute(sql, (self.queue, want.attempt, self.record.number, after_us)).get
        if claims is None:
            return None
        given: list[Entry] = []
        claimed_us, rows = msgspec.json.decode(claims)
        for id, receive_count, visible_us in rows:
            held = self.held(db, id, receive_count, now_us)
            if held is None or held.visible_us != visible_us:
                return None
            given.append(held)
        changes: list[Change] = []
        until_us = now_us + want.timeout_us
        for row in given:
            db.execute("UPDATE entry SET t = ? WHERE id = ?", (until_us, row.id))
            changes.append(Change(row.id, (row.visible_us, True), (until_us, True), group=group_of(row)))
            row.visible_us = until_us
        self._remember(db, want.attempt or "", given, claimed_us, now_us)
        return Claimed(given, [], claimed_us=claimed_us), changes

    def passing(self, db: apsw.Connection, now_us: int, end_us: int) -> tuple[int, int]:
        in_flight, _ = super().passing(db, now_us, end_us)
        first = self._first_sent_after(db, now_us - self.delay_us + 1)
        last = self._first_sent_after(db, end_us - self.delay_us)
        sql = "SELECT count(*) FROM entry WHERE id >= ? AND id < ? AND rc = 0 AND sent + ? > ?"
        return in_flight, db.execute(sql, (first, last, self.delay_us, now_us)).get

    def _first_sent_after(self, db: apsw.Connection, sent_us: int) -> int:
        """The first id of a message sent at that time or later: ids grow with time, so halve the range."""
        low = entry_ids.entry_id(self.record.number, 0)
        high = entry_ids.entry_id(self.record.number, self.numbers.next)
        while low < high:
            middle = (low + high) // 2
            sql = "SELECT sent FROM entry WHERE id >= ? AND id < ? ORDER BY id LIMIT 1"
            sent = db.execute(sql, (middle, high)).get
            if sent is None or sent >= sent_us:
                high = middle
            else:
                low = middle + 1
        return low

    def shown_us(self, t: int, receive_count: int, sent_us: int) -> int:
        """For others, a message that waits behind its group is visible as soon as its own delay is over."""
        return t if t < WAITING_US else sent_us + (0 if receive_count else self.delay_us)

    def retime(self, delay_us: int, done: Done[None]) -> None:
        number, before_us = self.record.number, self.delay_us

        def call(db: apsw.Connection) -> tuple[None, list[Change]]:
            sql = "SELECT id, sent FROM entry WHERE pq = ? AND rc = 0"
            rows: list[tuple[Any, ...]] = db.execute(sql, (number,)).fetchall() if delay_us != before_us else []
            db.execute(
                "UPDATE entry SET t = sent + ? WHERE pq = ? AND rc = 0 AND t < ?", (delay_us, number, WAITING_US)
            )
            changes = [Change(id, (sent + before_us, False), (sent + delay_us, False)) for id, sent in rows]
            self.delay_us = delay_us
            return None, changes

        self.change(call, done, told=lambda _: self.arrivals.tell(number, 1))

    @property
    def shelf(self) -> "FifoQueue":
        """For who takes physical queues of all kinds; see `StandardQueue`."""
        return self

    def prepare(self, drafts: Sequence[Draft]) -> None:
        """There is nothing to prepare: a FIFO queue always has groups."""

    def told_removed(self, number: int) -> None:
        self.arrivals.tell(self.record.number, number)

    def land(self, changes: list[Change]) -> None:
        self.count_changes(changes)
