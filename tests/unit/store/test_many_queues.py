"""A store with many queues: what is done with one of them does not take longer because of the others."""

import gc
import tracemalloc
from collections.abc import Callable
from pathlib import Path
from random import Random
from typing import Any

import apsw
import pytest

from rockdove.broker.directory import Directory
from rockdove.core import ids
from rockdove.core.clock import ManualClock
from rockdove.core.queue import PhysicalRecord, QueueRecord
from rockdove.store.common.ledger import Ledger
from rockdove.store.memory.store import MemoryStore
from rockdove.store.sqlite.fair import FairQueue
from rockdove.store.sqlite.standard import StandardQueue
from rockdove.store.sqlite.store import SqliteStore
from tests.support.store import Bench, submit

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


def test_what_an_idle_queue_takes_of_the_memory() -> None:
    """In the process that has the store: its record, and what finds it."""
    clock, number = ManualClock(), 5_000
    gc.collect()
    tracemalloc.start()
    try:
        ledger = Ledger(clock)
        directory = Directory(MemoryStore(clock, Random(1)), clock, "us-east-1", cool_down=False)
        before = tracemalloc.get_traced_memory()[0]
        ledger.load(map(record_of, range(number)), [], [], [], [], [])
        directory.load(ledger.snapshot())
        taken = tracemalloc.get_traced_memory()[0] - before
    finally:
        tracemalloc.stop()
    assert len(directory) == number
    assert taken < 700 * number


def record_of(number: int) -> QueueRecord:
    physical = [PhysicalRecord(number, ids.new_prefix())]
    now_us = 1_700_000_000_000_000
    return QueueRecord(
        uid=f"{number:016x}",
        account="0" * 12,
        name=f"a-queue-{number}",
        fifo=False,
        created_us=now_us,
        modified_us=now_us,
        physical=physical,
    )


@pytest.mark.parametrize("fifo", [False, True])
def test_what_is_empty_is_let_go_and_goes_on_with_its_ids(tmp_path: Path, fifo: bool) -> None:
    bench = Bench("sqlite", tmp_path)
    assert isinstance(bench.inner, SqliteStore)
    shelves = bench.inner._shelves
    queue = bench.queue(fifo=fifo)
    options: dict[str, Any] = {"group": "a"} if fifo else {}
    ids_of = queue.send("a", **options)
    shelves.weigh()
    assert len(list(shelves)) == 1
    for id in ids_of:
        queue.remove(id)
    shelves.weigh()
    # The last batch is kept until there is another.
    bench.queue()
    assert len(list(shelves)) == 0
    (again,) = queue.send("b", **options)
    assert again > max(ids_of)
    assert queue.read() == ["b"]
    assert queue.count() == (0, 1, 0)
    bench.close()


def test_a_send_under_way_when_nobody_has_the_queue_any_more(tmp_path: Path) -> None:
    """What lands then is found by who comes next."""
    bench = Bench("sqlite", tmp_path)
    queue = bench.queue()

    async def send() -> None:
        outcome = submit(queue.physical().append, [queue.draft("a")])
        # Nobody but the batch has it now.
        assert queue.physical().hint().next_us is None
        await outcome

    bench.run(send())
    assert queue.read() == ["a"]
    bench.close()


def test_a_queue_with_groups_stays_one(tmp_path: Path) -> None:
    bench = Bench("sqlite", tmp_path)
    assert isinstance(bench.inner, SqliteStore)
    queue = bench.queue()
    (id,) = queue.send("a", group="g")
    queue.remove(id)
    bench.inner._shelves.weigh()
    physical = queue.physical()
    assert isinstance(physical, StandardQueue)
    assert isinstance(physical.kind, FairQueue)
    bench.close()
