"""Whose queue an event is of, and which task measures which queue."""

import pytest

from rockdove.spark import analysis
from rockdove.spark.survey import NamedQueue, Seen, Survey, numbers, settle, share_out
from rockdove.spark.window import Windows


def test_events_without_an_account_are_of_the_only_queue_of_that_name() -> None:
    found = settle([Seen(None, "jobs", 2, 5, 30), Seen("1", "jobs", 3, 10, 20), Seen("2", "mail", 1, 7, 7)])
    assert found == [Seen("1", "jobs", 5, 5, 30), Seen("2", "mail", 1, 7, 7)]
    assert settle(list(reversed(found))) == found


def test_events_that_could_be_of_several_accounts_stay_by_themselves() -> None:
    found = [Seen("2", "jobs", 1, 0, 1), Seen(None, "jobs", 1, 0, 1), Seen("1", "jobs", 1, 0, 1)]
    assert [seen.account for seen in settle(found)] == [None, "1", "2"]


def test_a_queue_that_nobody_tells_the_account_of_is_a_queue() -> None:
    assert settle([Seen(None, "jobs", 1, 0, 1)]) == [Seen(None, "jobs", 1, 0, 1)]


def test_queues_are_shared_out_so_that_no_task_has_a_large_one_and_much_else() -> None:
    parts = share_out([50, 10, 10, 10, 10, 10], 2)
    assert sorted(parts.count(part) for part in (0, 1)) == [1, 5]
    assert share_out([1, 1], 2) in ([0, 1], [1, 0])
    found = numbers([50, 10, 10, 10, 10, 10], 2)
    assert [number % 2 for number in found] == parts
    assert len(set(found)) == 6


def survey_of(queues: int) -> Survey:
    places = [NamedQueue(number, f"q{number}", None, f"q{number}", 1, number, 99) for number in range(queues)]
    return Survey(0, 99, 100, places, 1, False)


def test_windows_count_from_the_first_event_of_each_queue_to_the_end() -> None:
    assert survey_of(3).windows(Windows(0, 1, 100)) == 100 + 99 + 98
    assert survey_of(3).windows(Windows(0, 10, 10)) == 30


def test_many_rows_are_told_of_and_too_many_are_refused(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(analysis, "_MANY_ROWS", 10)
    monkeypatch.setattr(analysis, "_MOST_ROWS", 20)
    said: list[str] = []
    analysis._guard(10, said.append)
    assert said == []
    analysis._guard(20, said.append)
    assert [("up to 20 rows" in line, "--window" in line) for line in said] == [(True, True)]
    with pytest.raises(analysis.BadWindow, match=r"up to 21 rows.*longer --window"):
        analysis._guard(21, said.append)
