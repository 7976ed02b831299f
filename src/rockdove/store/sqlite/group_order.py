"""Whose turn it is among the groups of a fair queue: since when each may have something visible, the earliest first."""

from collections import deque
from typing import TypeAlias

from rockdove.store.common.heap import Heap

# So many groups are remembered at most, and no fewer than half of them, if there are as many.
MOST_GROUPS = 20_000
# From when on a message is visible, and its id: no two have the same place, also if many became visible at once.
Place: TypeAlias = tuple[int, int]
_NEVER: Place = (1 << 62, 0)


class GroupOrder:
    """A group's place is never behind its first message's; whoever takes a turn looks what is really there.

    With very many groups only the first ones are remembered, all that are before `horizon`. All but `tell` and
    `lost` belong to the writer's thread.
    """

    def __init__(self) -> None:
        self._heap: Heap[str, Place] = Heap()
        self._news: deque[tuple[Place, str]] = deque()
        self.horizon = _NEVER
        # True if groups must be looked for on disk.
        self.lost = False

    def __len__(self) -> int:
        return len(self._heap)

    def tell(self, place: Place, group: str) -> None:
        """A group has a message at this place; from any thread."""
        if len(self._news) < MOST_GROUPS:
            self._news.append((place, group))
        else:
            # Nobody has asked for a turn in a long time.
            self.lost = True

    def take_news(self) -> None:
        while self._news:
            self.lower(*self._news.popleft())

    def first(self) -> tuple[Place, str] | None:
        return self._heap.first()

    def lower(self, place: Place, group: str) -> None:
        """A group's first message may be as far in front as this."""
        known = self._heap.rank(group)
        if known is None or place < known:
            self.put(place, group)

    def put(self, place: Place, group: str) -> None:
        """No message of a group is before this."""
        if place >= self.horizon:
            self._heap.drop(group)
            return
        self._heap.put(group, place)
        if len(self._heap) > MOST_GROUPS:
            self._trim()

    def drop(self, group: str) -> None:
        self._heap.drop(group)

    def begin(self) -> None:
        """All groups are looked for now; those that are remembered stay until their turn."""
        self.horizon = _NEVER

    def look_further(self, now_us: int) -> None:
        """If few are left that are remembered, and others may have something visible, those must be looked for."""
        if self.horizon[0] <= now_us and len(self._heap) <= MOST_GROUPS // 10:
            self.lost = True

    def _trim(self) -> None:
        kept: Heap[str, Place] = Heap()
        while (first := self._heap.first()) is not None:
            place, group = first
            if len(kept) >= MOST_GROUPS // 2:
                self.horizon = place
                break
            kept.put(group, place)
            self._heap.pop()
        self._heap = kept
