"""What is kept of an elastic queue over time: bounded, and the oldest goes first."""

import math
from collections import deque
from typing import Final

from msgspec import Struct

from rockdove.console.event import number
from rockdove.elastic.state import Published

# Points of a queue: two hours, with one every two seconds.
MOST: Final = 3_600
# Members of a point that are shown over time, after its time.
COLUMNS: Final = ("production", "max_load", "average_load", "workers", "starting", "target")


class Load(Struct, frozen=True):
    """Of one physical queue. ``state``: up, starting, draining or away."""

    number: int
    state: str
    load: int


class Point(Struct, frozen=True):
    """At one moment; NaN for what is not known."""

    time: float
    production: float
    max_load: float
    average_load: float
    # That work, and that start.
    workers: float
    starting: float
    # How many the rule thinks right.
    target: float


class Samples:
    """Of one queue."""

    def __init__(self) -> None:
        self._points: deque[Point] = deque(maxlen=MOST)
        self._sent: tuple[float, int] | None = None

    def production(self, time: float, sent: int) -> float:
        """Messages a second since the last look, by the service's counter; NaN when the counter has begun anew."""
        before, self._sent = self._sent, (time, sent)
        if before is None or time <= before[0] or sent < before[1]:
            return math.nan
        return (sent - before[1]) / (time - before[0])

    def add(self, point: Point) -> None:
        if not self._points or point.time > self._points[-1].time:
            self._points.append(point)

    @property
    def last(self) -> Point | None:
        return self._points[-1] if self._points else None

    def since(self, time: float) -> dict[str, list[float | None]]:
        """Columns of what is younger; their times are in `time`."""
        points = [point for point in self._points if point.time > time]
        columns: dict[str, list[float | None]] = {"time": [round(point.time, 2) for point in points]}
        for name in COLUMNS:
            columns[name] = [number(getattr(point, name)) for point in points]
        return columns


def loads_of(published: Published) -> list[Load]:
    return [Load(each.number, each.state, each.load) for each in published.workers]


def point(time: float, production: float, loads: list[Load], target: float, workers_known: bool = True) -> Point:
    """Loads are those of the paper's figures: of physical queues that take part."""
    members = [each.load for each in loads if each.state != "starting"] or [each.load for each in loads]
    return Point(
        time,
        production,
        float(max(members)) if members else math.nan,
        sum(members) / len(members) if members else math.nan,
        float(sum(each.state in ("up", "draining") for each in loads)) if workers_known else math.nan,
        float(sum(each.state == "starting" for each in loads)) if workers_known else math.nan,
        target,
    )
