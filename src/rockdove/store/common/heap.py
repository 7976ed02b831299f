"""A heap whose items can be found again: given another rank, or taken out from the middle."""

import heapq
from typing import Generic, TypeVar

Item = TypeVar("Item", int, str)
Rank = TypeVar("Rank", int, tuple[int, int])

# Left-over places are swept out once they outnumber the items, but not for fewer than these.
SLACK = 64


class Heap(Generic[Item, Rank]):
    """Items by rank, and those of equal rank by themselves. A place in the heap counts only while it is its item's."""

    __slots__ = ("_places", "_ranks")

    def __init__(self) -> None:
        self._ranks: dict[Item, Rank] = {}
        self._places: list[tuple[Rank, Item]] = []

    def __len__(self) -> int:
        return len(self._ranks)

    def __contains__(self, item: Item) -> bool:
        return item in self._ranks

    def items(self) -> list[Item]:
        return list(self._ranks)

    def rank(self, item: Item) -> Rank | None:
        return self._ranks.get(item)

    def put(self, item: Item, rank: Rank) -> None:
        """Add an item, or change its rank."""
        if self._ranks.get(item) == rank:
            return
        self._ranks[item] = rank
        heapq.heappush(self._places, (rank, item))
        self._sweep()

    def drop(self, item: Item) -> None:
        """Take an item out, if it is there."""
        if self._ranks.pop(item, None) is not None:
            self._sweep()

    def first(self) -> tuple[Rank, Item] | None:
        """The lowest rank and its item, left where it is."""
        places, ranks = self._places, self._ranks
        while places:
            rank, item = places[0]
            if ranks.get(item) == rank:
                return places[0]
            heapq.heappop(places)
        return None

    def pop(self) -> Item | None:
        """Take the first item out."""
        first = self.first()
        if first is None:
            return None
        heapq.heappop(self._places)
        del self._ranks[first[1]]
        return first[1]

    def _sweep(self) -> None:
        if len(self._places) > 2 * len(self._ranks) + SLACK:
            self._places = [(rank, item) for item, rank in self._ranks.items()]
            heapq.heapify(self._places)
