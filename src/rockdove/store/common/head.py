"""The cached head of a standard queue's index: its first entries, with their messages.

Everything before ``bound`` is in the cache, everything from ``bound`` on is only on disk; without a bound all is in
the cache. So a claim is decided in memory and no receive cost grows with depth, while memory stays bounded.
"""

import heapq
from collections.abc import Iterable
from dataclasses import dataclass
from random import Random

from rockdove.core.message import Entry
from rockdove.store.base import Claimed, Want
from rockdove.store.common.size import stored_bytes

# Entries that a head holds at most, and keeps when it is cut. More than the widest order hint needs.
MOST = 4096
KEPT = 2048
# Bytes of bodies that a head holds at most, keeps when it is cut, and fetches at a time: ten of the largest messages.
MOST_BYTES = 24 * 1024 * 1024
KEPT_BYTES = 12 * 1024 * 1024
FETCHED_BYTES = 10 * 1024 * 1024
# So many left-over items of the heap do no harm.
SLACK = 256
# Below so many entries the next ones are fetched ahead.
LOW = 1024

# Before every entry: nothing is cached.
START = (-1, -1)


@dataclass(frozen=True)
class Fetch:
    """A look at the disk under way, from a bound on, with what has changed since it began."""

    start: tuple[int, int]
    late: dict[int, Entry | None]


class Head:
    """Entries keyed by id, in a heap by (visible_us, id); a heap item counts only while it is its entry's newest."""

    def __init__(self, bound: tuple[int, int] | None) -> None:
        self.bound = bound
        self._entries: dict[int, Entry] = {}
        self._heap: list[tuple[int, int]] = []
        self._bytes = 0
        # While the next entries are being fetched: what has changed meanwhile, as it is now (None: removed).
        self._late: dict[int, Entry | None] | None = None

    @property
    def fetching(self) -> bool:
        return self._late is not None

    @property
    def bytes(self) -> int:
        return self._bytes

    def is_short(self, now_us: int, need: int) -> bool:
        """Whether fewer than needed are left here, there is room for more, and more are visible on disk."""
        return (
            self.bound is not None
            and self.bound[0] <= now_us
            and len(self._entries) < need
            and self._bytes < FETCHED_BYTES
        )

    def put(self, entry: Entry) -> None:
        """An entry is new, or has moved; outside the cached part it is left to the disk."""
        key = (entry.visible_us, entry.id)
        self._drop(entry.id)
        if self._late is not None:
            self._late[entry.id] = entry
        if self.bound is None or key < self.bound:
            self._entries[entry.id] = entry
            self._bytes += stored_bytes(entry.message)
            heapq.heappush(self._heap, key)
            if len(self._entries) > MOST or self._bytes > MOST_BYTES or self._has_many_left_over():
                self._trim()

    def put_new(self, fresh: Iterable[Entry]) -> None:
        """Entries that are not here: new, or just taken. The same as `put` for each, and quicker."""
        bound, entries, heap, late = self.bound, self._entries, self._heap, self._late
        for entry in fresh:
            key = (entry.visible_us, entry.id)
            if late is not None:
                late[entry.id] = entry
            if bound is None or key < bound:
                entries[entry.id] = entry
                self._bytes += stored_bytes(entry.message)
                heapq.heappush(heap, key)
                if len(entries) > MOST or self._bytes > MOST_BYTES:
                    self._trim()
                    bound, heap = self.bound, self._heap
        if self._has_many_left_over():
            self._trim()

    def _has_many_left_over(self) -> bool:
        """Whether the heap is mostly items of entries that have moved or gone: behind one that stays, they stay too."""
        return len(self._heap) > 2 * len(self._entries) + SLACK

    def discard(self, id: int) -> Entry | None:
        """Take an entry out, wherever it is; gives it if it was here."""
        entry = self._drop(id)
        if self._late is not None:
            self._late[id] = None
        return entry

    def _drop(self, id: int) -> Entry | None:
        entry = self._entries.pop(id, None)
        if entry is not None:
            self._bytes -= stored_bytes(entry.message)
        return entry

    def get(self, id: int) -> Entry | None:
        return self._entries.get(id)

    def take(self, now_us: int, limit: int, order_hint: int, rng: Random) -> list[Entry]:
        """Take out ``limit`` visible entries, at random of the first ``limit + order_hint - 1``, in order."""
        window = limit + order_hint - 1 if order_hint else max(limit, KEPT)
        found: list[Entry] = []
        heap, entries = self._heap, self._entries
        while len(found) < window and heap and heap[0][0] <= now_us:
            visible_us, id = heapq.heappop(heap)
            entry = entries.get(id)
            if entry is not None and entry.visible_us == visible_us:
                del entries[id]
                self._bytes -= stored_bytes(entry.message)
                found.append(entry)
        if len(found) <= limit:
            return found
        chosen = set(rng.sample(range(len(found)), limit))
        for at, entry in enumerate(found):
            if at not in chosen:
                self.put(entry)
        return [found[at] for at in sorted(chosen)]

    def fit(self, taken: list[Entry], want: Want, claimed: Claimed) -> list[Entry]:
        """Of entries just taken, those that the claim still has room for; the others go back. Counts their bytes."""
        number = 0
        while number < len(taken) and claimed.bytes < want.room_bytes:
            message = taken[number].message
            if message.sent_us >= want.sent_after_us:
                claimed.bytes += stored_bytes(message)
            number += 1
        self.put_new(taken[number:])
        return taken[:number]

    def next_us(self) -> int | None:
        """When the next entry becomes visible, or a time before that."""
        heap = self._heap
        while heap:
            entry = self._entries.get(heap[0][1])
            if entry is not None and entry.visible_us == heap[0][0]:
                return heap[0][0]
            heapq.heappop(heap)
        return None if self.bound is None else max(self.bound[0], 0)

    def fetch(self) -> Fetch:
        """Begin to fetch what follows the bound."""
        assert self.bound is not None
        self._late = {}
        return Fetch(self.bound, self._late)

    def fetched(self, fetch: Fetch, found: Iterable[Entry], bound: tuple[int, int] | None) -> None:
        """The next entries have come, all before the new bound. What changed meanwhile counts more."""
        late = fetch.late
        if self._late is not late:
            return
        self._late = None
        if self.bound != fetch.start:
            # The head was cut meanwhile: between it and what was fetched, entries would be missing.
            return
        self.bound = bound
        for entry in found:
            if entry.id not in late and entry.id not in self._entries:
                self.put(entry)
        for changed in late.values():
            if changed is not None:
                self.put(changed)

    def abandon(self) -> None:
        """Forget everything: the disk alone knows."""
        self.bound = START
        self._late = None
        self._entries.clear()
        self._heap.clear()
        self._bytes = 0

    def _trim(self) -> None:
        keys = sorted((entry.visible_us, entry.id) for entry in self._entries.values())
        keep, size = 0, 0
        for _, id in keys[:KEPT]:
            size += stored_bytes(self._entries[id].message)
            if keep and size > KEPT_BYTES:
                break
            keep += 1
        if len(self._entries) > MOST or self._bytes > MOST_BYTES:
            for _, id in keys[keep:]:
                self._drop(id)
            if keep < len(keys):
                self.bound = keys[keep]
            keys = keys[:keep]
        self._heap = keys
