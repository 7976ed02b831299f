"""Which tenants of a fair queue are noisy: they hold more than their share of what is in flight."""

import heapq

from rockdove.core.limits import NOISY_MIN_IN_FLIGHT, NOISY_SHARE


class Shares:
    """Counts in-flight messages by group, and forgets each when its visibility timeout has passed."""

    def __init__(self) -> None:
        self._held: dict[int, tuple[str, int]] = {}
        self._by_group: dict[str, int] = {}
        # Groups with enough in flight to be noisy; few, however many groups there are.
        self._loud: set[str] = set()
        self._ends: list[tuple[int, int]] = []

    def hold(self, id: int, group: str, until_us: int) -> None:
        """A message is in flight until then (or until `drop`)."""
        self.drop(id)
        self._held[id] = (group, until_us)
        count = self._by_group[group] = self._by_group.get(group, 0) + 1
        if count == NOISY_MIN_IN_FLIGHT:
            self._loud.add(group)
        heapq.heappush(self._ends, (until_us, id))
        if len(self._ends) > 2 * len(self._held) + 64:
            self._ends = [(until, held) for held, (_, until) in self._held.items()]
            heapq.heapify(self._ends)

    def drop(self, id: int) -> str | None:
        """A message is no longer in flight; its group, if it was."""
        held = self._held.pop(id, None)
        if held is None:
            return None
        group = held[0]
        left = self._by_group.pop(group) - 1
        if left:
            self._by_group[group] = left
        if left < NOISY_MIN_IN_FLIGHT:
            self._loud.discard(group)
        return group

    @property
    def may_be_noisy(self) -> bool:
        """Whether a group has enough in flight, unless time has passed since."""
        return bool(self._loud)

    def state(self) -> list[tuple[int, str, int]]:
        """Ids, groups, and until when each is in flight."""
        return [(id, group, until_us) for id, (group, until_us) in self._held.items()]

    def take_state(self, state: list[tuple[int, str, int]]) -> None:
        for id in list(self._held):
            self.drop(id)
        self._ends = []
        for held in state:
            self.hold(*held)

    def noisy(self, now_us: int) -> set[str]:
        """Groups with at least 30 messages, and more than a tenth of all, in flight."""
        while self._ends and self._ends[0][0] <= now_us:
            until_us, id = heapq.heappop(self._ends)
            if self._held.get(id, ("", 0))[1] == until_us:
                self.drop(id)
        floor = len(self._held) * NOISY_SHARE
        return {group for group in self._loud if self._by_group[group] > floor}
