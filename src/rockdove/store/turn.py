"""Whose turn it is among the groups of a fair queue: since when each may have something visible, the earliest first."""

from collections import deque

from rockdove.store.memory_heap import Heap

# So many groups are remembered at most, and no fewer than half of them, if there are as many.
MOST_GROUPS = 20_000
_NEVER = 1 << 62


class Turns:
    """A group's time is never later than its first message's; whoever takes a turn looks what is really there.

    With very many groups only those of the earliest times are remembered, all that are before `horizon_us`. All but
    `tell` and `lost` belong to the writer's thread.
    """

    def __init__(self) -> None:
        self._heap: Heap[str, int] = Heap()
        self._news: deque[tuple[int, str]] = deque()
        self.horizon_us = _NEVER
        # True if groups must be looked for on disk.
        self.lost = False

    def __len__(self) -> int:
        return len(self._heap)

    def tell(self, t: int, group: str) -> None:
        """A group has a message that is visible from this time on; from any thread."""
        if len(self._news) < MOST_GROUPS:
            self._news.append((t, group))
        else:
            # Nobody has asked for a turn in a long time.
            self.lost = True

    def take_news(self) -> None:
        while self._news:
            self.lower(*self._news.popleft())

    def first(self) -> tuple[int, str] | None:
        return self._heap.first()

    def lower(self, t: int, group: str) -> None:
        """A group's first message may be as early as this."""
        known = self._heap.rank(group)
        if known is None or t < known:
            self.put(t, group)

    def put(self, t: int, group: str) -> None:
        """No message of a group is earlier than this."""
        if t >= self.horizon_us:
            self._heap.drop(group)
            return
        self._heap.put(group, t)
        if len(self._heap) > MOST_GROUPS:
            self._trim()

    def drop(self, group: str) -> None:
        self._heap.drop(group)

    def begin(self) -> None:
        """All groups are looked for now; those that are remembered stay until their turn."""
        self.horizon_us = _NEVER

    def look_further(self, now_us: int) -> None:
        """If few are left that are remembered, and others may have something visible, those must be looked for."""
        if self.horizon_us <= now_us and len(self._heap) <= MOST_GROUPS // 10:
            self.lost = True

    def _trim(self) -> None:
        kept: Heap[str, int] = Heap()
        while (first := self._heap.first()) is not None:
            t, group = first
            if len(kept) >= MOST_GROUPS // 2:
                self.horizon_us = t
                break
            kept.put(group, t)
            self._heap.pop()
        self._heap = kept
