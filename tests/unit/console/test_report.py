"""Reports of an analysis, as pages show them."""

from datetime import UTC, datetime, timedelta
from pathlib import Path
from typing import Any

import msgspec
import pyarrow as pa
import pyarrow.parquet as pq
import pytest

from rockdove.console import report
from rockdove.console.analysis import flat
from rockdove.console.report import summary, thinned, windows
from rockdove.console.wrong import Wrong

BEGIN = datetime(2026, 3, 1, tzinfo=UTC)


def written(folder: Path, **members: Any) -> Path:
    document = {"format": 1, "from": "a", "to": "b", "overall": {}, "queues": {}, "problems": [], **members}
    (folder / "summary.json").write_bytes(msgspec.json.encode(document))
    return folder


def test_queues_to_look_at_first(tmp_path: Path) -> None:
    queues = {
        "busy": {"sent": 900, "lost": 0, "duplicates": 0},
        "quiet": {"sent": 1, "lost": None, "duplicates": None},
        "twice": {"sent": 10, "lost": 0, "duplicates": 4},
        "lossy": {"sent": 5, "lost": 2, "duplicates": 0},
    }
    found = summary(written(tmp_path, queues=queues))
    assert [row["name"] for row in found.rows("")] == ["lossy", "twice", "busy", "quiet"]
    assert [row["name"] for row in found.rows("QUI")] == ["quiet"]
    assert (found.begin, found.end) == ("a", "b")


def test_percentiles_are_named_as_in_tables() -> None:
    assert flat({"sent": 3, "response_ms": {"p50": 1, "p99": None}}) == {
        "sent": 3,
        "response_p50_ms": 1,
        "response_p99_ms": None,
    }


@pytest.mark.parametrize("content", [b"", b"{}", b"[]", b"\xff", b'{"format": "1"}', b'{"format": 1}'])
def test_what_is_no_summary_is_told(tmp_path: Path, content: bytes) -> None:
    (tmp_path / "summary.json").write_bytes(content)
    with pytest.raises(Wrong, match="is no summary"):
        summary(tmp_path)


def test_another_format_is_told(tmp_path: Path) -> None:
    with pytest.raises(Wrong, match=r"has format 2, .* analyse the trace anew"):
        summary(written(tmp_path, format=2))


def test_a_summary_that_is_gone_is_told(tmp_path: Path) -> None:
    with pytest.raises(Wrong, match="cannot be read: No such file"):
        summary(tmp_path)


def table(folder: Path, rows: list[dict[str, Any]]) -> Path:
    (folder / "windows").mkdir()
    types = pa.schema(
        {"name": pa.string(), "window_start": pa.timestamp("us", "UTC"), "send_rate": pa.float64(), "lost": pa.int64()}
    )
    pq.write_table(pa.Table.from_pylist(rows, types), folder / "windows" / "part.parquet")
    return folder


def row(name: str | None, second: int, rate: float | None, lost: int = 0) -> dict[str, Any]:
    return {"name": name, "window_start": BEGIN + timedelta(seconds=second), "send_rate": rate, "lost": lost}


def test_windows_of_one_queue_and_of_all_in_order(tmp_path: Path) -> None:
    folder = table(tmp_path, [row("a", 10, 2.0, 1), row(None, 0, 5.0), row("a", 0, 1.0), row("b", 0, 4.0)])
    start = BEGIN.timestamp()
    assert windows(folder, "a") == {"time": [start, start + 10], "send_rate": [1, 2], "lost": [0, 1], "each": [1]}
    assert windows(folder, None)["send_rate"] == [5]
    assert windows(folder, "nobody")["time"] == []


def test_a_table_that_is_gone_or_damaged_is_told(tmp_path: Path) -> None:
    with pytest.raises(Wrong, match="cannot be read"):
        windows(tmp_path, None)
    (tmp_path / "windows").mkdir()
    (tmp_path / "windows" / "part.parquet").write_bytes(b"PAR1 no")
    with pytest.raises(Wrong, match="cannot be read"):
        windows(tmp_path, None)


def test_many_windows_are_put_together(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(report, "POINTS", 2)
    columns: dict[str, list[Any]] = {
        "time": [0, 1, 2, 3, 4],
        "send_rate": [1.0, 3.0, None, None, 8.0],
        "waiting": [1, 9, 2, 3, 4],
        "lost": [1, 1, None, None, None],
    }
    assert thinned(columns) == {
        "time": [0, 3],
        "send_rate": [2, 8],
        "waiting": [9, 4],
        "lost": [2, None],
        "each": [3],
    }
