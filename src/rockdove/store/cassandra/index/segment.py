"""Segments: the parts of an index, and the directory of them.

A segment is filled by one front-end, with entries that are visible from a certain time on, until it is full or has been
open for a while. Then it is closed: entries are only removed from it. When it is empty, it goes as a whole. So no read
passes over more than one segment's worth of what was removed, however many messages have passed.

To open a segment takes a lightweight transaction, which gives it a number and fails if the physical queue is to take
no more. A front-end that is stopped, and goes on later, does not write into a segment that was opened long ago. So
after `SETTLED_S` everybody takes it for closed, whether its owner has said so or not.
"""

from time import monotonic

from rockdove.core.clock import SECOND_US
from rockdove.core.errors import StoreInterrupted
from rockdove.store.cassandra.index.entry import MOST_ENTRIES, Kind

# Seconds for which a segment is filled; within which what is written into it must have been acknowledged; and after
# which nobody writes into it any more, also if clocks differ.
OPEN_S = 30.0
LATE_S = 45.0
SETTLED_S = 60
# How much later than its first entry the last one of a segment may be visible: the further away, the more.
NEAR_US = SECOND_US
LEAST_WIDTH_US = 4 * SECOND_US

EVER_US = 1 << 62


class Segment:
    """As this front-end knows it.

    size: how many entries it had when it was closed; None: it is open, or its owner has died.
    ids: those whose entries in it are known, and were not removed.
    """

    __slots__ = (
        "floor_us",
        "from_us",
        "ids",
        "is_final",
        "is_touched",
        "kind",
        "made_us",
        "number",
        "owner",
        "size",
        "until_us",
    )

    def __init__(self, kind: Kind, from_us: int, number: int, owner: str, made_us: int) -> None:
        self.kind = kind
        self.from_us = from_us
        self.number = number
        self.owner = owner
        self.made_us = made_us
        self.size: int | None = None
        self.until_us = EVER_US
        self.is_touched = False
        self.ids: set[int] = set()
        # Of one that others fill, entries visible before this time are known; once it is closed, all.
        self.floor_us = 0
        self.is_final = False

    @property
    def is_far(self) -> bool:
        """Whether it was made for messages that are visible later."""
        return self.from_us > self.made_us + NEAR_US // 4

    def is_closed(self, now_us: int) -> bool:
        return self.size is not None or self.made_us + SETTLED_S * SECOND_US < now_us


class Filling:
    """A segment that this front-end fills."""

    def __init__(self, segment: Segment, width_us: int, begun_s: float) -> None:
        self.segment = segment
        self._width_us = width_us
        self._begun_s = begun_s
        self.entries = 0
        # What is being done with entries of it.
        self.pending = 0
        self.until_us = segment.from_us
        self.is_over = False

    def takes(self, kind: Kind, visible_us: int) -> bool:
        segment = self.segment
        if self.is_over or segment.kind is not kind or self.entries >= MOST_ENTRIES:
            return False
        return 0 <= visible_us - segment.from_us < self._width_us and monotonic() - self._begun_s < OPEN_S

    def take(self, visible_us: int) -> int:
        """Begin an entry; its place."""
        self.entries += 1
        self.pending += 1
        self.until_us = max(self.until_us, visible_us)
        return self.entries - 1

    def is_since(self, at_s: float) -> bool:
        """Whether it was opened after that."""
        return self._begun_s > at_s

    def check(self) -> None:
        """Raises `StoreError` if others may take the segment for closed by now: what was written does not count."""
        if monotonic() - self._begun_s > LATE_S:
            raise StoreInterrupted("Cassandra has answered too late; try it again")


def range_of(visible_us: int, now_us: int) -> tuple[int, int]:
    """From which time, and for how long, a segment takes entries like this one."""
    ahead_us = visible_us - now_us
    if ahead_us < NEAR_US:
        return min(visible_us, now_us), round(OPEN_S * SECOND_US) + 2 * NEAR_US
    width_us = max(LEAST_WIDTH_US, ahead_us // 4)
    return visible_us - width_us // 8, width_us
