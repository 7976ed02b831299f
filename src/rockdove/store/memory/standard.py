"""The line of a standard queue in memory: the oldest visible first, quiet tenants before noisy ones."""

from collections.abc import Callable, Mapping
from random import Random

from rockdove.core.fairness import Shares
from rockdove.core.message import Entry, Message
from rockdove.store.base import Want
from rockdove.store.common.heap import Heap
from rockdove.store.memory.line import Draw, LineState, group_of

# Among so many visible ones a claim without order chooses.
UNORDERED_WINDOW = 1_000


class StandardLine:
    """Visible entries in one heap for each group, so that a noisy group's backlog is stepped over as a whole."""

    def __init__(
        self, entries: Mapping[int, Entry], shares: Shares, rng: Random, size: Callable[[Message], int]
    ) -> None:
        self._entries = entries
        self._size = size
        # Of the logical queue: who is noisy on all physical ones together is noisy on each.
        self._shares = shares
        self._rng = rng
        self._by_group: dict[str, Heap[int, int]] = {}
        # Groups by their first entry.
        self._heads: Heap[str, tuple[int, int]] = Heap()

    def show(self, entry: Entry) -> None:
        group = group_of(entry)
        if group:
            self._shares.drop(entry.id)
        heap = self._by_group.get(group)
        if heap is None:
            heap = self._by_group[group] = Heap()
        heap.put(entry.id, entry.visible_us)
        self._queue_up(group)

    def hide(self, entry: Entry) -> None:
        group = group_of(entry)
        if group in self._by_group and entry.id in self._by_group[group]:
            # It was visible again.
            self._by_group[group].drop(entry.id)
            self._queue_up(group)
        if group and entry.receive_count:
            self._shares.hold(entry.id, group, entry.visible_us)

    def drop(self, entry: Entry, now_us: int) -> None:
        group = group_of(entry)
        if group:
            self._shares.drop(entry.id)
        if group in self._by_group:
            self._by_group[group].drop(entry.id)
            self._queue_up(group)

    def draw(self, want: Want, now_us: int) -> Draw:
        draw = Draw(self._size)
        # A lease takes all there is, and spares nobody.
        loud = () if want.room_bytes else self._shares.noisy(now_us)
        noisy = [group for group in loud if group in self._by_group]
        for group in noisy:
            self._heads.drop(group)
        self._fill(draw, want)
        for group in noisy:
            self._queue_up(group)
        if noisy and not want.spare_noisy and len(draw.entries) < want.limit:
            self._fill(draw, want)
        return draw

    def ready_us(self) -> int | None:
        first = self._heads.first()
        return None if first is None else first[0][0]

    def delay(self, delay_us: int) -> None:
        """On standard queues a new delay holds only for messages to come."""

    def holds(self, group: str) -> bool:
        """Groups have no order here."""
        return False

    def state(self) -> LineState:
        return LineState()

    def take_state(self, state: LineState) -> None:
        """All is in the entries."""

    def _fill(self, draw: Draw, want: Want) -> None:
        need = want.limit - len(draw.entries)
        window = self._window(draw, want, need + (want.order_hint or UNORDERED_WINDOW) - 1)
        chosen = set(self._rng.sample(range(len(window)), need)) if len(window) > need else range(len(window))
        for place, entry in enumerate(window):
            if place in chosen:
                draw.entries.append(entry)
            else:
                self.show(entry)

    def _window(self, draw: Draw, want: Want, size: int) -> list[Entry]:
        window: list[Entry] = []
        while len(window) < size and not draw.has_enough_dead and (head := self._heads.first()) is not None:
            (_, id), group = head
            entry = self._entries[id]
            self._by_group[group].pop()
            self._queue_up(group)
            if not draw.sort(entry, want):
                window.append(entry)
        return window

    def _queue_up(self, group: str) -> None:
        """Put a group where its first entry belongs."""
        first = self._by_group[group].first()
        if first is None:
            del self._by_group[group]
            self._heads.drop(group)
        else:
            self._heads.put(group, first)
