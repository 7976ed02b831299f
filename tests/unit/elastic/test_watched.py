"""What a controller takes from the table of a watch, in files as docs/reference/watch.md describes them."""

import json
import logging
import os
import sys
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

import pyarrow as pa
import pyarrow.parquet as pq
import pytest

from rockdove.capacity.scaling.measured import Rates
from rockdove.core.errors import MissingExtra
from rockdove.elastic.measure import Measure, Part
from rockdove.elastic.provision.base import Seen
from rockdove.elastic.watched import STALE_S, WatchTable, Window, rates, work

NOW_S = 1_790_000_000.0
WINDOW_S = 10
SCHEMA = pa.schema(
    [
        ("window_start", pa.timestamp("us", "UTC")),
        ("account", pa.string()),
        ("queue", pa.string()),
        *((name, pa.int64()) for name in ("sent", "received", "duplicates", "deleted", "worked", "work_us")),
    ]
)


def row(window: int, sent: int, *, queue: str = "jobs", account: str | None = "1", **more: int) -> dict[str, Any]:
    """``window``: before now, which is the end of window 0."""
    start = datetime.fromtimestamp(NOW_S - WINDOW_S * (1 - window), UTC)
    zeros = dict.fromkeys(("received", "duplicates", "deleted", "worked", "work_us"), 0)
    return {"window_start": start, "account": account, "queue": queue, "sent": sent, **zeros, **more}


class Folder:
    """Of a watch."""

    def __init__(self, path: Path) -> None:
        self.path = path
        (path / "metrics").mkdir(parents=True)
        self._batch = 0

    def closed(self, *rows: dict[str, Any], schema: pa.Schema = SCHEMA) -> Path:
        path = self.path / "metrics" / f"batch-{self._batch:08}.parquet"
        self._write(path, rows, schema)
        self._batch += 1
        return path

    def open(self, *rows: dict[str, Any]) -> None:
        self._write(self.path / "open.parquet", rows, SCHEMA)

    def done(self, newest_s: float = NOW_S, *, version: int = 1) -> None:
        text = {"format": version, "trace": "/trace", "window_us": WINDOW_S * 1_000_000, "newest_us": newest_s * 1e6}
        hidden = self.path / ".progress.json"
        hidden.write_text(json.dumps(text | {"newest_us": int(newest_s * 1e6), "batch": self._batch}))
        os.replace(hidden, self.path / "progress.json")

    def _write(self, path: Path, rows: tuple[dict[str, Any], ...], schema: pa.Schema) -> None:
        hidden = path.with_name(f".{path.name}")
        pq.write_table(pa.Table.from_pylist(list(rows), schema=schema), hidden)
        os.utime(hidden, (NOW_S, NOW_S))
        os.replace(hidden, path)


@pytest.fixture
def folder(tmp_path: Path) -> Folder:
    return Folder(tmp_path / "out")


def test_rates_are_those_of_the_queue_alone(folder: Folder) -> None:
    folder.closed(
        row(-1, 300, received=290, duplicates=10, worked=100, work_us=2_000_000),
        row(-1, 7_000, queue="mail"),
        row(-1, 5_000, account="2"),
    )
    folder.open(row(0, 300, received=280, duplicates=20, worked=100, work_us=4_000_000))
    folder.done()
    assert WatchTable(folder.path, "jobs", "1").rates(NOW_S) == Rates(30.0, 0.0, 0.03, 30 / 600)
    mail = WatchTable(folder.path, "mail", "1").rates(NOW_S)
    # Nothing has come since, and nobody has said how long that work takes.
    assert mail == Rates(0.0, 0.0, None, 0.0)


def test_events_without_an_account_are_of_the_queue_of_that_name(folder: Folder) -> None:
    folder.open(row(0, 100), row(0, 50, account=None))
    folder.done()
    found = WatchTable(folder.path, "jobs", "1").rates(NOW_S)
    assert found is not None
    assert found.arrival == 15.0


def test_it_is_read_again_when_the_watch_has_gone_on(folder: Folder) -> None:
    folder.open(row(0, 100))
    folder.done()
    table = WatchTable(folder.path, "jobs", "1")
    first = table.rates(NOW_S)
    assert first is not None
    assert first.arrival == 10.0
    # The same window closes, and another one is open: it counts once.
    path = folder.closed(row(0, 200))
    folder.open(row(1, 400))
    folder.done(NOW_S + WINDOW_S)
    second = table.rates(NOW_S + WINDOW_S)
    assert second is not None
    assert second.arrival == 40.0
    # What is closed never changes, and is read once.
    path.unlink()
    folder.done(NOW_S + WINDOW_S)
    third = table.rates(NOW_S + WINDOW_S)
    assert third == second


def test_nothing_is_read_while_nothing_changes(folder: Folder) -> None:
    folder.open(row(0, 100))
    folder.done()
    table = WatchTable(folder.path, "jobs", "1")
    before = table.rates(NOW_S)
    table._windows = None  # type: ignore[assignment,method-assign]
    assert table.rates(NOW_S) == before


def test_a_window_that_is_not_over_does_not_count_for_what_comes(folder: Folder) -> None:
    folder.open(row(0, 100), row(1, 3))
    folder.done(NOW_S + 2)
    found = WatchTable(folder.path, "jobs", "1").rates(NOW_S + 2)
    assert found is not None
    assert found.arrival == 10.0


def test_a_window_without_a_row_had_nothing() -> None:
    windows = [Window(NOW_S - 30, 100)]
    found = rates(windows, 10, NOW_S, NOW_S)
    assert found.arrival == 0.0


def test_what_grows_is_ahead_of_the_last_window() -> None:
    windows = [Window(NOW_S - 60 + 10 * at, 100 + 100 * at) for at in range(6)]
    found = rates(windows, 10, NOW_S, NOW_S + 10)
    assert found.growth == pytest.approx(1.0)
    # 60 a second in the middle of the last window, fifteen seconds ago.
    assert found.arrival == pytest.approx(75.0)


def test_the_work_is_that_of_the_last_messages() -> None:
    last = [Window(30, worked=400, work_s=4.0), Window(20, worked=200, work_s=2.0)]
    assert work([*last, Window(10, worked=900, work_s=90.0)])[0] == pytest.approx(0.01)
    assert work([]) == (None, 0.0)


def test_tables_of_an_earlier_version_tell_nothing_of_the_work(folder: Folder) -> None:
    old = pa.schema([field for field in SCHEMA if field.name not in ("worked", "work_us")])
    folder.closed({name: value for name, value in row(0, 100).items() if name in old.names}, schema=old)
    folder.done()
    assert WatchTable(folder.path, "jobs", "1").rates(NOW_S) == Rates(10.0, 0.0, None, 0.0)


def test_what_tells_nothing_of_now_is_said_once(folder: Folder, caplog: pytest.LogCaptureFixture) -> None:
    caplog.set_level(logging.WARNING)
    table = WatchTable(folder.path, "jobs", "1")
    assert table.rates(NOW_S) is None
    assert table.rates(NOW_S) is None
    (said,) = caplog.records
    why = "there is no table of rockdove watch --out yet"
    assert said.getMessage() == f"{folder.path} tells nothing of now ({why}): going by what the workers tell"
    folder.open(row(0, 100))
    folder.done()
    assert table.rates(NOW_S) is not None
    assert caplog.records[-1].getMessage() == f"{folder.path} tells of now again"
    assert table.rates(NOW_S + STALE_S + 5) is None
    assert "its last event is 65 s old" in caplog.records[-1].getMessage()
    assert len(caplog.records) == 3


def test_a_folder_that_is_not_there_is_told(tmp_path: Path, caplog: pytest.LogCaptureFixture) -> None:
    assert WatchTable(tmp_path / "figures", "jobs", "1").rates(NOW_S) is None
    assert "tells nothing of now (there is no such folder)" in caplog.text
    assert WatchTable(tmp_path, "jobs", "1").rates(NOW_S) is None
    assert "(there is no table of rockdove watch --out yet)" in caplog.text


@pytest.mark.parametrize(
    ("break_it", "why"),
    [
        (lambda folder: folder.done(version=2), "its format is 2, not 1"),
        (lambda folder: (folder.path / "progress.json").write_text("{"), "it cannot be read"),
        (lambda folder: folder.closed(row(0, 1)).write_bytes(b"PAR1"), "it cannot be read"),
    ],
)
def test_what_cannot_be_read_is_no_failure(
    folder: Folder, caplog: pytest.LogCaptureFixture, break_it: Any, why: str
) -> None:
    folder.open(row(0, 100))
    folder.done()
    table = WatchTable(folder.path, "jobs", "1")
    break_it(folder)
    assert table.rates(NOW_S) is None
    assert why in caplog.text


def test_without_pyarrow_one_line_says_what_to_install(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(sys.modules, "pyarrow.parquet", None)
    with pytest.raises(MissingExtra, match=r"pip install 'rockdove\[trace\]'"):
        WatchTable(tmp_path, "jobs")


def _measured(measure: Measure, now_s: float, done: int, load: int) -> Rates:
    parts = [Part(0, "up", 1.0, True, load, 0, 0)]
    seen = [Seen(0, "1", "a", True, done=done, busy_s=done * 0.2)]
    return measure.look(now_s, 1.0, parts, frozenset({0}), seen, 0.0).rates


def test_what_is_watched_goes_before_what_workers_tell() -> None:
    watched: list[Rates | None] = [None]
    measure = Measure(2, Rates(1.0, 0.0, 0.5), lambda now_s: watched[0])
    # The calibration knows the work, and the service what has come. Two messages are worked on at a time.
    _measured(measure, 1.0, 0, 0)
    assert _measured(measure, 2.0, 10, 10) == Rates(20.0, 0.0, 0.25)
    watched[0] = Rates(33.0, 2.0, 0.1, 0.25)
    assert _measured(measure, 3.0, 20, 10) == Rates(33.0, 2.0, 0.05, 0.25)
    # Who watches may know what comes, and not the work.
    watched[0] = Rates(33.0, 2.0)
    assert _measured(measure, 4.0, 30, 10) == Rates(33.0, 2.0, 0.25)
    watched[0] = None
    assert _measured(Measure(2), 1.0, 10, 0).service_s == pytest.approx(0.1)
