"""The messages of one physical queue in memory, and all that can be done with them, at once."""

import heapq
from collections.abc import Sequence
from copy import copy
from operator import attrgetter
from random import Random
from typing import TypeAlias

from msgspec.structs import replace

from rockdove.core import ids
from rockdove.core.clock import SECOND_US, Clock
from rockdove.core.fairness import Shares
from rockdove.core.lease import LEASED_US
from rockdove.core.limits import DEDUPLICATION_S, MAX_RETENTION_S, RECEIVE_ATTEMPT_S
from rockdove.core.message import Entry
from rockdove.core.queue import PhysicalRecord
from rockdove.store.base import Appended, Claimed, Counts, Draft, Hint, Page, Scanned, Sight, Want
from rockdove.store.common.heap import Heap
from rockdove.store.common.size import stored_bytes
from rockdove.store.memory.fifo import FifoLine
from rockdove.store.memory.line import Draw, Line, group_of
from rockdove.store.memory.recent import Recent
from rockdove.store.memory.standard import StandardLine

# So many messages one call of `expire` removes at most.
EXPIRE_AT_ONCE = 1_000
# For so long a key of a message that is appended once is remembered: longer than its source can be kept.
ONCE_S = MAX_RETENTION_S + 86_400

# What a receive attempt got, and when: ids, each with its claim.
Attempt: TypeAlias = tuple[int, list[tuple[int, tuple[int, int]]]]


class Past:
    """What a logical queue remembers of its last five minutes, whatever becomes of its physical queues."""

    def __init__(self, once: Recent[Appended] | None = None) -> None:
        """``once``: what was appended once, by its key."""
        self.sent: Recent[Appended] = Recent(DEDUPLICATION_S * SECOND_US)
        self.attempts: Recent[Attempt] = Recent(RECEIVE_ATTEMPT_S * SECOND_US)
        self.shares = Shares()
        self.once: Recent[Appended] = once or Recent(ONCE_S * SECOND_US)
        self._piles: list[Pile] = []

    def join(self, pile: "Pile") -> None:
        self._piles.append(pile)

    def leave(self, pile: "Pile") -> None:
        self._piles.remove(pile)

    def in_flight(self) -> int:
        """On all physical queues together."""
        return sum(pile.in_flight() for pile in self._piles)


class Pile:
    """All entries of a physical queue. The methods are those of `rockdove.store.base`."""

    def __init__(self, record: PhysicalRecord, fifo: bool, past: Past, clock: Clock, rng: Random) -> None:
        self._record = record
        self.fifo = fifo
        self._past = past
        self._clock = clock
        self._sequence = 0
        self._entries: dict[int, Entry] = {}
        # Invisible entries by visible_us. Every other entry is visible.
        self._in_flight: Heap[int, int] = Heap()
        self._delayed: Heap[int, int] = Heap()
        # Entries by sent_us: those that were moved here from another queue are older than their ids tell.
        self._ages: Heap[int, int] = Heap()
        # The same of leased entries, which do not expire.
        self._leased_ages: Heap[int, int] = Heap()
        self._line: Line = FifoLine(self._entries) if fifo else StandardLine(self._entries, past.shares, rng)
        past.join(self)

    def leave(self) -> None:
        """It is dropped."""
        self._past.leave(self)

    def now_us(self) -> int:
        return self._clock.now_us()

    def append(self, drafts: Sequence[Draft]) -> list[Appended]:
        now_us = self._pass_time()
        return [self._append(draft, now_us) for draft in drafts]

    def claim(self, want: Want) -> Claimed:
        now_us = self._pass_time()
        if want.max_in_flight and self._past.in_flight() >= want.max_in_flight:
            return Claimed([], [], crowded=True)
        return self._claim_again(want, now_us) or self._claim(want, now_us)

    def lease(self, want: Want) -> Claimed:
        """A claim in the best order that no time ends; what was not given for its size stays where it was."""
        now_us = self._pass_time()
        draw = self._line.draw(replace(want, order_hint=1), now_us)
        size = self._fit(draw, want.room_bytes)
        claimed = self._take(draw, want, now_us, LEASED_US)
        claimed.bytes = size
        return claimed

    def _fit(self, draw: Draw, room_bytes: int) -> int:
        """Put back what there is no room for; how many bytes the rest has."""
        kept, size = 0, 0
        while kept < len(draw.entries) and size < room_bytes:
            size += stored_bytes(draw.entries[kept].message)
            kept += 1
        for entry in draw.entries[kept:]:
            self._line.show(entry)
        del draw.entries[kept:]
        return size

    def unlease(self, ids: Sequence[int]) -> int:
        """Make leased entries visible; how many there are."""
        now_us = self._pass_time()
        found = [self._entries[id] for id in ids if id in self._entries]
        for entry in found:
            self._place(entry, now_us, now_us)
        return len(found)

    def move(self, id: int, visible_us: int, receive_count: int | None) -> bool:
        now_us = self._pass_time()
        if not (self._is_received(id) if receive_count is None else self._is_held(id, receive_count)):
            return False
        self._place(self._entries[id], visible_us, now_us)
        return True

    def remove(self, id: int, receive_count: int | None) -> bool:
        now_us = self._pass_time()
        if id not in self._entries or not (receive_count is None or self._is_held(id, receive_count)):
            return False
        self._forget(id, now_us)
        return True

    def release(self, entries: Sequence[Entry]) -> None:
        now_us = self._pass_time()
        for claimed in entries:
            entry = self._entries.get(claimed.id)
            # Only what is still as the claim left it: somebody else may hold it by now.
            if entry is None or _claim_of(entry) != _claim_of(claimed) or not entry.receive_count:
                continue
            entry.receive_count -= 1
            if entry.receive_count == 0:
                entry.first_received_us = 0
            self._place(entry, now_us, now_us)

    def count(self) -> Counts:
        self._pass_time()
        in_flight, delayed = len(self._in_flight), len(self._delayed)
        return Counts(len(self._entries) - in_flight - delayed, in_flight, delayed)

    def oldest(self) -> int | None:
        firsts = [first[0] for ages in (self._ages, self._leased_ages) if (first := ages.first()) is not None]
        return min(firsts, default=None)

    def sight(self, limit: int) -> list[Sight]:
        """Looks at every entry once: no order of visible and invisible ones together is kept for it."""
        first = heapq.nsmallest(limit, self._entries.values(), key=attrgetter("visible_us", "id"))
        return [Sight(entry.visible_us, entry.id, stored_bytes(entry.message)) for entry in first]

    def scan(self, page: Page) -> Scanned:
        """Looks at every id once. Entries stand in the order of their ids: none is ever put between others."""
        found: list[Entry] = []
        room_bytes, last = page.room_bytes, None
        for id, entry in self._entries.items():
            if id <= page.after:
                continue
            if len(found) == page.limit or room_bytes <= 0:
                return Scanned(found, last)
            last = id
            message = entry.message
            group = None if message.extra is None else message.extra.group_id
            if page.sent_from_us <= message.sent_us < page.sent_until_us and page.group in (None, group):
                found.append(copy(entry))
                room_bytes -= stored_bytes(message)
        return Scanned(found, None)

    def expire(self, sent_after_us: int) -> list[int]:
        now_us = self._pass_time()
        removed: list[int] = []
        while (
            len(removed) < EXPIRE_AT_ONCE and (oldest := self._ages.first()) is not None and oldest[0] < sent_after_us
        ):
            self._forget(oldest[1], now_us)
            removed.append(oldest[1])
        return removed

    def retime(self, delay_us: int) -> None:
        """Looks at every entry once."""
        now_us = self._pass_time()
        if not self.fifo:
            return
        self._line.delay(delay_us)
        for entry in self._entries.values():
            if entry.receive_count == 0:
                self._place(entry, entry.message.sent_us + delay_us, now_us)

    def find(self, id: int) -> Entry | None:
        return copy(self._entries.get(id))

    def holds(self, group: str) -> bool:
        return self._line.holds(group)

    def holds_groups_of(self, drafts: Sequence[Draft]) -> bool:
        """Whether it holds messages of the groups of all that are not duplicates."""
        now_us = self._clock.now_us()
        keys: set[str] = set()
        for draft in drafts:
            key = draft.deduplication_key
            if key is not None and (key in keys or self._past.sent.get(key, now_us) is not None):
                continue
            if not self._line.holds(group_of(draft)):
                return False
            if key is not None:
                keys.add(key)
        return True

    def in_flight(self) -> int:
        self._pass_time()
        return len(self._in_flight)

    def hint(self) -> Hint:
        noisy = bool(self._past.shares.noisy(self._clock.now_us()))
        return Hint(self._next_visible_us(), bool(self._entries), noisy)

    def _next_visible_us(self) -> int | None:
        firsts = [first[0] for hidden in (self._in_flight, self._delayed) if (first := hidden.first()) is not None]
        ready_us = self._line.ready_us()
        next_us = min(firsts if ready_us is None else [*firsts, ready_us], default=None)
        return None if next_us == LEASED_US else next_us

    def _append(self, draft: Draft, now_us: int) -> Appended:
        key = draft.deduplication_key if self.fifo else None
        if key is not None and (first := self._past.sent.get(key, now_us)) is not None:
            return first
        once = draft.once_key
        if once is not None and (first := self._past.once.get(once, now_us)) is not None:
            return first
        self._sequence += 1
        entry = Entry(ids.entry_id(self._record.number, self._sequence), draft.visible_us, draft.message)
        self._entries[entry.id] = entry
        self._ages.put(entry.id, entry.message.sent_us)
        self._place(entry, draft.visible_us, now_us)
        extra = draft.message.extra
        name = extra.message_id if extra is not None else None
        appended = Appended(entry.id, name or ids.message_id(self._record.prefix, entry.id))
        if key is not None:
            self._past.sent.put(key, appended, now_us)
        if once is not None:
            self._past.once.put(once, appended, now_us)
        return appended

    def _claim(self, want: Want, now_us: int) -> Claimed:
        # The line takes `room_bytes` for the sign of a lease, which does not hold noisy groups back. This is a receive.
        draw = self._line.draw(replace(want, room_bytes=0) if want.room_bytes else want, now_us)
        size = self._fit(draw, want.room_bytes) if want.room_bytes else 0
        claimed = self._take(draw, want, now_us, now_us + want.timeout_us)
        claimed.bytes = size
        if self.fifo and want.attempt is not None and claimed.entries:
            self._remember(want.attempt, claimed.entries, now_us, now_us)
        return claimed

    def _take(self, draw: Draw, want: Want, now_us: int, visible_us: int) -> Claimed:
        for entry in draw.expired:
            self._forget(entry.id, now_us)
        for entry in draw.dead:
            self._place(entry, now_us + want.timeout_us, now_us)
        for entry in draw.entries:
            entry.receive_count += 1
            entry.first_received_us = entry.first_received_us or now_us
            self._place(entry, visible_us, now_us)
        return Claimed(
            [copy(entry) for entry in draw.entries],
            [copy(entry) for entry in draw.dead],
            None if draw.entries else self._next_visible_us(),
            now_us,
            [entry.id for entry in draw.expired],
        )

    def _claim_again(self, want: Want, now_us: int) -> Claimed | None:
        """What the same attempt got before, if all of it is as it was left."""
        if want.attempt is None or not self.fifo:
            return None
        attempt = self._past.attempts.get(self._attempt_key(want.attempt), now_us)
        if attempt is None:
            return None
        claimed_us, seen = attempt
        if any(id not in self._in_flight or _claim_of(self._entries[id]) != claim for id, claim in seen):
            return None
        entries = [self._entries[id] for id, _ in seen]
        for entry in entries:
            self._place(entry, now_us + want.timeout_us, now_us)
        self._remember(want.attempt, entries, claimed_us, now_us)
        return Claimed([copy(entry) for entry in entries], [], None, claimed_us)

    def _remember(self, attempt: str, entries: Sequence[Entry], claimed_us: int, now_us: int) -> None:
        seen = [(entry.id, _claim_of(entry)) for entry in entries]
        self._past.attempts.put(self._attempt_key(attempt), (claimed_us, seen), now_us)

    def _attempt_key(self, attempt: str) -> str:
        """One receive may ask several physical queues under one attempt id; each remembers its own answer."""
        return f"{self._record.number} {attempt}"

    def _is_received(self, id: int) -> bool:
        """Whether it was received, and is not leased; in a FIFO queue, whether it is in flight."""
        entry = self._entries.get(id)
        if entry is None or not entry.receive_count or entry.visible_us >= LEASED_US:
            return False
        return id in self._in_flight or not self.fifo

    def _is_held(self, id: int, receive_count: int) -> bool:
        return self._is_received(id) and id in self._in_flight and self._entries[id].receive_count == receive_count

    def _place(self, entry: Entry, visible_us: int, now_us: int) -> None:
        """Give an entry another time, and put it where it then belongs."""
        if LEASED_US in (visible_us, entry.visible_us):
            here, there = (self._ages, self._leased_ages)[:: 1 if visible_us == LEASED_US else -1]
            here.drop(entry.id)
            there.put(entry.id, entry.message.sent_us)
        entry.visible_us = visible_us
        self._in_flight.drop(entry.id)
        self._delayed.drop(entry.id)
        if visible_us <= now_us:
            self._line.show(entry)
            return
        (self._in_flight if entry.receive_count else self._delayed).put(entry.id, visible_us)
        self._line.hide(entry)

    def _forget(self, id: int, now_us: int) -> None:
        entry = self._entries.pop(id)
        self._ages.drop(id)
        self._leased_ages.drop(id)
        self._in_flight.drop(id)
        self._delayed.drop(id)
        self._line.drop(entry, now_us)

    def _pass_time(self) -> int:
        """Show what has become visible since the last call. Every change begins with it."""
        now_us = self._clock.now_us()
        for hidden in (self._in_flight, self._delayed):
            while (first := hidden.first()) is not None and first[0] <= now_us:
                hidden.pop()
                self._line.show(self._entries[first[1]])
        return now_us


def _claim_of(entry: Entry) -> tuple[int, int]:
    """What tells one claim of an entry from another."""
    return entry.visible_us, entry.receive_count
