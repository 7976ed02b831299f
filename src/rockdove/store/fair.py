"""A standard physical queue with message groups: noisy groups must not starve the quiet ones."""

from collections.abc import Collection, Iterator, Sequence
from typing import Any

import apsw

from rockdove.core.message import Entry, Message
from rockdove.store.base import Appended, Claimed, Done, Draft, Want
from rockdove.store.grouped import GroupedQueue
from rockdove.store.row import entries, stored_bytes
from rockdove.store.shelf import Change, Shelf
from rockdove.store.sql import statement

# Groups looked at by one claim in search of quiet ones with something visible. The search goes on where it ended.
MOST_PROBES = 64
# Window of a claim without any order.
NO_ORDER_WINDOW = 2048

_FIRST = "SELECT id, grp FROM entry WHERE pq = ? AND t <= ? ORDER BY t, id LIMIT ?"
_OF_GROUP = (
    f"SELECT {statement.COLUMNS} FROM entry JOIN body USING (id) "
    "WHERE pq = ? AND grp = ? AND t <= ? ORDER BY t, entry.id LIMIT ?"
)
_NEXT_GROUP = "SELECT grp, t FROM entry WHERE pq = ? AND grp > ? ORDER BY grp, t LIMIT 1"
_GROUP_EMPTY = "SELECT t FROM entry WHERE pq = ? AND grp = '' ORDER BY t LIMIT 1"


class FairQueue(GroupedQueue):
    """Takes over from a `StandardQueue` at its first message with a group, and shares its counts."""

    def __init__(self, plain: Shelf) -> None:
        super().__init__(plain.store, plain.queue, plain.record, 0)
        self._plain = plain
        self.tally = plain.tally
        # Of the logical queue: who is noisy on all physical ones together is noisy on each.
        self._shares = plain.store.shares(plain.queue)
        # Where the search for quiet groups goes on.
        self._cursor = ""

    def take_numbers(self, number: int) -> int:
        return self._plain.take_numbers(number)

    def is_late(self, message: Message) -> bool:
        return self._plain.is_late(message)

    def has_noisy(self) -> bool:
        return bool(self._shares.noisy(self.clock.now_us()))

    def hold(self, rows: list[tuple[int, str, int]]) -> None:
        """Begin with what is in flight on disk: rows (id, group, until)."""
        for id, group, until_us in rows:
            self._shares.hold(id, group, until_us)

    def land(self, changes: list[Change]) -> None:
        self.count_changes(changes)
        for change in changes:
            if change.group and change.after is not None and change.after[1]:
                self._shares.hold(change.id, change.group, change.after[0])
            else:
                self._shares.drop(change.id)

    def append_in(
        self, db: apsw.Connection, drafts: Sequence[Draft], first_id: int, now_us: int
    ) -> tuple[list[Appended], list[Change]]:
        appended: list[Appended] = []
        changes: list[Change] = []
        for id, draft in enumerate(drafts, first_id):
            extra = draft.message.extra
            self.insert(db, id, draft.visible_us, (extra.group_id if extra else None) or "", draft)
            appended.append(Appended(id, self.message_id(id, draft.message)))
            changes.append(Change(id, None, (draft.visible_us, False)))
        return appended, changes

    def remove_in(self, db: apsw.Connection, ids: Sequence[int], now_us: int) -> tuple[list[int], list[Change]]:
        found = [row for id in ids for row in entries(db.execute(statement.SELECT_ENTRY, (id,)))]
        return [row.id for row in found], [self.delete(db, row) for row in found]

    def claim(self, want: Want, done: Done[Claimed]) -> None:
        if self.dropped or not self.tally.total:
            done(Claimed([], []))
            return
        now = self.clock.now_us()
        noisy = self._shares.noisy(now)
        self.change(lambda db: self._claim(db, want, noisy, now), done)

    def claim_in(self, db: apsw.Connection, want: Want, now_us: int) -> tuple[Claimed, list[Change]]:
        """For leases, which no group is spared from: they take all there is."""
        return self._claim(db, want, (), now_us)

    def forget(self, ids: Sequence[int]) -> None:
        """They are no longer in flight."""
        for id in ids:
            self._shares.drop(id)

    def _claim(
        self, db: apsw.Connection, want: Want, noisy: Collection[str], now_us: int
    ) -> tuple[Claimed, list[Change]]:
        claimed, changes = Claimed([], [], claimed_us=now_us), list[Change]()
        taken: set[int] = set()
        # Once more as long as dead or expired ones are found: the living may stand behind them.
        more = True
        while more:
            passed = len(claimed.dead) + len(claimed.expired)
            for row in self._candidates(db, want, noisy, taken, now_us):
                if len(claimed.entries) == want.limit or (want.room_bytes and claimed.bytes >= want.room_bytes):
                    break
                if row.id in taken:
                    continue
                taken.add(row.id)
                if row.message.sent_us < want.sent_after_us:
                    changes.append(self.delete(db, row))
                    claimed.expired.append(row.id)
                    continue
                new, dead, change = self.hide(db, row, want, now_us)
                (claimed.dead if dead else claimed.entries).append(new)
                changes.append(change)
                if want.room_bytes and not dead:
                    claimed.bytes += stored_bytes(new.message)
            more = passed < len(claimed.dead) + len(claimed.expired)
        if not claimed.entries:
            claimed.next_us = self.next_us(db, now_us)
        return claimed, changes

    def _candidates(
        self, db: apsw.Connection, want: Want, noisy: Collection[str], taken: Collection[int], now_us: int
    ) -> Iterator[Entry]:
        """Visible entries in the order in which to give them; each is read only when it is asked for."""
        window = want.limit + want.spread - 1 if want.spread else NO_ORDER_WINDOW
        # Without a timeout, what is taken is still visible.
        rows: Any = db.execute(_FIRST, (self.record.number, now_us, window + len(taken)))
        first: list[tuple[int, str]] = [row for row in rows if row[0] not in taken][:window]
        order = [id for id, _ in first]
        if noisy:
            yield from self._quiet(db, want.limit, noisy, now_us)
            order = [id for id, group in first if (group or "") not in noisy]
            if not want.spare:
                order += [id for id, group in first if (group or "") in noisy]
        elif len(first) > want.limit:
            chosen = set(self.rng.sample(range(len(order)), want.limit))
            order = [id for at, id in enumerate(order) if at in chosen] + order
        for id in order:
            yield from entries(db.execute(statement.SELECT_ENTRY, (id,)))

    def _quiet(self, db: apsw.Connection, limit: int, noisy: Collection[str], now_us: int) -> list[Entry]:
        """Visible entries of groups that are not noisy, one group after another from where the last search ended."""
        number, found, start, wrapped = self.record.number, list[Entry](), self._cursor, False
        if "" not in noisy and db.execute(_GROUP_EMPTY, (number,)).get is not None:
            found += entries(db.execute(_OF_GROUP, (number, "", now_us, limit)))
        for _ in range(MOST_PROBES):
            if len(found) >= limit:
                break
            rows: list[tuple[Any, ...]] = db.execute(_NEXT_GROUP, (number, self._cursor)).fetchall()
            row = rows[0] if rows else None
            if row is None or (wrapped and row[0] > start):
                if wrapped or not start:
                    self._cursor = ""
                    break
                self._cursor, wrapped = "", True
                continue
            self._cursor, first_us = row
            if self._cursor not in noisy and first_us <= now_us:
                found += entries(db.execute(_OF_GROUP, (number, self._cursor, now_us, limit - len(found))))
        return found
