"""A store with many queues: what is done with one of them does not take longer because of the others."""

from collections.abc import Callable
from pathlib import Path

import apsw
import pytest

from tests.support.store import Bench

MANY = 1_500
# Steps of SQLite's machine between two calls of the handler.
STEPS = 10


class Meter:
    """Counts the steps that SQLite's machine takes, on all connections."""

    def __init__(self) -> None:
        self._calls = 0

    def watch(self, db: apsw.Connection) -> None:
        db.set_progress_handler(self._count, STEPS)

    def _count(self) -> bool:
        self._calls += 1
        return False

    def of(self, act: Callable[[], object]) -> int:
        before = self._calls
        act()
        return (self._calls - before) * STEPS


@pytest.fixture
def meter(monkeypatch: pytest.MonkeyPatch) -> Meter:
    made = Meter()
    monkeypatch.setattr(apsw, "connection_hooks", [*apsw.connection_hooks, made.watch])
    return made


def test_what_one_queue_costs_among_many(meter: Meter, tmp_path: Path) -> None:
    bench = Bench("sqlite", tmp_path)
    other = bench.queue()

    def life() -> None:
        queue = bench.queue()
        queue.send("a", "b")
        queue.drop()
        # What it held is removed in the background: by two steps, and one more has nothing to do.
        for _ in range(3):
            bench.put_queue(other.record)

    life()
    alone = meter.of(life)
    for _ in range(MANY):
        bench.queue()
    assert meter.of(life) < 2 * alone + 100
    bench.close()


def test_what_a_start_costs_with_many_that_are_empty(meter: Meter, tmp_path: Path) -> None:
    bench = Bench("sqlite", tmp_path)
    few = meter.of(bench.reopen)
    for _ in range(MANY):
        bench.queue()
    full = bench.queue()
    full.send("a")
    # To read a record, and that of its physical queue.
    assert meter.of(bench.reopen) < few + 60 * MANY
    assert full.count() == (1, 0, 0)
    bench.close()
