"""The messages of one physical queue in memory, and all that can be done with them, at once."""

import heapq
from collections.abc import Callable, Iterable, Sequence
from copy import copy
from operator import attrgetter
from random import Random

from msgspec import Struct
from msgspec.structs import replace

from rockdove.core import ids
from rockdove.core.clock import Clock
from rockdove.core.lease import LEASED_US
from rockdove.core.message import Entry, Message
from rockdove.core.queue import PhysicalRecord
from rockdove.store.base import Appended, Claimed, Counts, Draft, Hint, Page, Scanned, Sight, Want
from rockdove.store.common.heap import Heap
from rockdove.store.common.size import stored_bytes
from rockdove.store.memory.fifo import FifoLine
from rockdove.store.memory.line import Draw, Line, LineState, group_of
from rockdove.store.memory.past import Past
from rockdove.store.memory.standard import StandardLine

# So many messages one call of `expire` removes at most.
EXPIRE_AT_ONCE = 1_000


class PileState(Struct, array_like=True):
    """A pile as it is written down. ``hidden``: ids of entries in flight, or delayed."""

    record: PhysicalRecord
    sequence: int
    entries: list[Entry]
    hidden: list[int]
    line: LineState


class Pile:
    """All entries of a physical queue. The methods are those of `rockdove.store.base`."""

    def __init__(
        self,
        record: PhysicalRecord,
        fifo: bool,
        past: Past,
        clock: Clock,
        rng: Random,
        size: Callable[[Message], int] = stored_bytes,
        forgotten: Callable[[Entry], None] = lambda entry: None,
        first: int = 0,
    ) -> None:
        """``size``: how many bytes a message has. ``forgotten`` is called with each entry that is removed. Sequence
        numbers are larger than ``first``."""
        self._record = record
        self._size = size
        self._forgotten = forgotten
        self.fifo = fifo
        self._past = past
        self._clock = clock
        self._sequence = first
        self._entries: dict[int, Entry] = {}
        # Whether they stand in the order of their ids.
        self._is_in_order = True
        # How many have a group.
        self.grouped = 0
        # Invisible entries by visible_us. Every other entry is visible.
        self._in_flight: Heap[int, int] = Heap()
        self._delayed: Heap[int, int] = Heap()
        # Entries by sent_us: those that were moved here from another queue are older than their ids tell.
        self._ages: Heap[int, int] = Heap()
        # The same of leased entries, which do not expire.
        self._leased_ages: Heap[int, int] = Heap()
        self._line: Line = (
            FifoLine(self._entries, size) if fifo else StandardLine(self._entries, past.shares, rng, size)
        )
        past.join(self)

    def leave(self) -> None:
        """It is dropped."""
        self._past.leave(self)

    def now_us(self) -> int:
        return self._clock.now_us()

    def append(self, drafts: Sequence[Draft]) -> list[Appended]:
        now_us = self._pass_time()
        return [self._append(draft, now_us) for draft in drafts]

    def adopt(self, entries: Sequence[Entry]) -> None:
        """Take over entries that were kept elsewhere, under their ids; each once."""
        now_us = self._pass_time()
        for entry in entries:
            key = f"{entry.id:x}"
            if self._past.once.get(key, now_us) is None:
                self._past.once.put(key, Appended(entry.id, ""), now_us)
                self._enter(entry, now_us)
                self._is_in_order = False

    def claim(self, want: Want) -> Claimed:
        now_us = self._pass_time()
        if self.is_crowded(want):
            return Claimed([], [], crowded=True)
        again = self._claim_again(want, now_us)
        if again is not None:
            return again
        return Claimed([], [], claimed_us=now_us) if want.repeats else self._claim(want, now_us)

    def is_crowded(self, want: Want) -> bool:
        return bool(want.max_in_flight) and self._past.in_flight() >= want.max_in_flight

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
            size += self._size(draw.entries[kept].message)
            kept += 1
        for entry in draw.entries[kept:]:
            self._line.show(entry)
        del draw.entries[kept:]
        return size

    def has(self, id: int) -> bool:
        return id in self._entries

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
        return [Sight(entry.visible_us, entry.id, self._size(entry.message)) for entry in first]

    def scan(self, page: Page) -> Scanned:
        """Looks at every id once. Entries stand in the order of their ids, unless some were adopted."""
        found: list[Entry] = []
        room_bytes, last = page.room_bytes, None
        for id, entry in self._entries.items() if self._is_in_order else sorted(self._entries.items()):
            if id <= page.after:
                continue
            if len(found) == page.limit or room_bytes <= 0:
                return Scanned(found, last)
            last = id
            message = entry.message
            group = None if message.extra is None else message.extra.group_id
            if page.sent_from_us <= message.sent_us < page.sent_until_us and page.group in (None, group):
                found.append(copy(entry))
                room_bytes -= self._size(message)
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

    @property
    def hidden(self) -> int:
        """How many were in flight when something was done last."""
        return len(self._in_flight)

    def hint(self) -> Hint:
        noisy = bool(self._past.shares.noisy(self._clock.now_us()))
        return Hint(self._next_visible_us(), bool(self._entries), noisy)

    @property
    def is_due(self) -> bool:
        """Whether something that is hidden has become visible, and nothing has been done since."""
        now_us = self._clock.now_us()
        firsts = [first[0] for hidden in (self._in_flight, self._delayed) if (first := hidden.first()) is not None]
        return any(first_us <= now_us for first_us in firsts)

    @property
    def holds_any(self) -> bool:
        return bool(self._entries)

    @property
    def may_be_noisy(self) -> bool:
        return self._past.shares.may_be_noisy

    def messages(self) -> Iterable[Message]:
        return (entry.message for entry in self._entries.values())

    # As a whole.

    def state(self) -> "PileState":
        hidden = [*self._in_flight.items(), *self._delayed.items()]
        return PileState(self._record, self._sequence, list(self._entries.values()), hidden, self._line.state())

    def take_state(self, state: "PileState") -> None:
        """Be as another one was, being new. What is hidden of fair queues is counted elsewhere."""
        self._sequence = state.sequence
        hidden = set(state.hidden)
        numbers = [entry.id for entry in state.entries]
        self._is_in_order = numbers == sorted(numbers)
        for entry in state.entries:
            self._entries[entry.id] = entry
            self.grouped += bool(group_of(entry))
            ages = self._leased_ages if entry.visible_us == LEASED_US else self._ages
            ages.put(entry.id, entry.message.sent_us)
            if entry.id in hidden:
                (self._in_flight if entry.receive_count else self._delayed).put(entry.id, entry.visible_us)
                self._line.hide(entry)
            else:
                self._line.show(entry)
        self._line.take_state(state.line)

    def next_visible_us(self) -> int | None:
        """When the next entry can be claimed; nothing changes."""
        return self._next_visible_us()

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
        self._enter(entry, now_us)
        extra = draft.message.extra
        name = extra.message_id if extra is not None else None
        appended = Appended(entry.id, name or ids.message_id(self._record.prefix, entry.id))
        if key is not None:
            self._past.sent.put(key, appended, now_us)
        if once is not None:
            self._past.once.put(once, appended, now_us)
        return appended

    def _enter(self, entry: Entry, now_us: int) -> None:
        self._entries[entry.id] = entry
        self.grouped += bool(group_of(entry))
        self._ages.put(entry.id, entry.message.sent_us)
        self._place(entry, entry.visible_us, now_us)

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
        self.grouped -= bool(group_of(entry))
        self._ages.drop(id)
        self._leased_ages.drop(id)
        self._in_flight.drop(id)
        self._delayed.drop(id)
        self._line.drop(entry, now_us)
        self._forgotten(entry)

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
