"""Events become files: by hour, rolled by size and age, complete when they show."""

import threading
import time
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

import pyarrow.parquet as pq
import pytest

from rockdove.core.clock import SECOND_US, ManualClock
from rockdove.trace import COLUMNS, Event
from rockdove.trace.file import ROW_GROUP
from rockdove.trace.folder import HOUR_US, partition
from rockdove.trace.keep import Keep
from rockdove.trace.writer import RETRY_S, TIDY_S, Plan, Writer
from tests.support.trail import event, files, incomplete, numbers, rows

START_US = 472_222 * HOUR_US


class Bench:
    """A writer with a clock of its own."""

    def __init__(self, folder: Path, **plan: Any) -> None:
        self.folder = folder
        self.clock = ManualClock(START_US)
        values = {"node": "host:9324", "side": "server", "name": "host-1-ab", **plan}
        self.writer = Writer(Plan(folder=str(folder), **values), self.clock)

    def write(self, first: int, end: int, **values: Any) -> None:
        self.writer.write([event(number, self.clock.now_us(), **values) for number in range(first, end)])

    def state(self) -> tuple[int, int, str | None]:
        return self.writer.written, self.writer.dropped, self.writer.trouble

    def pass_time(self, seconds: float) -> None:
        self.clock.advance(seconds)
        self.writer.tick()


@pytest.fixture
def bench(tmp_path: Path) -> Bench:
    return Bench(tmp_path)


def test_every_column_comes_back_as_it_was_given(bench: Bench) -> None:
    full = Event(
        START_US + 1,
        "123456789012",
        "jobs.fifo",
        3,
        "receive",
        "id",
        "group",
        "sender-1",
        2**62,
        "receiver-2",
        4,
        START_US - 3,
        START_US - 2,
        START_US - 1,
        531,
        1_048_576,
        True,
        200,
    )
    bench.writer.write([full, Event(START_US, None, "jobs", None, "miss")])
    bench.writer.close()
    first, second = rows(bench.folder)
    assert list(first) == list(COLUMNS)
    start = datetime.fromtimestamp(START_US / SECOND_US, UTC)
    assert {name: value for name, value in first.items() if not isinstance(value, datetime)} == {
        "node": "host:9324",
        "side": "server",
        "account": "123456789012",
        "queue": "jobs.fifo",
        "physical": 3,
        "op": "receive",
        "message_id": "id",
        "group_id": "group",
        "sender": "sender-1",
        "seq": 2**62,
        "receiver": "receiver-2",
        "attempt": 4,
        "latency_us": 531,
        "bytes": 1_048_576,
        "checksum_ok": True,
        "status": 200,
    }
    times = {name: (value - start).total_seconds() for name, value in first.items() if isinstance(value, datetime)}
    assert times == {"event_time": 1e-6, "sent_at": -3e-6, "enqueued_at": -2e-6, "dequeued_at": -1e-6}
    known = {"event_time", "node", "side", "queue", "op"}
    assert {name for name, value in second.items() if value is not None} == known


def test_nothing_shows_until_the_file_is_complete(bench: Bench) -> None:
    bench.write(0, 10)
    bench.pass_time(9.9)
    assert files(bench.folder) == []
    assert len(incomplete(bench.folder)) == 1
    assert bench.writer.written == 0
    bench.pass_time(0.1)
    assert numbers(bench.folder) == list(range(10))
    assert incomplete(bench.folder) == []
    assert bench.writer.written == 10


def test_a_file_is_rolled_by_size(tmp_path: Path) -> None:
    bench = Bench(tmp_path, roll_bytes=10_000)
    for start in range(0, 2 * ROW_GROUP, ROW_GROUP):
        bench.write(start, start + ROW_GROUP)
    bench.write(2 * ROW_GROUP, 2 * ROW_GROUP + 5)
    assert len(files(tmp_path)) == 2
    bench.writer.close()
    assert len(files(tmp_path)) == 3
    assert numbers(tmp_path) == list(range(2 * ROW_GROUP + 5))


def test_without_events_there_are_no_files(bench: Bench) -> None:
    for _ in range(10):
        bench.pass_time(100)
    bench.writer.close()
    assert list(bench.folder.rglob("*")) == []


def test_events_go_by_their_hour(bench: Bench) -> None:
    times = [START_US - 1, START_US, START_US + HOUR_US - 1, START_US + HOUR_US, START_US + 30 * HOUR_US]
    bench.writer.write([event(number, time_us) for number, time_us in enumerate(times)])
    bench.writer.close()
    by_hour = {path.parent: pq.ParquetFile(path).metadata.num_rows for path in files(bench.folder)}
    hour = START_US // HOUR_US
    assert by_hour == {partition(bench.folder, hour + more): rows for more, rows in [(-1, 1), (0, 2), (1, 1), (30, 1)]}


def test_two_writers_of_one_folder_do_not_meet(tmp_path: Path) -> None:
    benches = [Bench(tmp_path, name=name) for name in ("a", "b")]
    for number, bench in enumerate(benches):
        bench.write(number, number + 1)
        benches[0].writer.clean()
    for bench in benches:
        bench.writer.close()
    assert numbers(tmp_path) == [0, 1]


def test_old_files_go_while_new_ones_come(tmp_path: Path) -> None:
    bench = Bench(tmp_path, keep=Keep(bytes=1))
    bench.writer.tick()
    bench.write(0, 10)
    bench.pass_time(10)
    assert len(files(tmp_path)) == 1
    bench.pass_time(TIDY_S)
    assert files(tmp_path) == []
    assert bench.writer.written == 10


def test_an_event_that_does_not_fit_is_lost_alone(bench: Bench) -> None:
    bad = event(1, START_US)._replace(physical="three")  # type: ignore[arg-type]
    bench.writer.write([event(0, START_US), bad, event(2, START_US)])
    assert bench.state()[2] is not None
    bench.writer.close()
    assert numbers(bench.folder) == [0, 2]
    assert bench.state() == (2, 1, None)


def test_a_folder_that_goes_away_costs_what_was_not_yet_visible(bench: Bench) -> None:
    bench.write(0, 10)
    for path in sorted(bench.folder.rglob("*"), reverse=True):
        path.rmdir() if path.is_dir() else path.unlink()
    bench.folder.rmdir()
    bench.pass_time(10)
    assert bench.state() == (0, 10, "No such file or directory")
    bench.write(10, 15)
    assert bench.writer.dropped == 15
    bench.pass_time(RETRY_S)
    bench.write(15, 20)
    bench.writer.close()
    assert numbers(bench.folder) == list(range(15, 20))
    assert bench.state() == (5, 15, None)


def test_a_reader_sees_complete_files_only(tmp_path: Path) -> None:
    """One thread reads all that shows, again and again, while another writes."""
    bench = Bench(tmp_path, roll_s=1)
    done, seen, wrong = threading.Event(), set[Path](), list[str]()

    def read() -> None:
        while not done.is_set():
            for path in files(tmp_path):
                seen.add(path)
                try:
                    pq.read_table(path)
                except Exception as error:
                    wrong.append(repr(error))

    reader = threading.Thread(target=read)
    reader.start()
    for start in range(0, 6_000, 200):
        bench.write(start, start + 200)
        bench.pass_time(1)
    while len(seen) < 30 and not wrong:
        time.sleep(0.01)
    done.set()
    reader.join()
    assert wrong == []
    assert numbers(tmp_path) == list(range(6_000))
