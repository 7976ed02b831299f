"""Numbers of physical queues that were asked for and never used."""

from pathlib import Path

import pytest
from msgspec.structs import replace

from rockdove.core import ids
from rockdove.store.base import Conflict, OverQuota
from rockdove.store.sqlite import record
from rockdove.store.sqlite.store import SqliteStore
from tests.support.store import Bench


@pytest.fixture
def bench(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Bench:
    monkeypatch.setattr(record, "MOST_RESERVED", 10)
    return Bench("sqlite", tmp_path)


def used(bench: Bench) -> int:
    assert isinstance(bench.inner, SqliteStore)
    return len(bench.inner.records._numbers)


def test_those_that_nobody_uses_are_forgotten(bench: Bench) -> None:
    for _ in range(100):
        bench.reserve(5)
    assert used(bench) == 10
    bench.close()


def test_those_of_a_refused_queue_are_free_at_once(bench: Bench) -> None:
    queue = bench.queue()
    for _ in range(5):
        more = replace(queue.record, physical=[*queue.record.physical, *bench.reserve(9)])
        with pytest.raises(OverQuota):
            bench.put_queue(more, quota=5)
        assert used(bench) == 1
    bench.close()


def test_when_all_numbers_are_used_there_are_no_more(bench: Bench, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(ids, "MAX_PHYSICAL_NUMBER", 12)
    bench.queue(physical=8)
    bench.queue(physical=4)
    with pytest.raises(OverQuota):
        bench.reserve(1)
    bench.close()


def test_one_that_was_forgotten_and_is_another_queues_is_refused(bench: Bench, monkeypatch: pytest.MonkeyPatch) -> None:
    late = bench.queue()
    forgotten = bench.reserve(1)
    bench.reserve(10)
    # Numbers begin again, and it is the next one.
    monkeypatch.setattr(ids, "MAX_PHYSICAL_NUMBER", 12)
    other = bench.queue()
    assert other.record.physical[0].number == forgotten[0].number
    with pytest.raises(Conflict):
        bench.put_queue(replace(late.record, physical=[*late.record.physical, *forgotten]))
    bench.close()
