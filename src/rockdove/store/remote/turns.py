"""Claims that a front-end has asked for, in turns: together they bring only so many bytes at a time.

How much a claim brings is known when it has its outcome. Until then it is taken to bring as much as the largest of late
on the same physical queue. Queues take turns, so that large messages of one do not hold up the others.
"""

from collections import deque
from collections.abc import Callable

from msgspec import Struct, field

from rockdove.store.base import Claimed
from rockdove.store.remote import asked

# What all claims under way may bring.
MOST_BYTES = 8 * 1024 * 1024
# What a claim is taken to bring before the first one has, and how much of the largest is left after each that follows.
UNKNOWN_BYTES = 256 * 1024
SHRINK = 0.99
# Queues that are known; if there are more, all are unknown again.
MOST_KNOWN = 10_000

Begin = Callable[[asked.ClaimEntries, int], None]


class _Line(Struct):
    largest_bytes: float = UNKNOWN_BYTES
    waiting: deque[asked.ClaimEntries] = field(default_factory=deque)


class ClaimTurns:
    """``begin`` is called with a claim, and with the bytes to tell `landed` with its outcome."""

    def __init__(self, begin: Begin) -> None:
        self._begin = begin
        self._bytes = 0
        self._lines: dict[int, _Line] = {}
        # Numbers of the physical queues on which somebody waits.
        self._order: deque[int] = deque()
        self._is_stopped = False
        self._is_beginning = False

    def ask(self, verb: asked.ClaimEntries) -> None:
        line = self._lines.get(verb.physical)
        if line is None:
            line = self._make_line(verb.physical)
        size = int(line.largest_bytes)
        if self._order or not self._has_room(size):
            if not line.waiting:
                self._order.append(verb.physical)
            line.waiting.append(verb)
        else:
            self._bytes += size
            self._begin(verb, size)

    def _make_line(self, number: int) -> _Line:
        if len(self._lines) >= MOST_KNOWN:
            self._lines = {number: self._lines[number] for number in self._order}
        self._lines[number] = line = _Line()
        return line

    def _has_room(self, size: int) -> bool:
        return not self._is_stopped and (not self._bytes or self._bytes + size <= MOST_BYTES)

    def landed(self, number: int, size: int, outcome: Claimed | None) -> None:
        """A claim on a physical queue has its outcome; None: it has failed."""
        self._bytes -= size
        line = self._lines.get(number)
        # To find nothing tells nothing of what comes next.
        if line is not None and outcome is not None and (found := _bytes(outcome)):
            line.largest_bytes = max(found, line.largest_bytes * SHRINK)
        if self._order:
            self._go_on()

    def stop(self) -> None:
        """Begin no more until `go_on`."""
        self._is_stopped = True

    def go_on(self) -> None:
        self._is_stopped = False
        self._go_on()

    def clear(self) -> None:
        self._order.clear()
        self._lines.clear()

    def _go_on(self) -> None:
        if self._is_beginning:
            # A claim has had its outcome at once.
            return
        self._is_beginning = True
        try:
            self._begin_all()
        finally:
            self._is_beginning = False

    def _begin_all(self) -> None:
        while self._order and self._has_room(int((line := self._lines[self._order[0]]).largest_bytes)):
            number, size = self._order.popleft(), int(line.largest_bytes)
            verb = line.waiting.popleft()
            if line.waiting:
                self._order.append(number)
            self._bytes += size
            self._begin(verb, size)


def _bytes(claimed: Claimed) -> int:
    size = 0
    for entry in claimed.entries:
        size += len(entry.message.body)
    for entry in claimed.dead:
        size += len(entry.message.body)
    return size
