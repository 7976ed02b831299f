"""What ``rockdove watch`` tells of a queue: its rates now, from the table that a watch keeps while it runs."""

import contextlib
import logging
import os
from collections.abc import Iterable, Sequence
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

import msgspec
from msgspec import Struct

from rockdove.capacity.scaling.measured import Rates
from rockdove.capacity.scaling.trend import WINDOW_S, Trend
from rockdove.core.errors import MissingExtra

log = logging.getLogger("rockdove")

# The format of the folder, docs/reference/watch.md.
FORMAT = 1
# What is older says nothing of now: files of a trace are complete after ten seconds, and batches take some.
STALE_S = 60.0
# The work is that of the last messages, about so many, of all windows that are kept.
MESSAGES = 500
_COLUMNS = ("window_start", "account", "queue", "sent", "received", "duplicates", "worked", "work_us")


class Window(Struct, frozen=True):
    """Of one queue. ``worked`` messages were deleted after ``work_s`` in all, since they were received."""

    start_s: float
    sent: int = 0
    receives: int = 0
    again: int = 0
    worked: int = 0
    work_s: float = 0.0


class _Progress(Struct):
    format: int
    window_us: int
    newest_us: int | None = None


class _Unusable(Exception):
    """The message says why."""


class WatchTable:
    """For one queue. Files are read when the watch has done something, and those of closed windows once."""

    def __init__(self, folder: Path, queue: str, account: str | None = None) -> None:
        """Raises `MissingExtra`."""
        try:
            import pyarrow.parquet as parquet
        except ImportError:
            raise MissingExtra(
                "the table of a watch needs pyarrow; install it with: pip install 'rockdove[trace]'"
            ) from None
        self._parquet: Any = parquet
        self._folder = folder
        self._queue = queue
        self._accounts = (account, None)
        # None: nothing was read yet.
        self._seen: list[tuple[int, int]] | None = None
        self._read: set[str] = set()
        self._closed: list[Window] = []
        self._open: list[Window] = []
        self._progress: _Progress | None = None
        self._is_told = False

    def rates(self, now_s: float) -> Rates | None:
        """None, and a line in the log when that begins: there is nothing, or nothing of now."""
        try:
            found = self._rates(now_s)
        except _Unusable as why:
            if not self._is_told:
                log.warning("%s tells nothing of now (%s): going by what the workers tell", self._folder, why)
            self._is_told = True
            return None
        if self._is_told:
            log.warning("%s tells of now again", self._folder)
        self._is_told = False
        return found

    def _rates(self, now_s: float) -> Rates:
        try:
            self._look(now_s)
        except FileNotFoundError:
            what = (
                "there is no table of rockdove watch --out yet" if self._folder.is_dir() else "there is no such folder"
            )
            raise _Unusable(what) from None
        except (OSError, ValueError, KeyError) as error:
            raise _Unusable(f"it cannot be read: {error}") from error
        progress = self._progress
        if progress is None or progress.newest_us is None:
            raise _Unusable("the watch has seen no event yet")
        newest_s = progress.newest_us / 1e6
        if now_s - newest_s > STALE_S:
            raise _Unusable(f"its last event is {now_s - newest_s:.0f} s old")
        return rates([*self._closed, *self._open], progress.window_us / 1e6, newest_s, now_s)

    # What is read.

    def _look(self, now_s: float) -> None:
        seen = self._stamps()
        if seen == self._seen:
            return
        progress = msgspec.json.decode((self._folder / "progress.json").read_bytes(), type=_Progress)
        if progress.format != FORMAT:
            raise ValueError(f"its format is {progress.format}, not {FORMAT}")
        since_s = now_s - 2 * WINDOW_S - STALE_S
        with os.scandir(self._folder / "metrics") as entries:
            new = [entry for entry in entries if entry.name.endswith(".parquet") and entry.name not in self._read]
        # Names that begin with a dot are those of files that are being written.
        new = [entry for entry in new if not entry.name.startswith(".")]
        closed = list(self._closed)
        for entry in new:
            if entry.stat().st_mtime >= since_s:
                closed += self._windows(Path(entry.path))
        opened = self._folder / "open.parquet"
        still_open = self._windows(opened) if opened.exists() else []
        self._closed = [window for window in closed if window.start_s >= since_s]
        # Files are not replaced at the same moment.
        starts = {window.start_s for window in self._closed}
        self._open = [window for window in still_open if window.start_s not in starts]
        self._read.update(entry.name for entry in new)
        self._progress, self._seen = progress, seen

    def _stamps(self) -> list[tuple[int, int]]:
        """These change with all that the watch does."""
        found = []
        for name in ("progress.json", "metrics", "open.parquet"):
            with contextlib.suppress(FileNotFoundError):
                stat = os.stat(self._folder / name)
                found.append((stat.st_mtime_ns, stat.st_ino))
        return found

    def _windows(self, path: Path) -> list[Window]:
        names = set(self._parquet.read_schema(path).names)
        table = self._parquet.read_table(path, columns=[name for name in _COLUMNS if name in names])
        return [
            _window(row)
            for row in table.to_pylist()
            if row["queue"] == self._queue and (self._accounts[0] is None or row["account"] in self._accounts)
        ]


def _window(row: dict[str, Any]) -> Window:
    start: datetime = row["window_start"]
    return Window(
        start.astimezone(UTC).timestamp(),
        row["sent"],
        row["received"] + row["duplicates"],
        row["duplicates"],
        # Earlier versions do not tell.
        row.get("worked") or 0,
        (row.get("work_us") or 0) / 1e6,
    )


def rates(windows: Iterable[Window], window_s: float, newest_s: float, now_s: float) -> Rates:
    """Only windows that end before the newest event are full; those without a row had nothing."""
    by_start = _added(windows)
    end_s = newest_s // window_s * window_s
    full = [end_s - window_s * (at + 1) for at in range(max(int(WINDOW_S // window_s), 1))]
    # Before the first row there may have been no watch.
    first_s = min(by_start, default=end_s)
    trend = Trend(max(WINDOW_S, window_s))
    for start_s in sorted(full):
        if start_s >= first_s:
            sent = by_start[start_s].sent if start_s in by_start else 0
            trend.count(start_s, start_s + window_s, float(sent))
    arrival, growth = trend.at(end_s)
    if arrival is not None:
        arrival = max(arrival + growth * (now_s - end_s), 0.0)
    service_s, failure = work([by_start[start_s] for start_s in sorted(by_start, reverse=True)])
    return Rates(arrival, growth, service_s, failure)


def work(newest_first: Sequence[Window]) -> tuple[float | None, float]:
    """Seconds of a message, and the share of receives after which it was not deleted: it came again."""
    worked = receives = again = 0
    work_s = 0.0
    for window in newest_first:
        if worked >= MESSAGES:
            break
        worked += window.worked
        work_s += window.work_s
        receives += window.receives
        again += window.again
    service_s = work_s / worked if worked else None
    return service_s, again / receives if receives else 0.0


def _added(windows: Iterable[Window]) -> dict[float, Window]:
    """Of a queue whose account is known in some events only, there may be two rows."""
    found: dict[float, Window] = {}
    for each in windows:
        before = found.get(each.start_s, Window(each.start_s))
        found[each.start_s] = Window(
            each.start_s,
            before.sent + each.sent,
            before.receives + each.receives,
            before.again + each.again,
            before.worked + each.worked,
            before.work_s + each.work_s,
        )
    return found
