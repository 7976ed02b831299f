"""The continuous analysis, on traces made by hand."""

import os
import random
import signal
import subprocess
import sys
from collections import Counter
from collections.abc import Iterator
from pathlib import Path
from typing import TYPE_CHECKING, Any

import pyarrow as pa
import pyarrow.parquet as pq
import pytest

from rockdove.elastic.watched import WatchTable
from rockdove.spark.analysis import analyse
from rockdove.spark.watch.board import Sum
from rockdove.spark.watch.folder import METRICS, OPEN
from rockdove.spark.watch.job import FILES_SETTING
from tests.integration.spark import watched
from tests.integration.spark.watched import POINTS, watch
from tests.support.made_trace import Event, event, odd, received, sent, write

if TYPE_CHECKING:
    from pyspark.sql import SparkSession

ALONE = ("sent", "received", "duplicates", "deleted", "duplication_rate", "miss_ratio")


@pytest.fixture
def stream(spark: "SparkSession") -> "Iterator[SparkSession]":
    spark.conf.set(FILES_SETTING, "1")
    yield spark
    spark.conf.unset(FILES_SETTING)


def table(out: Path) -> list[dict[str, Any]]:
    """What a plain reader finds."""
    rows: list[dict[str, Any]] = pq.read_table(out / METRICS).to_pylist()
    keys = Counter((row["account"], row["queue"], row["window_start"]) for row in rows)
    assert not [key for key, number in keys.items() if number > 1]
    return sorted(rows, key=lambda row: (row["window_start"], row["queue"], row["account"] or ""))


def files(folder: Path, *parts: list[Event]) -> Path:
    """A file for each part, the first the oldest."""
    for number, part in enumerate(parts):
        write(folder, part, f"part-{number}")
        age(folder / f"part-{number}.parquet", number)
    return folder


def age(path: Path, number: float) -> None:
    """Spark takes files by when they were written."""
    os.utime(path, (1_790_000_000 + number, 1_790_000_000 + number))


def traffic(seconds: int) -> list[Event]:
    """Both sides, some receives twice and much later, messages out of order, and misses."""
    rng = random.Random(5)
    events = []
    for n in range(6 * seconds):
        at, queue, name = n / 6, rng.choice(("jobs", "mail")), f"{rng.getrandbits(32):08x}"
        mine = {"queue": queue, "latency_us": rng.randrange(50, 50_000)}
        there = at + rng.choice((0.5, 1, 3))
        events += [sent(name, at, **mine), received(name, there, at, **mine)]
        events.append(event("delete", there + 2, name, dequeued_at=there, **mine))
        # Some clients do not know whose queue it is.
        client = {**mine, "side": "client", "node": "a client", **({"account": None} if n % 3 else {})}
        if n % 2:
            # Now before, now after what the server says, so that the two may be in different windows.
            off = rng.choice((-0.2, 0.3))
            events += [sent(name, at + off, enqueued_at=None, **client), received(name, there + off, at, **client)]
        if n % 7 == 0:
            events.append(received(name, there + rng.choice((0.1, 15)), at, **(client if n % 2 else mine)))
        if n % 5 == 0:
            events.append(event("miss", at, queue=queue))
            events.append(event("send", at, queue=queue, status=500))
    return sorted(events, key=lambda found: found["event_time"])


def test_windows_add_up_to_what_the_batch_analysis_says(stream: "SparkSession", tmp_path: Path) -> None:
    events = traffic(50)
    third = len(events) // 3
    trace = files(tmp_path / "trace", events[:third], events[third : 2 * third], events[2 * third :])
    watch(stream, trace, tmp_path / "out")
    found = analyse(stream, [str(trace)], str(tmp_path / "whole"), 10)
    rows = table(tmp_path / "out")
    assert pq.read_table(tmp_path / "out" / OPEN).num_rows == 0
    assert {row["account"] for row in rows} == {"000000000000"}
    for queue in ("jobs", "mail"):
        whole, added = found.summary["queues"][queue], Sum(row for row in rows if row["queue"] == queue).figures()
        # The misses of a queue count by its clients' events if there are any: here by window, there by the whole time.
        assert {name: added[name] for name in ALONE} == pytest.approx({name: whole[name] for name in ALONE})
        # Two seconds from the receive to the delete.
        assert added["worked"] == added["deleted"] > 0
        assert added["work_ms"] == pytest.approx(2000)
        for kind in ("response_ms", "delivery_ms"):
            for at, value in whole[kind].items():
                assert value * 0.968 <= added[kind][at] <= value
        by_start = {row["window_start"].timestamp(): row for row in rows if row["queue"] == queue}
        batch = {row["window_start"].timestamp(): row for row in found.windows_by_queue[queue]}
        for name in ("sent", "received", "duplicates", "deleted", "out_of_order_rate", "failed", "hits"):
            # There are rows of windows without an event there, and none here.
            assert [row[name] for row in by_start.values()] == pytest.approx(
                [batch[start][name] for start in by_start]
            ), name

    # A controller reads the same.
    newest_s = max(at["event_time"] for at in events).timestamp()
    mine = [row for row in rows if row["queue"] == "jobs"]
    last = [row for row in mine if row["window_end"].timestamp() <= newest_s][-1]
    again, receives = (sum(row[name] for row in mine) for name in ("duplicates", "received"))
    told = WatchTable(tmp_path / "out", "jobs", "000000000000").rates(newest_s)
    assert told is not None
    assert told.service_s == pytest.approx(2)
    assert told.failure == pytest.approx(again / (again + receives))
    assert told.arrival == pytest.approx(max(last["sent"] / 10 + told.growth * (newest_s % 10 + 5), 0))


def test_the_papers_examples_in_windows(stream: "SparkSession", tmp_path: Path) -> None:
    """Windows of their own, with places counted from the window's first."""
    events = []
    for window, order in ((0, (2, 1, 3, 4, 5)), (1, (2, 3, 4, 5, 1))):
        events += [sent(f"{window}-{n}", window * 10 + n / 10) for n in range(1, 6)]
        events += [
            received(f"{window}-{n}", window * 10 + 5 + place / 10, window * 10 + n / 10)
            for place, n in enumerate(order)
        ]
    watch(stream, files(tmp_path / "trace", events), tmp_path / "out")
    assert [(row["out_of_order_rate"], row["displacement"]) for row in table(tmp_path / "out")] == [
        (0.2, 0.4),
        (0.2, 1.6),
    ]


def test_late_events_and_bad_files_are_counted_and_state_stays_small(stream: "SparkSession", tmp_path: Path) -> None:
    parts = []
    for n in range(7):
        names = [f"m{n}-{i}" for i in range(10)]
        parts.append([sent(name, 20 * n) for name in names] + [received(name, 20 * n + 1, 20 * n) for name in names])
    # Received again soon enough to be remembered, and too late for that.
    parts[3].append(received("m1-0", 61, 20))
    parts[6].append(received("m0-0", 121, 0))
    # Sixty seconds behind: its window was closed before.
    parts[5].append(sent("late", 40))
    events = sum(map(len, parts))
    parts[4] += odd()
    stream.conf.set(FILES_SETTING, "2")
    trace = files(tmp_path / "trace", *parts)
    (trace / "torn.parquet").write_bytes(b"PAR1")
    age(trace / "torn.parquet", 3.5)
    write(trace, [sent("removed", 130)], "removed")
    age(trace / "removed.parquet", 50)
    (trace / ".hidden.parquet").write_bytes(b"PAR1")

    removed = trace / "removed.parquet"
    done = watch(stream, trace, tmp_path / "out", remember_s=60, tell=lambda done: removed.unlink(missing_ok=True))
    end = done[-1].progress
    assert (end.files, end.corrupt, end.removed, end.late, end.events) == (9, 1, 1, 1, events)
    assert end.unread == len(odd())
    assert {(Path(problem.path).name, problem.what.split(":")[0]) for problem in end.problems} == {
        ("torn.parquet", "cannot be read"),
        ("removed.parquet", "removed before it was read"),
        ("trace", f"{len(odd())} rows are no events"),
    }
    rows = table(tmp_path / "out")
    assert [row["late"] for row in rows if row["late"]] == [1]
    assert sum(row["sent"] for row in rows) == 70
    assert [row["window_start"].second for row in rows if row["duplicates"]] == [0]
    assert sum(row["received"] for row in rows) == 71
    # Two watermarks and a window are three parts at most, a minute is four.
    assert max(found.progress.retained_rows for found in done) <= 3 * 21
    assert max(found.progress.remembered_rows for found in done) <= 5 * 11
    assert len(list((tmp_path / "out" / "state").iterdir())) == 1 + len(end.pieces)


@pytest.mark.parametrize("column", ["bytes", "latency_us"])
def test_a_file_that_is_not_as_traces_are_does_not_count(stream: "SparkSession", tmp_path: Path, column: str) -> None:
    """Also if none of the columns that are needed is the odd one."""
    stream.conf.set(FILES_SETTING, "3")
    trace = tmp_path / "a trace 100%25"
    files(trace, [sent("a", 0), received("a", 1, 0)], [sent("b", 0)], [sent("c", 0)])
    odd_one = trace / "part-1.parquet"
    table_ = pq.read_table(odd_one)
    place = table_.column_names.index(column)
    pq.write_table(table_.set_column(place, column, pa.array(["text"], pa.string())), odd_one)
    age(odd_one, 1)
    done = watch(stream, trace, tmp_path / "out")
    end = done[-1].progress
    assert (end.files, end.corrupt, end.events, end.unread) == (3, 1, 3, 0)
    assert [(Path(problem.path).name, f"{column} of another type" in problem.what) for problem in end.problems] == [
        ("part-1.parquet", True)
    ]
    assert sum(row["sent"] for row in table(tmp_path / "out")) == 2


def test_a_second_run_goes_on_where_the_first_ended(stream: "SparkSession", tmp_path: Path) -> None:
    # Names that Spark would take for patterns, and that it writes in another way than people do.
    trace, out = tmp_path / "a trace [1] 100%25", tmp_path / "out {1}"
    files(trace, [sent("a", 0), received("a", 1, 0)])
    assert len(watch(stream, trace, out)) == 2
    assert watch(stream, trace, out) == []
    write(trace, [sent("b", 100), received("a", 101, 0), sent("c", 5)], "more")
    (done, *_) = watch(stream, trace, out)
    assert (done.progress.files, done.progress.late, done.progress.problems) == (2, 1, [])
    rows = [row for row in table(out) if not row["late"]]
    assert [(row["sent"], row["received"], row["duplicates"]) for row in rows] == [(1, 1, 0), (1, 0, 1)]


def test_killed_at_any_point_it_comes_to_the_same_table(stream: "SparkSession", tmp_path: Path) -> None:
    events = traffic(60)
    size = len(events) // 3 + 1
    trace = files(tmp_path / "trace", *(events[n * size : (n + 1) * size] for n in range(3)))
    watch(stream, trace, tmp_path / "whole")
    expected = table(tmp_path / "whole")
    assert len(expected) > 10

    out = tmp_path / "out"
    seen: list[dict[str, Any]] = []
    for batch, point in enumerate(POINTS, 1):
        done = _run(trace, out, point, str(batch))
        assert done.returncode == -signal.SIGKILL, done.stderr
        rows = table(out)
        # Rows do not change once they are there, and all of them are right.
        assert [row for row in rows if row in expected] == rows
        assert [row for row in seen if row in rows] == seen
        seen = rows
    watch(stream, trace, out)
    assert table(out) == expected
    assert pq.read_table(out / OPEN).num_rows == 0


def _run(*words: str | Path) -> subprocess.CompletedProcess[str]:
    command = [sys.executable, str(Path(watched.__file__)), *map(str, words)]
    # Who is killed leaves what he had there.
    folder = Path(words[0]).with_name("left")
    folder.mkdir(exist_ok=True)
    environment = {**os.environ, "TMPDIR": str(folder), "SPARK_LOCAL_DIRS": str(folder)}
    return subprocess.run(command, capture_output=True, text=True, check=False, start_new_session=True, env=environment)
