"""What a watch says of the rows that it has seen."""

from datetime import timedelta

import msgspec
import pytest

from rockdove.cli.watching import cells, figures, line, spark, summary
from rockdove.spark.watch.batch import Done
from rockdove.spark.watch.board import LAST, Board, record
from rockdove.spark.watch.progress import Problem
from tests.support.watch_row import BEGIN, PROGRESS, row


def buckets(**counts: int) -> list[dict[str, int]]:
    return [{"from_us": int(name.removeprefix("us")), "count": count} for name, count in counts.items()]


def test_counts_and_buckets_of_windows_add_up() -> None:
    board = Board(PROGRESS)
    board.take(Done(PROGRESS, [row(0, sent=5, misses=1, hits=1, response_buckets=buckets(us1000=98, us2000=1))], []))
    board.take(Done(PROGRESS, [], [row(1, sent=15, hits=2, response_buckets=buckets(us1000=0, us9000=1))]))
    found = board.document()["queues"]["jobs"]
    assert (found["sent"], found["arrival_rate"], found["miss_ratio"]) == (20, 1.0, 0.25)
    assert found["response_ms"] == {"p50": 1.0, "p95": 1.0, "p99": 2.0}
    assert found["delivery_ms"] == {"p50": None, "p95": None, "p99": None}
    assert board.document()["overall"] == found


def test_an_open_window_is_replaced_and_then_closed_once() -> None:
    board = Board(PROGRESS)
    for sent in (1, 2):
        board.take(Done(PROGRESS, [], [row(0, sent=sent)]))
    assert board.document()["queues"]["jobs"]["sent"] == 2
    board.take(Done(PROGRESS, [row(0, sent=3)], []))
    assert board.document()["queues"]["jobs"]["sent"] == 3
    assert (board.windows, board.open) == (1, [])


def test_queues_of_one_name_are_called_by_their_accounts() -> None:
    board = Board(PROGRESS)
    board.take(Done(PROGRESS, [row(0), row(0, account="2"), row(0, "mail"), row(0, "mail", None)], []))
    assert list(board.document()["queues"]) == ["1/jobs", "2/jobs", "unknown/mail", "1/mail"]


def test_only_the_last_windows_are_kept() -> None:
    board = Board(PROGRESS)
    for window in range(3 * LAST):
        board.take(Done(PROGRESS, [row(window)], [row(window + 1)]))
    last = board.last(("1", "jobs"))
    assert len(last) == LAST
    assert last[-1]["window_start"] == BEGIN + timedelta(seconds=30 * LAST)


def test_a_record_says_how_far_it_has_come() -> None:
    found = record(Done(PROGRESS, [row(0)], []))
    assert found["closed_until"] == BEGIN
    assert (found["batch"], found["late"], len(found["closed"]), found["open"]) == (-1, 0, 1, [])


def test_what_is_not_known_is_a_dash() -> None:
    assert cells(figures(row(0))) == ["0.0", "0.0", "-", "-", "-", "0", "-", "0"]
    assert line("jobs", row(0)).startswith("2026-03-01T12:00:00Z  jobs  arrivals/s 0.0, served/s 0.0, misses -")


@pytest.mark.parametrize(("values", "shown"), [([], ""), ([0, 0], ""), ([0, 4, 8], " ▄█"), ([1] * 40, "█" * LAST)])
def test_rates_as_bars(values: list[float], shown: str) -> None:
    assert spark(values) == shown


def test_counts_are_those_of_this_watch_and_the_total_is_apart() -> None:
    old, new = Problem("old.parquet", "cannot be read"), Problem("new.parquet", "cannot be read")
    board = Board(msgspec.structs.replace(PROGRESS, files=3, events=100, late=7, problems=[old]))
    later = msgspec.structs.replace(PROGRESS, files=5, events=140, late=7, corrupt=1, problems=[old, new])
    board.take(Done(later, [row(0, sent=40)], []))
    found = board.document()
    assert (found["files"], found["events"], found["late"], found["corrupt"]) == (2, 40, 0, 1)
    assert found["problems"] == [new]
    assert found["total"] == {"files": 5, "events": 140, "late": 7, "corrupt": 1, "removed": 0, "unread": 0}
    assert summary(board).startswith("40 events in 2 files · 1 window closed, 0 open · 0 late events · 1 corrupt file")
