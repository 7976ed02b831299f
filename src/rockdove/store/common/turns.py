"""Claims in turns: together they bring only so many bytes at a time.

How much a claim brings is known when it has its outcome. Until then it is taken to bring as much as the largest of late
on the same physical queue, and may bring little more. Of a queue that is not known, one claim begins at a time. Queues
take turns, so that large messages of one do not hold up the others.
"""

from collections import deque
from collections.abc import Callable
from typing import Generic, Protocol, TypeVar

from msgspec import Struct, field
from msgspec.structs import replace

from rockdove.store.base import Claimed, Want
from rockdove.store.common.size import stored_bytes

# What all claims under way may bring, and how many they may be: each brings one message at least.
MOST_BYTES = 2 * 1024 * 1024
MOST_CLAIMS = 64
# What a claim is taken to bring before the first one has, and how much of the largest is left after each that follows.
UNKNOWN_BYTES = MOST_BYTES
SHRINK = 0.99
# A claim may always bring so many bytes.
LEAST_BYTES = 256 * 1024
# Queues that are known; if there are more, all are unknown again.
MOST_KNOWN = 10_000


class Asked(Protocol):
    """A claim that was asked for."""

    @property
    def physical(self) -> int:
        """The number of the physical queue."""


C = TypeVar("C", bound=Asked)


class _Line(Struct):
    largest_bytes: float = UNKNOWN_BYTES
    waiting: deque[Asked] = field(default_factory=deque)

    def learn(self, size: int, found: int) -> None:
        """A claim that was taken to bring ``size`` bytes has brought ``found``. Nothing tells little of what comes."""
        if found >= max(size, LEAST_BYTES):
            # There may have been more, for which it had no room.
            found *= 2
        if self.largest_bytes == UNKNOWN_BYTES:
            self.largest_bytes = found or LEAST_BYTES
        elif found:
            self.largest_bytes = max(found, self.largest_bytes * SHRINK)
        self.largest_bytes = min(self.largest_bytes, MOST_BYTES - 1)


class ClaimTurns(Generic[C]):
    """``begin`` is called with a claim, and with the bytes to tell `landed` with its outcome."""

    def __init__(self, begin: Callable[[C, int], None]) -> None:
        self._begin = begin
        self._bytes = 0
        self._number = 0
        self._lines: dict[int, _Line] = {}
        # Numbers of the physical queues on which somebody waits.
        self._order: deque[int] = deque()
        self._is_beginning = False

    def ask(self, verb: C) -> None:
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
            self._number += 1
            self._begin(verb, size)

    def _make_line(self, number: int) -> _Line:
        if len(self._lines) >= MOST_KNOWN:
            self._lines = {number: self._lines[number] for number in self._order}
        self._lines[number] = line = _Line()
        return line

    def _has_room(self, size: int) -> bool:
        if self._number >= MOST_CLAIMS:
            return False
        return not self._bytes or self._bytes + size <= MOST_BYTES

    def landed(self, number: int, size: int, outcome: Claimed | None) -> None:
        """A claim on a physical queue has its outcome; None: it has failed."""
        self._bytes -= size
        self._number -= 1
        line = self._lines.get(number)
        if line is not None and outcome is not None:
            line.learn(size, claimed_bytes(outcome))
        if self._order:
            self.go_on()

    @property
    def is_alone(self) -> bool:
        """Whether the claim that begins is the only one under way."""
        return self._number <= 1

    @property
    def waiting(self) -> int:
        return sum(len(self._lines[number].waiting) for number in self._order)

    def go_on(self) -> None:
        """Begin as many as there is room for."""
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
            self._number += 1
            self._begin(verb, size)  # type: ignore[arg-type]


def within(want: Want, size: int, is_alone: bool) -> Want:
    """What is wanted, and no more bytes than a turn gives, but for one message. Who is alone has all the room."""
    if is_alone:
        return want
    room = max(size, LEAST_BYTES)
    if want.limit == 1 or 0 < want.room_bytes <= room:
        return want
    return replace(want, room_bytes=room)


def claimed_bytes(claimed: Claimed) -> int:
    size = 0
    for entry in claimed.entries:
        size += stored_bytes(entry.message)
    for entry in claimed.dead:
        size += stored_bytes(entry.message)
    return size
