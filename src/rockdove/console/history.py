"""The last five minutes of one queue, a point a second, for charts and sparklines; of a size that does not grow."""

import math
from array import array
from collections import deque
from collections.abc import Iterator, Sequence
from itertools import zip_longest
from typing import Final

from rockdove.client import QueueFigures

# Points that are kept: five minutes.
KEPT: Final = 300
# Of a chart, after the time. Rates are messages (or receives) a second, latencies seconds.
COLUMNS: Final = (
    "sent",
    "received",
    "deleted",
    "empty",
    "visible",
    "in_flight",
    "delayed",
    "p50",
    "p95",
    "p99",
)
_RATES: Final = 4
_GAUGES: Final = 3
# A bar of a sparkline is so many seconds; there are so many of them.
BAR_S: Final = 5
BARS: Final = KEPT // BAR_S
# The rate in a table is that of so many seconds.
_RATE_S: Final = 5.0
_NAN: Final = math.nan

Point = tuple[float, ...]


def percentile(histogram: Sequence[int], share: float) -> float:
    """In seconds, out of counts of times under 1, 2, 4, ... ms; within a bin as if they were spread evenly."""
    wanted = share * sum(histogram)
    if not wanted:
        return _NAN
    before = 0
    for number, count in enumerate(histogram):
        if before + count >= wanted:
            low = 2.0 ** (number - 1) if number else 0.0
            high = 2.0**number
            return (low + (high - low) * (wanted - before) / count) / 1_000
        before += count
    return _NAN


class History:
    """Ticks are counted by the feed; where a queue did not change, nothing is written."""

    def __init__(self, now: QueueFigures, time_s: float) -> None:
        self._now = now
        self._ticks = array("q", [-1]) * KEPT
        self._values = array("f", [0.0]) * (KEPT * len(COLUMNS))
        self._bars = (array("f", [0.0]) * BARS, array("f", [0.0]) * BARS)
        self._bar_of = array("q", [-1]) * BARS
        self._recent: deque[tuple[float, int, int]] = deque([(time_s, now.sent, now.received)])
        self._last_tick = -1

    def add(self, tick: int, seconds: float, now: QueueFigures, time_s: float) -> None:
        """What has changed in the last ``seconds``."""
        before, self._now = self._now, now
        if now.sent < before.sent or now.received < before.received:
            # The service has begun to count anew.
            before = now
            self._recent = deque([(time_s, now.sent, now.received)])
        if self._recent[-1][0] < time_s - _RATE_S:
            # It was still until a moment ago.
            self._recent = deque([(time_s - seconds, before.sent, before.received)])
        if self._last_tick < tick - 1:
            self._write(tick - 1, (*(0.0,) * _RATES, *_gauges(before), _NAN, _NAN, _NAN))
        self._write(tick, _point(before, now, seconds))
        self._last_tick = tick
        self._draw(time_s, now.sent - before.sent, now.received - before.received)

    def _write(self, tick: int, point: Point) -> None:
        slot = tick % KEPT
        self._ticks[slot] = tick
        start = slot * len(COLUMNS)
        self._values[start : start + len(COLUMNS)] = array("f", point)

    def _draw(self, time_s: float, sent: int, received: int) -> None:
        bar = int(time_s // BAR_S)
        slot = bar % BARS
        if self._bar_of[slot] != bar:
            self._bar_of[slot] = bar
            self._bars[0][slot] = self._bars[1][slot] = 0.0
        self._bars[0][slot] += sent / BAR_S
        self._bars[1][slot] += received / BAR_S

    def rates(self, time_s: float) -> tuple[float, float]:
        """Messages sent and received a second, lately."""
        recent = self._recent
        recent.append((time_s, self._now.sent, self._now.received))
        while len(recent) > 2 and recent[1][0] <= time_s - _RATE_S:
            recent.popleft()
        since_s, sent, received = recent[0]
        seconds = max(time_s - since_s, _RATE_S)
        return (self._now.sent - sent) / seconds, (self._now.received - received) / seconds

    def bars(self, time_s: float) -> tuple[list[float], list[float]] | None:
        """Of a sparkline: messages sent and received a second, the last bar being that of now; None without any."""
        newest = int(time_s // BAR_S)
        if newest - max(self._bar_of) >= BARS:
            return None
        slots = [(bar % BARS, bar) for bar in range(newest - BARS + 1, newest + 1)]
        sent, received = (
            [round(values[slot], 1) if self._bar_of[slot] == bar else 0 for slot, bar in slots] for values in self._bars
        )
        return sent, received

    def points(self, ticks: range) -> Iterator[Point]:
        """One for each tick, with NaN where there is none."""
        gauges: Point | None = None
        found = [self.point(tick) for tick in ticks]
        first = next((point for point in found if point), None)
        gauges = _part(first) if first else _gauges(self._now)
        for point in found:
            if point:
                gauges = _part(point)
            yield point or (*(0.0,) * _RATES, *gauges, _NAN, _NAN, _NAN)

    def point(self, tick: int) -> Point | None:
        slot = tick % KEPT
        if self._ticks[slot] != tick:
            return None
        start = slot * len(COLUMNS)
        return tuple(self._values[start : start + len(COLUMNS)])


def still(now: QueueFigures) -> Point:
    """The point of a second in which nothing happened."""
    return (*(0.0,) * _RATES, *_gauges(now), _NAN, _NAN, _NAN)


def _part(point: Point) -> Point:
    return point[_RATES : _RATES + _GAUGES]


def _gauges(now: QueueFigures) -> Point:
    return tuple(_NAN if number is None else float(number) for number in (now.visible, now.in_flight, now.delayed))


def _point(before: QueueFigures, now: QueueFigures, seconds: float) -> Point:
    rates = (
        (now.sent - before.sent) / seconds,
        (now.received - before.received) / seconds,
        (now.deleted - before.deleted) / seconds,
        (now.empty - before.empty) / seconds,
    )
    lately = [new - old for new, old in zip_longest(now.delivery, before.delivery, fillvalue=0)]
    return (*rates, *_gauges(now), *(percentile(lately, share) for share in (0.5, 0.95, 0.99)))
