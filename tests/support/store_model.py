"""A physical queue as plainly as it can be said: a list, looked through from one end to the other at every question.

It does not decide what a store must choose freely (which FIFO group goes first, how many expired messages a claim
removes): it checks that what the store chose was allowed, and goes on from there.
"""

from collections.abc import Sequence
from dataclasses import dataclass, field

from rockdove.core.lease import LEASED_US
from rockdove.core.limits import NOISY_MIN_IN_FLIGHT
from rockdove.core.message import Entry, Message
from rockdove.store.base import Appended, Claimed, Draft, Want
from tests.support.store import Queue

FIVE_MINUTES_US = 300_000_000


@dataclass
class Kept:
    """A message that the queue should have."""

    id: int
    message: Message
    visible_us: int
    receive_count: int = 0
    first_received_us: int = 0

    @property
    def group(self) -> str:
        extra = self.message.extra
        return (extra.group_id or "") if extra else ""

    @property
    def leased(self) -> bool:
        return self.visible_us == LEASED_US

    def in_flight(self, now_us: int) -> bool:
        return self.receive_count > 0 and self.visible_us > now_us

    def fields(self) -> tuple[object, ...]:
        return (self.id, self.visible_us, self.receive_count, self.first_received_us, self.message)


@dataclass
class Fates:
    """What a claim may do with a group, or with a whole standard queue, in order."""

    live: list[Kept] = field(default_factory=list)
    dead: list[Kept] = field(default_factory=list)
    expired: list[Kept] = field(default_factory=list)

    def sort(self, kept: Kept, want: Want) -> list[Kept]:
        if kept.message.sent_us < want.sent_after_us:
            fate = self.expired
        elif 0 < want.max_receives <= kept.receive_count:
            fate = self.dead
        else:
            fate = self.live
        fate.append(kept)
        return fate


@dataclass
class Model:
    """What a physical queue holds, and what its logical queue remembers."""

    fifo: bool
    delay_us: int = 0
    kept: list[Kept] = field(default_factory=list)
    # Keys with the time and the outcome of their first append.
    sent: dict[str, tuple[int, Appended]] = field(default_factory=dict)
    # Attempts with their time, and the ids, counts and times they left.
    attempts: dict[str, tuple[int, list[tuple[int, int, int]]]] = field(default_factory=dict)
    last_id: int = 0

    def find(self, id: int) -> Kept | None:
        return next((kept for kept in self.kept if kept.id == id), None)

    def counts(self, now_us: int) -> tuple[int, int, int]:
        visible = sum(kept.visible_us <= now_us for kept in self.kept)
        in_flight = sum(kept.in_flight(now_us) for kept in self.kept)
        return visible, in_flight, len(self.kept) - visible - in_flight

    def append(self, drafts: Sequence[Draft], appended: Sequence[Appended], now_us: int) -> None:
        assert len(drafts) == len(appended)
        for draft, new in zip(drafts, appended, strict=True):
            key = draft.deduplication_key
            if key is not None and key in self.sent and now_us - self.sent[key][0] < FIVE_MINUTES_US:
                assert new == self.sent[key][1]
                continue
            assert new.id > self.last_id, "ids grow"
            self.last_id = new.id
            self.kept.append(Kept(new.id, draft.message, draft.visible_us))
            if key is not None:
                self.sent[key] = (now_us, new)

    def move(self, id: int, visible_us: int, receive_count: int | None, now_us: int) -> bool:
        kept = self.find(id)
        if kept is None or kept.leased or not kept.receive_count or receive_count not in (None, kept.receive_count):
            return False
        if not kept.in_flight(now_us) and (self.fifo or receive_count is not None):
            return False
        kept.visible_us = visible_us
        return True

    def remove(self, id: int, receive_count: int | None, now_us: int) -> bool:
        kept = self.find(id)
        if kept is None:
            return False
        held = kept.in_flight(now_us) and not kept.leased
        if receive_count is not None and (receive_count != kept.receive_count or not held):
            return False
        self.kept.remove(kept)
        return True

    def release(self, entries: Sequence[Entry], now_us: int) -> None:
        for entry in entries:
            kept = self.find(entry.id)
            if kept is None or (kept.visible_us, kept.receive_count) != (entry.visible_us, entry.receive_count):
                continue
            kept.visible_us = now_us
            kept.receive_count -= 1
            if kept.receive_count == 0:
                kept.first_received_us = 0

    def expire(self, sent_after_us: int) -> int:
        before = len(self.kept)
        self.kept = [kept for kept in self.kept if kept.leased or kept.message.sent_us >= sent_after_us]
        return before - len(self.kept)

    def retime(self, delay_us: int) -> None:
        self.delay_us = delay_us
        for kept in self.kept:
            if kept.receive_count == 0:
                kept.visible_us = kept.message.sent_us + delay_us

    def purge(self) -> None:
        self.kept = []
        self.attempts = {}
        self.sent = {}
        self.last_id = 0

    def lease(self, want: Want, claimed: Claimed, left: set[int], now_us: int) -> None:
        """Check the claim of a lease and take it over: one that no time ends."""
        given = [Entry(*_moved(entry, now_us + want.timeout_us)) for entry in claimed.entries]
        self.claim(want, Claimed(given, claimed.dead, claimed.next_us, now_us, claimed.expired), left, now_us)
        for entry in claimed.entries:
            assert entry.visible_us == LEASED_US
            kept = self.find(entry.id)
            assert kept is not None
            kept.visible_us = LEASED_US

    def unlease(self, ids: Sequence[int], now_us: int) -> int:
        found = [kept for kept in self.kept if kept.id in ids]
        for kept in found:
            kept.visible_us = now_us
        return len(found)

    def claim(self, want: Want, claimed: Claimed, left: set[int], now_us: int) -> None:
        """Check a claim and take it over. ``left`` are the ids that the store has afterwards."""
        again = self._again(want, now_us)
        if again is not None:
            assert [entry.id for entry in claimed.entries] == [kept.id for kept in again]
            assert claimed.dead == []
            self._hide(claimed.entries, want, now_us, counts=False)
        else:
            self._check_limit(want, claimed)
            if self.fifo:
                removed = self._check_groups(want, claimed, now_us)
            else:
                removed = self._check_order(want, claimed, now_us)
            self._take_over_expired(want, removed, left)
            self._hide(claimed.entries, want, now_us, counts=True)
            self._hide(claimed.dead, want, now_us, counts=False)
        if self.fifo and want.attempt is not None and claimed.entries:
            got = [(entry.id, entry.receive_count, entry.visible_us) for entry in claimed.entries]
            self.attempts[want.attempt] = (now_us, got)
        if not claimed.entries and not claimed.dead:
            self._check_next(claimed.next_us, now_us)

    def claimable(self, now_us: int) -> bool:
        want = Want(1, 0)
        return any(fates.live for fates in self._groups(want, now_us)) if self.fifo else self.counts(now_us)[0] > 0

    def next_us(self, now_us: int) -> int | None:
        """When something can be claimed if nobody does anything."""
        if not self.fifo:
            return min((max(kept.visible_us, now_us) for kept in self.kept if not kept.leased), default=None)
        times = []
        for group in {kept.group for kept in self.kept}:
            first = min((kept for kept in self.kept if kept.group == group), key=lambda kept: kept.id)
            if not first.leased:
                times.append(max(now_us, self._due_us(first)))
        return min(times, default=None)

    def _due_us(self, kept: Kept) -> int:
        return kept.visible_us if kept.receive_count else kept.message.sent_us + self.delay_us

    def _again(self, want: Want, now_us: int) -> list[Kept] | None:
        if not self.fifo or want.attempt is None or want.attempt not in self.attempts:
            return None
        at_us, got = self.attempts[want.attempt]
        if now_us - at_us >= FIVE_MINUTES_US:
            return None
        found = [(self.find(id), receive_count, visible_us) for id, receive_count, visible_us in got]
        if all(
            kept is not None and kept.in_flight(now_us) and (kept.receive_count, kept.visible_us) == (count, until_us)
            for kept, count, until_us in found
        ):
            return [kept for kept, _, _ in found if kept is not None]
        return None

    def _check_limit(self, want: Want, claimed: Claimed) -> None:
        assert len(claimed.entries) <= want.limit
        ids = [entry.id for entry in claimed.entries + claimed.dead]
        assert len(ids) == len(set(ids))

    def _check_order(self, want: Want, claimed: Claimed, now_us: int) -> list[Kept]:
        """A standard queue with K = 1. Gives the expired ones that the claim must have met."""
        fates = Fates()
        met: list[Kept] = []
        visible = [kept for kept in self.kept if kept.visible_us <= now_us]
        for kept in sorted(visible, key=lambda kept: (kept.visible_us, kept.id)):
            if len(fates.live) == want.limit:
                break
            if fates.sort(kept, want) is fates.expired:
                met.append(kept)
        if self._has_noisy(now_us):
            # Then the quiet go first, and only how many there are can be told.
            assert {entry.id for entry in claimed.entries + claimed.dead} <= {kept.id for kept in visible}
            assert len(claimed.entries) == len(fates.live)
            return []
        assert [entry.id for entry in claimed.entries] == [kept.id for kept in fates.live]
        assert [entry.id for entry in claimed.dead] == [kept.id for kept in fates.dead]
        return met

    def _has_noisy(self, now_us: int) -> bool:
        held = [kept.group for kept in self.kept if kept.in_flight(now_us) and kept.group]
        return any(held.count(group) >= NOISY_MIN_IN_FLIGHT for group in set(held))

    def _groups(self, want: Want, now_us: int) -> list[Fates]:
        """What each group could give: all that stands before the first one in flight."""
        groups = []
        for name in sorted({kept.group for kept in self.kept}):
            members = sorted((kept for kept in self.kept if kept.group == name), key=lambda kept: kept.id)
            fates = Fates()
            for kept in members:
                if kept.in_flight(now_us) or self._due_us(kept) > now_us or fates.sort(kept, want) is fates.dead:
                    break
            groups.append(fates)
        return groups

    def _check_groups(self, want: Want, claimed: Claimed, now_us: int) -> list[Kept]:
        given = [entry.id for entry in claimed.entries]
        dead = [entry.id for entry in claimed.dead]
        groups = self._groups(want, now_us)
        known = {kept.id for fates in groups for kept in fates.live + fates.dead}
        assert {*given, *dead} <= known, "behind one in flight, not due, or out of order"
        met: list[Kept] = []
        for fates in groups:
            live = [kept.id for kept in fates.live]
            mine = [id for id in given if id in live]
            assert mine == live[: len(mine)], "a group's messages in their order, none left out"
            mine_dead = [kept.id for kept in fates.dead if kept.id in dead]
            if mine_dead or len(given) < want.limit:
                assert mine == live
            if len(given) < want.limit:
                assert mine_dead == [kept.id for kept in fates.dead]
            last = max(mine + mine_dead, default=0)
            met += [kept for kept in fates.expired if kept.id < last or len(given) < want.limit]
        return met

    def _take_over_expired(self, want: Want, met: list[Kept], left: set[int]) -> None:
        for kept in met:
            assert kept.id not in left, "expired, and met on the way"
        for kept in [kept for kept in self.kept if kept.id not in left]:
            assert kept.message.sent_us < want.sent_after_us, "a claim removes only what is expired"
            self.kept.remove(kept)

    def _hide(self, entries: Sequence[Entry], want: Want, now_us: int, counts: bool) -> None:
        for entry in entries:
            kept = self.find(entry.id)
            assert kept is not None
            kept.visible_us = now_us + want.timeout_us
            kept.receive_count += counts
            kept.first_received_us = kept.first_received_us or now_us
            assert Kept(*_fields(entry)).fields() == kept.fields()

    def _check_next(self, next_us: int | None, now_us: int) -> None:
        true_us = self.next_us(now_us)
        if true_us is None:
            # A message may become visible, and have to wait for a leased one of its group.
            assert next_us is None or (self.fifo and any(kept.leased for kept in self.kept))
        else:
            assert next_us is not None
            assert now_us < next_us <= true_us


def _moved(entry: Entry, visible_us: int) -> tuple[int, int, Message, int, int]:
    return entry.id, visible_us, entry.message, entry.receive_count, entry.first_received_us


def _fields(entry: Entry) -> tuple[int, Message, int, int, int]:
    return entry.id, entry.message, entry.visible_us, entry.receive_count, entry.first_received_us


def check_entries(queue: Queue, model: Model, now_us: int) -> None:
    entries = queue.peek(10_000)
    if not model.fifo:
        kept = sorted(model.kept, key=lambda kept: (kept.visible_us, kept.id))
        assert [state_of(entry, entry.visible_us) for entry in entries] == [item.fields() for item in kept]
        return
    assert [entry.id for entry in sorted(entries, key=lambda entry: entry.id)] == [kept.id for kept in model.kept]
    for entry in entries:
        item = model.find(entry.id)
        assert item is not None
        # Since when a message has been visible plays no part in a FIFO queue.
        visible_us = item.visible_us if max(entry.visible_us, item.visible_us) <= now_us else entry.visible_us
        assert state_of(entry, visible_us) == item.fields()


def state_of(entry: Entry, visible_us: int) -> tuple[object, ...]:
    return entry.id, visible_us, entry.receive_count, entry.first_received_us, entry.message
