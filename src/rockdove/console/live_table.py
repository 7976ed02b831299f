"""The table that `rockdove watch` keeps while it runs: its last windows, read as they come."""

import math
import os
from collections import Counter
from collections.abc import Iterable, Sequence
from datetime import UTC, datetime
from pathlib import Path
from typing import Any, Final

import msgspec
from msgspec import Struct

from rockdove.console.report import require_parquet
from rockdove.console.wrong import Wrong

# The format of the folder, docs/reference/watch.md.
FORMAT: Final = 1
# Files of closed windows that are read when a table is opened: the youngest.
_FILES: Final = 800
# Windows of queues that are kept.
_ROWS: Final = 100_000

_COUNTS: Final = (
    "sent",
    "received",
    "duplicates",
    "deleted",
    "expired",
    "dead_lettered",
    "redriven",
    "failed",
    "misses",
    "hits",
    "late",
    "ordered",
    "out_of_order",
    "displaced",
    "worked",
    "work_us",
)
_BUCKETS: Final = ("response_buckets", "delivery_buckets")
_COLUMNS: Final = ("window_start", "account", "queue", *_COUNTS, *_BUCKETS)

Row = dict[str, Any]


class Progress(Struct, frozen=True):
    """What `progress.json` says to readers."""

    format: int
    window_us: int
    newest_us: int | None = None
    files: int = 0
    corrupt: int = 0
    removed: int = 0
    events: int = 0
    late: int = 0
    unread: int = 0
    problems: list[dict[str, Any]] = []


class LiveTable:
    """Of one folder; its methods are called by one thread at a time. They raise `Wrong`, and `MissingExtra`."""

    def __init__(self, folder: Path) -> None:
        require_parquet()
        self._folder = folder
        self._read: set[str] = set()
        # Rows of windows by their beginning, in seconds since 1970.
        self._closed: dict[float, list[Row]] = {}
        self._open: dict[float, list[Row]] = {}
        self._stamps: list[tuple[int, int, int]] = []
        # Figures of closed windows, which do not change: by the queue, None for all, and the beginning.
        self._figures: dict[tuple[str | None, float], Row] = {}
        self.progress = Progress(FORMAT, 1_000_000)

    def look(self) -> None:
        """Reads what is new."""
        try:
            stamps = [_stamp(self._folder / name) for name in ("progress.json", "metrics", "open.parquet")]
            if stamps == self._stamps:
                return
            self.progress = self._progress()
            self._take_closed()
            opened = self._folder / "open.parquet"
            self._open = _by_window(_rows(opened)) if opened.exists() else {}
            self._stamps = stamps
        except (OSError, ValueError) as error:
            raise Wrong(f"The table of this watch cannot be read: {error}. It is tried again.") from None

    def _progress(self) -> Progress:
        progress = msgspec.json.decode((self._folder / "progress.json").read_bytes(), type=Progress)
        if progress.format != FORMAT:
            raise Wrong(f"This table has format {progress.format}, and this console reads format {FORMAT}.")
        return progress

    def _take_closed(self) -> None:
        with os.scandir(self._folder / "metrics") as entries:
            files = [each for each in entries if each.name.endswith(".parquet") and not each.name.startswith(".")]
        new = [each for each in files if each.name not in self._read]
        new.sort(key=lambda each: each.stat().st_mtime)
        for each in new[-_FILES:]:
            for start, rows in _by_window(_rows(Path(each.path))).items():
                self._closed.setdefault(start, []).extend(rows)
                self._figures = {key: value for key, value in self._figures.items() if key[1] != start}
        self._read = {each.name for each in files}
        while sum(map(len, self._closed.values())) > _ROWS and len(self._closed) > 1:
            del self._closed[min(self._closed)]

    # What is told.

    def windows(self) -> dict[float, list[Row]]:
        """Those that are still open among them; files are not replaced at the same moment, so closed ones count."""
        return {**{start: rows for start, rows in self._open.items() if start not in self._closed}, **self._closed}

    @property
    def window_s(self) -> float:
        return self.progress.window_us / 1e6

    def now(self, seconds: float, search: str = "") -> tuple[Row, list[Row]]:
        """Of the last so many seconds before the newest window ends: all queues together, and each."""
        windows = self.windows()
        end = max(windows, default=0.0) + self.window_s
        span = max(seconds, self.window_s)
        rows = [row for start, found in windows.items() if start >= end - span for row in found]
        by_queue: dict[str, list[Row]] = {}
        for row in rows:
            by_queue.setdefault(_name(row), []).append(row)
        wanted = search.casefold()
        queues = [
            figures(found, span) | {"name": name} for name, found in by_queue.items() if wanted in name.casefold()
        ]
        return figures(rows, span), sorted(queues, key=lambda row: (-row["sent"], row["name"]))

    def over_time(self, queue: str | None) -> dict[str, list[Any]]:
        """Windows of a queue, or of all together; those without anything in them have zeros."""
        windows = self.windows()
        found: dict[str, list[Any]] = {"time": []}
        if not windows:
            return found
        first, last = min(windows), max(windows)
        for place in range(min(round((last - first) / self.window_s), _FILES * 4) + 1):
            start = round(last - place * self.window_s, 6)
            found["time"].append(start)
            for name, value in self._of_window(queue, start, windows.get(start, [])).items():
                found.setdefault(name, []).append(value)
        return {name: column[::-1] for name, column in found.items()}

    def _of_window(self, queue: str | None, start: float, rows: list[Row]) -> Row:
        known = self._figures.get((queue, start))
        if known is None:
            known = figures([row for row in rows if queue is None or _name(row) == queue], self.window_s)
            if start in self._closed:
                if len(self._figures) >= _ROWS:
                    self._figures.clear()
                self._figures[queue, start] = known
        return known


def _stamp(path: Path) -> tuple[int, int, int]:
    try:
        stat = path.stat()
    except FileNotFoundError:
        return 0, 0, 0
    return stat.st_mtime_ns, stat.st_ino, stat.st_size


def _rows(path: Path) -> list[Row]:
    import pyarrow.parquet as pq

    with pq.ParquetFile(path) as file:
        names = set(file.schema_arrow.names)
        rows: list[Row] = file.read(columns=[name for name in _COLUMNS if name in names]).to_pylist()
    return rows


def _by_window(rows: Iterable[Row]) -> dict[float, list[Row]]:
    found: dict[float, list[Row]] = {}
    for row in rows:
        start: datetime = row["window_start"]
        found.setdefault(round(start.astimezone(UTC).timestamp(), 6), []).append(row)
    return found


def _name(row: Row) -> str:
    return str(row["queue"])


def figures(rows: Sequence[Row], seconds: float) -> Row:
    """Of some windows together: counts add up, and so do buckets."""
    c = {name: sum(row.get(name) or 0 for row in rows) for name in _COUNTS}
    found: Row = {
        "sent": c["sent"],
        "received": c["received"],
        "duplicates": c["duplicates"],
        "deleted": c["deleted"],
        "dead_lettered": c["dead_lettered"],
        "failed": c["failed"],
        "late": c["late"],
        "send_rate": c["sent"] / seconds,
        "receive_delete_rate": c["deleted"] / seconds,
        "miss_ratio": _share(c["misses"], c["misses"] + c["hits"]),
        "duplication_rate": _share(c["duplicates"], c["sent"]),
        "out_of_order_rate": _share(c["out_of_order"], c["ordered"]),
        "displacement": _share(c["displaced"], c["ordered"]),
        "work_ms": _share(c["work_us"] / 1000, c["worked"]),
    }
    for name in _BUCKETS:
        buckets: Counter[int] = Counter()
        for row in rows:
            for bucket in row.get(name) or ():
                buckets[bucket["from_us"]] += bucket["count"]
        for share in (50, 95, 99):
            found[f"{name.removesuffix('_buckets')}_p{share}_ms"] = percentile_ms(buckets, share / 100)
    return found


def _share(part: float, whole: float) -> float | None:
    return part / whole if whole else None


def percentile_ms(buckets: Counter[int], share: float) -> float | None:
    """By nearest rank, and the lower end of a bucket, as the watch has them."""
    rank = math.ceil(share * buckets.total())
    for start in sorted(buckets):
        rank -= buckets[start]
        if rank <= 0:
            return start / 1000
    return None
