"""A standard physical queue with message groups: noisy groups must not starve the quiet ones.

What takes a connection (`db`) runs in the writer's thread, all else in the event loop's.
"""

from collections.abc import Callable, Collection, Iterator, Sequence
from typing import Any

import apsw

from rockdove.core.errors import StoreError
from rockdove.core.ids import physical_of
from rockdove.core.message import Entry
from rockdove.core.queue import PhysicalRecord
from rockdove.store.base import Appended, Claimed, Done, Draft, Want
from rockdove.store.common.size import DeadBound, stored_bytes
from rockdove.store.common.tally import Tally
from rockdove.store.sqlite import statement
from rockdove.store.sqlite.group_order import GroupOrder, Place
from rockdove.store.sqlite.grouped import GroupedQueue
from rockdove.store.sqlite.numbers import Numbers
from rockdove.store.sqlite.row import entries
from rockdove.store.sqlite.shared import Shared
from rockdove.store.sqlite.shelf import Change
from rockdove.store.sqlite.together import Together

# Groups looked at by one claim, most of them only when they had nothing left after the last look.
MOST_PROBES = 1_000
# Groups looked for on disk at a time, as after a start.
WALK_AT_ONCE = 1_000
# With fewer groups than these, those without anything visible are left until somebody is noisy.
FEW_GROUPS = 256
# Window of a claim without any order.
NO_ORDER_WINDOW = 2048

_FIRST = "SELECT id, grp FROM entry WHERE pq = ? AND t <= ? ORDER BY t, id LIMIT ?"
_OF_GROUP = "SELECT t, id FROM entry WHERE pq = ? AND grp = ? AND t <= ? ORDER BY t, id LIMIT ?"
_FIRST_OF_GROUP = "SELECT t, id FROM entry WHERE pq = ? AND grp = ? ORDER BY t, id LIMIT 1"
_NEXT_GROUP = "SELECT t, id, grp FROM entry WHERE pq = ? AND grp > ? ORDER BY grp, t, id LIMIT 1"


class FairQueue(GroupedQueue):
    """Takes over from a `PlainQueue` at its first message with a group, and goes on with its ids and counts."""

    def __init__(
        self, shared: Shared, queue: str, record: PhysicalRecord, numbers: Numbers, tally: Tally, together: Together
    ) -> None:
        super().__init__(shared, queue, record, numbers, tally, together)
        # Of the logical queue: who is noisy on all physical ones together is noisy on each.
        self.shares = together.shares
        # All groups but the empty one, which every claim looks at.
        self._turns = GroupOrder()
        # Where the search for groups on disk goes on.
        self._cursor = ""

    @property
    def is_noisy(self) -> bool:
        return bool(self.shares.noisy(self.clock.now_us()))

    def hold(self, rows: list[tuple[int, str, int]]) -> None:
        """Begin with what is in flight on disk: rows (id, group, until)."""
        for id, group, until_us in rows:
            self.shares.hold(id, group, until_us)
        self._find_groups()

    def land(self, changes: list[Change]) -> None:
        self.count_changes(changes)
        for change in changes:
            if change.group and change.after is not None:
                t, received = change.after
                self._turns.tell((t, change.id), change.group)
                if received:
                    self.shares.hold(change.id, change.group, t)
                    continue
            self.shares.drop(change.id)

    def append(self, drafts: Sequence[Draft], done: Done[list[Appended]]) -> None:
        if self.record.leaves:
            done(self.gone())
        else:
            super().append(drafts, done)

    def append_in(
        self, db: apsw.Connection, drafts: Sequence[Draft], first_id: int, now_us: int
    ) -> tuple[list[Appended], list[Change]]:
        appended: list[Appended] = []
        changes: list[Change] = []
        self._turns.take_news()
        for id, draft in enumerate(drafts, first_id):
            extra = draft.message.extra
            group = (extra.group_id if extra else None) or ""
            self.insert(db, id, draft.visible_us, group, draft)
            appended.append(Appended(id, self.message_id(id, draft.message)))
            changes.append(Change(id, None, (draft.visible_us, False), group=group))
        return appended, changes

    def remove_in(self, db: apsw.Connection, ids: Sequence[int], now_us: int) -> tuple[list[int], list[Change]]:
        found, changes = self.delete_all(db, ids)
        return [row.id for row in found], changes

    def claim_call(self, want: Want, now_us: int) -> Callable[[apsw.Connection], tuple[Claimed, list[Change]]]:
        noisy = self.shares.noisy(now_us)
        if self._turns.lost:
            self._find_groups()
        tried = False

        def call(db: apsw.Connection) -> tuple[Claimed, list[Change]]:
            nonlocal tried
            # On a full disk this runs a second time. What the first run has learned of groups may be wrong, because its
            # changes were rolled back: look for the groups on disk again.
            self._turns.lost |= tried
            tried = True
            outcome = self._claim(db, want, noisy, now_us)
            if not noisy and len(self._turns) > FEW_GROUPS:
                self._settle(db, 2 * want.limit, now_us)
            self._turns.look_further(now_us)
            return outcome

        return call

    def claim_in(self, db: apsw.Connection, want: Want, now_us: int) -> tuple[Claimed, list[Change]]:
        """For leases, which no group is spared from: they take all there is."""
        return self._claim(db, want, (), now_us)

    def forget(self, ids: Sequence[int]) -> None:
        """Entries are no longer leased: they are gone, or visible again. Ids of other physical queues are ignored."""
        for id in ids:
            if physical_of(id) == self.record.number and (group := self.shares.drop(id)):
                self._turns.tell((0, id), group)

    def abandon(self) -> None:
        super().abandon()
        self._turns.lost = True

    def _claim(
        self, db: apsw.Connection, want: Want, noisy: Collection[str], now_us: int
    ) -> tuple[Claimed, list[Change]]:
        claimed, changes = Claimed([], [], claimed_us=now_us), list[Change]()
        taken: set[int] = set()
        bound = DeadBound(claimed.dead)
        self._turns.take_news()
        # Once more as long as dead or expired ones are found: the living may stand behind them.
        more = True
        while more:
            passed = len(claimed.dead) + len(claimed.expired)
            for row in self._candidates(db, want, noisy, taken, now_us):
                if len(claimed.entries) == want.limit or (want.room_bytes and claimed.bytes >= want.room_bytes):
                    break
                if bound.is_reached:
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
            more = passed < len(claimed.dead) + len(claimed.expired) and not bound.is_reached
        if not claimed.entries:
            claimed.next_us = self.next_us(db, now_us)
        return claimed, changes

    def _candidates(
        self, db: apsw.Connection, want: Want, noisy: Collection[str], taken: Collection[int], now_us: int
    ) -> Iterator[Entry]:
        """Visible entries in the order in which to give them; each is read only when it is asked for."""
        window = want.limit + want.order_hint - 1 if want.order_hint else NO_ORDER_WINDOW
        # Without a timeout, what is taken is still visible.
        rows: Any = db.execute(_FIRST, (self.record.number, now_us, window + len(taken)))
        first: list[tuple[int, str]] = [row for row in rows if row[0] not in taken][:window]
        order = [id for id, _ in first]
        if noisy:
            order = [id for _, id in self._quiet(db, want.limit + len(taken), noisy, now_us) if id not in taken]
            order += [id for id, group in first if (group or "") not in noisy]
            if not want.spare_noisy:
                order += [id for id, group in first if (group or "") in noisy]
        elif len(first) > want.limit:
            chosen = set(self.rng.sample(range(len(order)), want.limit))
            order = [id for at, id in enumerate(order) if at in chosen] + order
        for id in order:
            yield from entries(db.execute(statement.SELECT_ENTRY, (id,)))

    def _quiet(self, db: apsw.Connection, limit: int, noisy: Collection[str], now_us: int) -> list[Place]:
        """The oldest visible entries (t, id) of groups that are not noisy.

        Groups are looked at in the order of their turns, until none that is left can have an older one.
        """
        number, turns = self.record.number, self._turns
        rows: Any = db.execute(_OF_GROUP, (number, "", now_us, limit)).fetchall()
        found: list[Place] = rows
        looked_at: list[tuple[Place, str]] = []
        for _ in range(MOST_PROBES):
            turn = turns.first()
            if turn is None or turn[0][0] > now_us or (len(found) == limit and turn[0] > found[-1]):
                break
            place, group = turn
            turns.drop(group)
            if group not in noisy:
                rows = db.execute(_OF_GROUP, (number, group, now_us, limit)).fetchall()
                found = sorted(found + rows)[:limit]
                place = rows[0] if rows else db.execute(_FIRST_OF_GROUP, (number, group)).get
            if place is not None:
                looked_at.append((place, group))
        for place, group in looked_at:
            turns.put(place, group)
        return found

    def _settle(self, db: apsw.Connection, most: int, now_us: int) -> None:
        """Take groups that have nothing visible from the front, a few with each claim.

        Otherwise the first claim that needs the order would have to do all of this at once.
        """
        turns = self._turns
        for _ in range(most):
            turn = turns.first()
            if turn is None or turn[0][0] > now_us:
                break
            place = db.execute(_FIRST_OF_GROUP, (self.record.number, turn[1])).get
            if place is None:
                turns.drop(turn[1])
            else:
                turns.put(place, turn[1])
                if place[0] <= now_us:
                    break

    def _find_groups(self) -> None:
        """Look for all groups on disk, some at a time."""
        self._turns.lost = False

        def begin(db: apsw.Connection) -> bool:
            self._turns.begin()
            self._cursor = ""
            return self._walk(db)

        self.writer.call(begin, self._walked)

    def _walk(self, db: apsw.Connection) -> bool:
        """Find some more groups; whether there may be others."""
        for _ in range(WALK_AT_ONCE):
            row = db.execute(_NEXT_GROUP, (self.record.number, self._cursor)).get
            if row is None:
                return False
            t, id, self._cursor = row
            self._turns.lower((t, id), self._cursor)
        return True

    def _walked(self, more: bool | StoreError) -> None:
        if isinstance(more, StoreError):
            self._turns.lost = True
        elif more and not self.dropped:
            self.writer.call(self._walk, self._walked)
