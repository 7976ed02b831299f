"""Which entries of many do not count, because a front-end has died before it could remove them."""

from collections.abc import Set as AbstractSet
from time import monotonic

from rockdove.store.cassandra.index.entry import Spot

# Seconds for which what was found out holds; and the largest share of the time that may be spent with finding it out.
HOLDS_S = 2.0
SHARE = 0.4


class Check:
    """Of one physical queue."""

    def __init__(self) -> None:
        self.void: AbstractSet[Spot] = frozenset()
        self._begun_s = 0.0
        self._due_s = 0.0

    @property
    def is_due(self) -> bool:
        return monotonic() >= self._due_s

    def begin(self) -> None:
        self._begun_s = monotonic()

    def end(self, void: AbstractSet[Spot]) -> None:
        now_s = monotonic()
        self.void = void
        self._due_s = now_s + max(HOLDS_S, (now_s - self._begun_s) / SHARE)
