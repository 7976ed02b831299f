"""Reports that somebody has opened lately: they are read once, and live tables go on where they were."""

import threading
from collections import OrderedDict
from pathlib import Path
from typing import Any, Final

from rockdove.console.folder import Report
from rockdove.console.live_table import LiveTable
from rockdove.console.report import ROWS, Summary, summary

# Reports that are kept in memory, of each kind.
_OPEN: Final = 4


class Opened:
    """Its methods are called by threads."""

    def __init__(self) -> None:
        self._lock = threading.Lock()
        self._summaries: OrderedDict[tuple[Path, float], Summary] = OrderedDict()
        self._tables: OrderedDict[Path, LiveTable] = OrderedDict()

    def summary(self, report: Report) -> Summary:
        with self._lock:
            key = report.path, report.changed_s
            found = self._summaries.pop(key, None) or summary(report.path)
            self._summaries[key] = found
            while len(self._summaries) > _OPEN:
                self._summaries.popitem(last=False)
            return found

    def now(self, report: Report, span_s: float, search: str) -> dict[str, Any]:
        with self._lock:
            table = self._table(report)
            overall, rows = table.now(span_s, search)
            told = table.progress
            newest_s = None if told.newest_us is None else told.newest_us / 1e6
            counts = {"files": told.files, "corrupt": told.corrupt, "events": told.events, "late": told.late}
            return {
                "overall": overall,
                "all": len(rows),
                "queues": rows[:ROWS],
                "newest": newest_s,
                "window_s": table.window_s,
                "counts": counts,
                "problems": told.problems,
            }

    def over_time(self, report: Report, queue: str | None) -> dict[str, Any]:
        with self._lock:
            return self._table(report).over_time(queue)

    def _table(self, report: Report) -> LiveTable:
        table = self._tables.pop(report.path, None) or LiveTable(report.path)
        table.look()
        self._tables[report.path] = table
        while len(self._tables) > _OPEN:
            self._tables.popitem(last=False)
        return table
