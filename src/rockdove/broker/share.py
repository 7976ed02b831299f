"""Which of several physical queues gets the next message, each by its weight."""

from collections.abc import Callable, Sequence

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
        # What else could take messages, if none of those can be reached.
        self.spare = [at for at in (*up, *draining) if at not in self._weights]
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
        return self._take_turn(self._order)

    def next_of(self, is_reached: Callable[[int], bool]) -> int | None:
        """The next one of those that can be reached; the others have no turns meanwhile. None: none can."""
        reached = [at for at in self._order if is_reached(at)]
        if not reached:
            return next(filter(is_reached, self.spare), None)
        if self._is_even:
            while (at := self.next()) not in reached:
                pass
            return at
        return self._take_turn(reached)

    def _take_turn(self, among: Sequence[int]) -> int:
        balances = self._balances
        for at in among:
            balances[at] += self._weights[at]
        best = max(among, key=balances.__getitem__)
        balances[best] -= self._sum if among is self._order else sum(self._weights[at] for at in among)
        return best
