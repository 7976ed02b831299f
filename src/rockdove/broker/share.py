"""Which of several physical queues gets the next message, each by its weight."""

from collections.abc import Sequence

from rockdove.core.queue import PhysicalRecord, PhysicalState


class Rotation:
    """Goes round so that each has its share of any stretch of turns, and none has its turns in a row.

    With equal weights that is round-robin. Every turn adds its weight to the balance of each; who has the most is next,
    and pays the sum.
    """

    def __init__(self, parts: Sequence[PhysicalRecord]) -> None:
        """Those that take messages: up, with a weight. If there are none, those that are up, or else are draining."""
        up = [at for at, part in enumerate(parts) if part.state is PhysicalState.UP]
        draining = [at for at, part in enumerate(parts) if part.state is PhysicalState.DRAINING]
        weighted = {at: parts[at].weight for at in up if parts[at].weight > 0}
        self._weights = weighted or dict.fromkeys(up or draining, 1.0)
        self._sum = sum(self._weights.values())
        self._is_even = len(set(self._weights.values())) == 1
        self._balances = dict.fromkeys(self._weights, 0.0)
        self._order = list(self._weights)
        self._next = -1

    @property
    def is_empty(self) -> bool:
        """Nobody takes messages: all are down."""
        return not self._order

    @property
    def places(self) -> Sequence[int]:
        """Of those that take messages."""
        return self._order

    def next(self) -> int:
        """The place of the next one among all parts."""
        if self._is_even:
            self._next = (self._next + 1) % len(self._order)
            return self._order[self._next]
        balances = self._balances
        for at, weight in self._weights.items():
            balances[at] += weight
        best = max(balances, key=balances.__getitem__)
        balances[best] -= self._sum
        return best
