"""The table of a watch, while it is written."""

import os
from collections import Counter
from datetime import UTC, datetime, timedelta
from pathlib import Path
from typing import Any

import msgspec
import pyarrow as pa
import pyarrow.parquet as pq
import pytest

from rockdove.console import live_table
from rockdove.console.live_table import LiveTable, figures, percentile_ms
from rockdove.console.wrong import Wrong

BEGIN = datetime(2026, 3, 1, tzinfo=UTC)
BUCKETS = pa.list_(pa.struct({"from_us": pa.int64(), "count": pa.int64()}))
SCHEMA = pa.schema(
    {
        "window_start": pa.timestamp("us", "UTC"),
        "account": pa.string(),
        "queue": pa.string(),
        "sent": pa.int64(),
        "deleted": pa.int64(),
        "misses": pa.int64(),
        "hits": pa.int64(),
        "delivery_buckets": BUCKETS,
    }
)


class Watch:
    """What a watch leaves in a folder."""

    def __init__(self, folder: Path) -> None:
        self.folder = folder
        (folder / "metrics").mkdir()
        self.batch = 0
        self.progress()

    def progress(self, **values: Any) -> None:
        self.batch += 1
        document = {"format": 1, "window_us": 5_000_000, "events": self.batch, **values}
        (self.folder / "progress.json").write_bytes(msgspec.json.encode(document))
        # Files are written within one tick of a file system's clock here.
        os.utime(self.folder / "progress.json", (self.batch, self.batch))

    def closed(self, *rows: dict[str, Any]) -> None:
        pq.write_table(pa.Table.from_pylist(list(rows), SCHEMA), self.folder / "metrics" / f"{self.batch}.parquet")
        self.progress()

    def open(self, *rows: dict[str, Any]) -> None:
        pq.write_table(pa.Table.from_pylist(list(rows), SCHEMA), self.folder / "open.parquet")
        self.progress()


@pytest.fixture
def watch(tmp_path: Path) -> Watch:
    return Watch(tmp_path)


def row(queue: str, second: int, sent: int, **values: Any) -> dict[str, Any]:
    return {"window_start": BEGIN + timedelta(seconds=second), "queue": queue, "sent": sent, **values}


def opened(watch: Watch) -> LiveTable:
    table = LiveTable(watch.folder)
    table.look()
    return table


def test_figures_of_the_last_seconds(watch: Watch) -> None:
    watch.closed(row("a", 0, 100), row("a", 5, 10), row("b", 5, 30, deleted=5))
    watch.open(row("a", 10, 20, misses=1, hits=3))
    overall, queues = opened(watch).now(10)
    assert (overall["sent"], overall["send_rate"], overall["miss_ratio"]) == (60, 6, 0.25)
    assert [(each["name"], each["sent"]) for each in queues] == [("a", 30), ("b", 30)]
    assert queues[1]["receive_delete_rate"] == 0.5


def test_names_are_searched_for(watch: Watch) -> None:
    watch.closed(row("orders", 0, 1), row("mail", 0, 1))
    assert [each["name"] for each in opened(watch).now(60, "MAI")[1]] == ["mail"]


def test_over_time_with_windows_in_which_nothing_was(watch: Watch) -> None:
    watch.closed(row("a", 0, 5), row("b", 0, 7), row("a", 15, 10))
    table = opened(watch)
    start = BEGIN.timestamp()
    assert table.over_time(None)["time"] == [start, start + 5, start + 10, start + 15]
    assert table.over_time(None)["sent"] == [12, 0, 0, 10]
    assert table.over_time("a")["send_rate"] == [1, 0, 0, 2]


def test_it_goes_on_where_it_was(watch: Watch) -> None:
    watch.open(row("a", 0, 1))
    table = opened(watch)
    assert table.over_time("a")["sent"] == [1]
    watch.closed(row("a", 0, 2))
    watch.open(row("a", 5, 3))
    table.look()
    assert table.over_time("a")["sent"] == [2, 3]
    watch.closed(row("a", 5, 4))
    table.look()
    # What is still in the file of open windows was closed meanwhile.
    assert table.over_time("a")["sent"] == [2, 4]


def test_nothing_is_read_again_when_nothing_has_changed(watch: Watch, monkeypatch: pytest.MonkeyPatch) -> None:
    watch.closed(row("a", 0, 1))
    table = opened(watch)
    monkeypatch.setattr(live_table, "_rows", None)
    table.look()
    assert table.over_time(None)["sent"] == [1]


def test_memory_is_bounded(watch: Watch, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(live_table, "_ROWS", 3)
    for second in range(0, 50, 5):
        watch.closed(row("a", second, second))
    assert opened(watch).over_time("a")["sent"] == [35, 40, 45]


def test_a_watch_that_has_seen_nothing(watch: Watch) -> None:
    table = opened(watch)
    assert table.over_time(None) == {"time": []}
    overall, queues = table.now(60)
    assert (overall["sent"], overall["delivery_p50_ms"], queues) == (0, None, [])


@pytest.mark.parametrize("content", [b"", b"{}", b'{"format": 2, "window_us": 5}'])
def test_a_folder_that_cannot_be_read(watch: Watch, content: bytes) -> None:
    (watch.folder / "progress.json").write_bytes(content)
    with pytest.raises(Wrong):
        opened(watch)


def test_a_damaged_file_is_told_and_tried_again(watch: Watch) -> None:
    (watch.folder / "open.parquet").write_bytes(b"PAR1")
    table = LiveTable(watch.folder)
    with pytest.raises(Wrong, match="tried again"):
        table.look()
    watch.open(row("a", 0, 1))
    table.look()
    assert table.over_time(None)["sent"] == [1]


def test_percentiles_are_by_nearest_rank_over_the_sum_of_buckets() -> None:
    rows = [
        row("a", 0, 1, delivery_buckets=[{"from_us": 1_000, "count": 1}, {"from_us": 9_000, "count": 1}]),
        row("b", 0, 1, delivery_buckets=[{"from_us": 1_000, "count": 97}, {"from_us": 50_000, "count": 1}]),
    ]
    found = figures(rows, 5)
    assert (found["delivery_p50_ms"], found["delivery_p95_ms"], found["delivery_p99_ms"]) == (1, 1, 9)
    assert found["response_p50_ms"] is None
    assert percentile_ms(Counter(), 0.5) is None
