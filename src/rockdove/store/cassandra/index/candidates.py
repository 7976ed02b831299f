"""Entries that a front-end knows of, in the order in which they are visible, and the choice among them."""

import heapq
from collections import defaultdict
from random import Random
from time import monotonic
from typing import Protocol

from rockdove.store.cassandra.index.entry import Spot
from rockdove.store.common.heap import Heap

# Among so many visible ones a claim without order chooses.
UNORDERED_WINDOW = 1_000


class Members(Protocol):
    """The front-ends that receive from a queue."""

    @property
    def number(self) -> int:
        """How many there are, with this one."""

    def rank(self, id: int) -> int:
        """How many others have a message before this one: for each message, they stand in another order."""


class Candidates:
    """What is taken out counts as gone, unless it is put back."""

    def __init__(self, members: Members, rng: Random) -> None:
        self._members = members
        self._rng = rng
        self._spots: dict[int, Spot] = {}
        self._numbers: dict[Spot, int] = {}
        self._last = 0
        self._hidden: Heap[int, tuple[int, int]] = Heap()
        self._visible: Heap[int, tuple[int, int]] = Heap()
        # Since when each is visible, by a clock of this process.
        self._shown_s: dict[int, float] = {}
        self.by_id: defaultdict[int, set[Spot]] = defaultdict(set)

    def __contains__(self, spot: Spot) -> bool:
        return spot in self._numbers

    def __len__(self) -> int:
        return len(self._numbers)

    def add(self, spot: Spot, not_before_us: int = 0) -> None:
        """``not_before_us``: it is not looked at again before that time."""
        if spot in self._numbers:
            return
        self._last += 1
        self._spots[self._last] = spot
        self._numbers[spot] = self._last
        self.by_id[spot.id].add(spot)
        self._hidden.put(self._last, (max(spot.visible_us, not_before_us), spot.id))

    def discard(self, spot: Spot) -> None:
        number = self._numbers.pop(spot, None)
        if number is None:
            return
        del self._spots[number]
        self._hidden.drop(number)
        self._visible.drop(number)
        self._shown_s.pop(number, None)
        same = self.by_id[spot.id]
        same.discard(spot)
        if not same:
            del self.by_id[spot.id]

    def pass_time(self, now_us: int) -> None:
        """Show what has become visible."""
        hidden = self._hidden
        while (first := hidden.first()) is not None and first[0][0] <= now_us:
            hidden.pop()
            spot = self._spots[first[1]]
            self._shown_s[first[1]] = monotonic()
            self._visible.put(first[1], (spot.visible_us, spot.id))

    @property
    def visible(self) -> int:
        return len(self._visible)

    def head(self) -> Spot | None:
        """The first that is visible."""
        first = self._visible.first()
        return None if first is None else self._spots[first[1]]

    def next_us(self) -> int | None:
        """When the first of the others will be."""
        first = self._hidden.first()
        return None if first is None else first[0][0]

    def draw(self, limit: int, order_hint: int, patience_s: float = 0) -> list[Spot]:
        """Take out ``limit`` visible ones at random of the first ``limit + K - 1``.

        If others receive, too, each front-end looks at as many for each of them, and has some of these before all
        others. One that others have first is left to them for a while: for ``patience_s`` for each of them.
        """
        size = limit + (order_hint or UNORDERED_WINDOW) - 1
        window = self._first(size * self._members.number)
        own = window
        if self._members.number > 1:
            waits = {spot: self._wait_s(spot, patience_s) for spot in window}
            own = sorted((spot for spot in window if waits[spot][1] <= 0), key=lambda spot: waits[spot][0])
        own = own[:size]
        chosen = set(self._rng.sample(own, limit) if len(own) > limit else own)
        for spot in chosen:
            self.discard(spot)
        return [spot for spot in window if spot in chosen]

    def ready(self, limit: int, patience_s: float) -> tuple[int, float | None]:
        """How many of the first ones can be drawn, and in how many seconds the next one can, if that is a matter of
        patience."""
        if self._members.number == 1:
            return self.visible, None
        waits = [self._wait_s(spot, patience_s)[1] for spot in self._first(limit * self._members.number)]
        return sum(wait_s <= 0 for wait_s in waits), min((wait_s for wait_s in waits if wait_s > 0), default=None)

    def _wait_s(self, spot: Spot, patience_s: float) -> tuple[int, float]:
        rank = self._members.rank(spot.id)
        return rank, rank * patience_s - (monotonic() - self._shown_s[self._numbers[spot]])

    def _first(self, number: int) -> list[Spot]:
        """The first visible ones; they stay."""
        first: list[int] = []
        while len(first) < number and (each := self._visible.pop()) is not None:
            first.append(each)
        spots = [self._spots[each] for each in first]
        for each, spot in zip(first, spots, strict=True):
            self._visible.put(each, (spot.visible_us, spot.id))
        return spots

    def draw_blindly(self, limit: int, order_hint: int, now_us: int) -> list[Spot]:
        """The same of all, visible or not, whoever else receives; what is not visible is not given."""
        size = limit + (order_hint or UNORDERED_WINDOW) - 1
        window = self._first(size)
        if len(window) < size:
            hidden = [self._spots[number] for number in self._hidden.items()]
            window += heapq.nsmallest(size - len(window), hidden, key=_place)
        chosen = set(self._rng.sample(window, limit) if len(window) > limit else window)
        drawn = [spot for spot in window if spot in chosen and spot.visible_us <= now_us]
        for spot in drawn:
            self.discard(spot)
        return drawn


def _place(spot: Spot) -> tuple[int, int]:
    return spot.visible_us, spot.id
