"""What a watch has seen since it began: the sums of each queue, and its last windows."""

from collections import Counter, deque
from collections.abc import Iterable
from datetime import UTC, datetime
from typing import Any, Final

import numpy as np

from rockdove.spark.share import SHARES, percentile
from rockdove.spark.watch.batch import Done, Row
from rockdove.spark.watch.figure import COUNTS, KINDS
from rockdove.spark.watch.progress import FORMAT, Progress

# Windows of a queue that are kept to be looked at.
LAST: Final = 24
# What the progress counts over all watches of a folder.
OF_PROGRESS: Final = ("files", "corrupt", "removed", "events", "unread", "late")

Place = tuple[str | None, str]


class Sum:
    """Rows of one queue, added up: counts and buckets do."""

    def __init__(self, rows: Iterable[Row] = ()) -> None:
        self.counts: Counter[str] = Counter()
        self.buckets: dict[str, Counter[int]] = {kind: Counter() for kind in KINDS}
        self.begin: datetime | None = None
        self.end: datetime | None = None
        for row in rows:
            self.add(row)

    def add(self, row: Row) -> None:
        # An earlier version may have left rows without all of them.
        self.counts.update({name: row.get(name) or 0 for name in COUNTS})
        for kind in KINDS:
            self.buckets[kind].update({pair["from_us"]: pair["count"] for pair in row[f"{kind}_buckets"]})
        self._stretch(row["window_start"], row["window_end"])

    def _stretch(self, begin: datetime, end: datetime) -> None:
        self.begin = begin if self.begin is None else min(self.begin, begin)
        self.end = end if self.end is None else max(self.end, end)

    def __add__(self, other: "Sum") -> "Sum":
        both = Sum()
        for one in (self, other):
            both.counts.update(one.counts)
            for kind in KINDS:
                both.buckets[kind].update(one.buckets[kind])
            if one.begin is not None and one.end is not None:
                both._stretch(one.begin, one.end)
        return both

    def figures(self) -> dict[str, Any]:
        """The names of the table, with percentiles as in the summary of a batch analysis."""
        number = {name: self.counts[name] for name in COUNTS}
        span_s = (self.end - self.begin).total_seconds() if self.begin and self.end else 0
        return {
            **number,
            "arrival_rate": _share(number["sent"], span_s),
            "service_rate": _share(number["deleted"], span_s),
            "miss_ratio": _share(number["misses"], number["misses"] + number["hits"]),
            "duplication_rate": _share(number["duplicates"], number["sent"]),
            "out_of_order_rate": _share(number["out_of_order"], number["ordered"]),
            "displacement": _share(number["displaced"], number["ordered"]),
            "work_ms": _share(number["work_us"], number["worked"] * 1000),
            **{f"{kind}_ms": self._percentiles(kind) for kind in KINDS},
        }

    def _percentiles(self, kind: str) -> dict[str, float | None]:
        values = np.array(list(self.buckets[kind].keys()), np.int64)
        counts = np.array(list(self.buckets[kind].values()), np.int64)
        found = {f"p{round(at * 100)}": percentile(values, counts, at) for at in SHARES}
        return {name: None if value is None else value / 1000 for name, value in found.items()}


class Board:
    """Takes batches as they are done. Windows that were closed before the watch began are not on it."""

    def __init__(self, progress: Progress) -> None:
        self.progress = progress
        self._before = {name: getattr(progress, name) for name in OF_PROGRESS}
        self._known = set(progress.problems)
        self.windows = 0
        self.open: list[Row] = []
        self._closed: dict[Place, Sum] = {}
        self._last: dict[Place, deque[Row]] = {}

    def take(self, done: Done) -> None:
        self.progress, self.open = done.progress, done.open
        self.windows += len(done.closed)
        for row in done.closed:
            place = _place(row)
            self._closed.setdefault(place, Sum()).add(row)
            self._last.setdefault(place, deque(maxlen=LAST)).append(row)

    def places(self) -> dict[Place, str]:
        """The queues, and what they are called: by the name alone, unless several accounts have one of that name."""
        places = sorted({*self._closed, *map(_place, self.open)}, key=lambda place: (place[1], place[0] or ""))
        names = Counter(queue for _, queue in places)
        return {place: place[1] if names[place[1]] == 1 else f"{place[0] or 'unknown'}/{place[1]}" for place in places}

    def sum(self, place: Place) -> Sum:
        return self._closed.get(place, Sum()) + Sum(row for row in self.open if _place(row) == place)

    def last(self, place: Place) -> list[Row]:
        """The last windows of a queue, the open ones among them."""
        rows = [*self._last.get(place, ()), *(row for row in self.open if _place(row) == place)]
        return sorted(rows, key=lambda row: row["window_start"])[-LAST:]

    def counts(self) -> dict[str, int]:
        """Of this watch alone, like the windows."""
        return {name: getattr(self.progress, name) - before for name, before in self._before.items()}

    def document(self) -> dict[str, Any]:
        """All that was seen, for programs; ``total`` is what all watches of this folder have counted."""
        queues = {name: self.sum(place).figures() for place, name in self.places().items()}
        whole = sum((self.sum(place) for place in self.places()), Sum())
        return {
            "format": FORMAT,
            **state(self.progress),
            **self.counts(),
            "problems": [problem for problem in self.progress.problems if problem not in self._known],
            "total": {name: getattr(self.progress, name) for name in OF_PROGRESS},
            "windows": self.windows,
            "open": len(self.open),
            "overall": whole.figures(),
            "queues": queues,
        }


def record(done: Done) -> dict[str, Any]:
    """One batch, for programs."""
    return {"format": FORMAT, **state(done.progress), "closed": done.closed, "open": done.open}


def state(progress: Progress) -> dict[str, Any]:
    return {
        "batch": progress.batch,
        "closed_until": None if progress.closed_us is None else datetime.fromtimestamp(progress.closed_us / 1e6, UTC),
        **{name: getattr(progress, name) for name in OF_PROGRESS},
        "problems": progress.problems,
    }


def _place(row: Row) -> Place:
    return row["account"], row["queue"]


def _share(part: float, whole: float) -> float | None:
    return part / whole if whole else None
