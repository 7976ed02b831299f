"""The line of a FIFO queue in memory: each group in order, and nothing that stands behind one in flight."""

from collections.abc import Callable, Mapping

from rockdove.core.message import Entry, Message
from rockdove.store.base import Want
from rockdove.store.common.heap import Heap
from rockdove.store.memory.line import Draw, LineState, group_of


class Group:
    """Messages of one group: those that wait, and those in flight, which hold back what stands behind them."""

    __slots__ = ("freed_us", "held", "waiting")

    def __init__(self) -> None:
        self.waiting: Heap[int, int] = Heap()
        self.held: Heap[int, int] = Heap()
        # When one was last let go. A group that was just served goes behind those that have waited for longer.
        self.freed_us = 0

    def first(self) -> int | None:
        """The message whose turn it is; None if there is none, or one in flight stands before it."""
        first, held = self.waiting.first(), self.held.first()
        return None if first is None or (held is not None and held[1] < first[1]) else first[1]


class FifoLine:
    """Groups that are not held back by the time from which their first message can be claimed."""

    def __init__(self, entries: Mapping[int, Entry], size: Callable[[Message], int]) -> None:
        self._entries = entries
        self._size = size
        self._groups: dict[str, Group] = {}
        self._turns: Heap[str, tuple[int, int]] = Heap()
        self._delay_us = 0

    def show(self, entry: Entry) -> None:
        name = group_of(entry)
        group = self._group(name)
        group.waiting.put(entry.id, entry.id)
        self._unlock(group, entry.id, entry.visible_us)
        self._take_turn(name)

    def hide(self, entry: Entry) -> None:
        name = group_of(entry)
        group = self._group(name)
        if entry.receive_count:
            group.waiting.drop(entry.id)
            group.held.put(entry.id, entry.id)
        else:
            # A delayed message keeps its place: those behind it wait, too.
            group.waiting.put(entry.id, entry.id)
        self._take_turn(name)

    def drop(self, entry: Entry, now_us: int) -> None:
        name = group_of(entry)
        group = self._group(name)
        group.waiting.drop(entry.id)
        self._unlock(group, entry.id, now_us)
        self._take_turn(name)

    def draw(self, want: Want, now_us: int) -> Draw:
        self.delay(want.delay_us)
        draw = Draw(self._size)
        while len(draw.entries) < want.limit and not draw.has_enough_dead:
            turn = self._turns.first()
            if turn is None or turn[0][0] > now_us:
                break
            # It queues up again when what is drawn here is hidden, shown or dropped.
            self._turns.drop(turn[1])
            self._draw_group(draw, self._groups[turn[1]], want, now_us)
        return draw

    def ready_us(self) -> int | None:
        first = self._turns.first()
        return None if first is None else first[0][0]

    def delay(self, delay_us: int) -> None:
        if delay_us == self._delay_us:
            return
        self._delay_us = delay_us
        for name in list(self._groups):
            self._take_turn(name)

    def holds(self, group: str) -> bool:
        return group in self._groups

    def state(self) -> LineState:
        freed = {name: group.freed_us for name, group in self._groups.items() if group.freed_us}
        return LineState(freed, self._delay_us)

    def take_state(self, state: LineState) -> None:
        self._delay_us = state.delay_us
        for name, group in list(self._groups.items()):
            group.freed_us = state.freed_us.get(name, 0)
            self._take_turn(name)

    def _draw_group(self, draw: Draw, group: Group, want: Want, now_us: int) -> None:
        while len(draw.entries) < want.limit and (first := group.first()) is not None:
            entry = self._entries[first]
            if self._due_us(entry) > now_us:
                return
            group.waiting.pop()
            if not draw.sort(entry, want):
                draw.entries.append(entry)
            elif draw.dead and draw.dead[-1] is entry:
                # What follows must not be given before it has gone to the dead-letter queue.
                return

    def _due_us(self, entry: Entry) -> int:
        return entry.visible_us if entry.receive_count else entry.message.sent_us + self._delay_us

    def _group(self, name: str) -> Group:
        group = self._groups.get(name)
        if group is None:
            group = self._groups[name] = Group()
        return group

    def _unlock(self, group: Group, id: int, at_us: int) -> None:
        if id in group.held:
            group.held.drop(id)
            group.freed_us = max(group.freed_us, at_us)

    def _take_turn(self, name: str) -> None:
        """Put a group where its first message belongs; one that is held back has no turn."""
        group = self._groups[name]
        first = group.first()
        if first is None:
            self._turns.drop(name)
            if not group.held and not group.waiting:
                del self._groups[name]
            return
        due_us = self._due_us(self._entries[first])
        self._turns.put(name, (max(due_us, group.freed_us), first))
