"""What is particular to the memory store; all else is in the contract."""

import asyncio
import time
from collections.abc import Iterator
from pathlib import Path

import pytest

from rockdove.store.common.heap import SLACK
from rockdove.store.memory.past import Past
from rockdove.store.memory.pile import Pile
from tests.support.store import Bench, Queue


@pytest.fixture
def bench(tmp_path: Path) -> Iterator[Bench]:
    bench = Bench("memory", tmp_path)
    yield bench
    bench.close()


def pile_of(queue: Queue) -> Pile:
    record = queue.record
    return Pile(record.physical[0], record.fifo, Past(), queue.bench.clock, queue.bench.rng)


def test_takes_effect_at_once_and_tells_soon(bench: Bench) -> None:
    queue = bench.queue()
    told: list[object] = []

    async def scenario() -> None:
        physical = queue.physical()
        physical.append([queue.draft("a")], told.append)
        assert told == []
        assert physical.hint().may_have_visible(bench.now_us)
        physical.claim(queue.want(), told.append)
        assert not physical.hint().may_have_visible(bench.now_us)
        await asyncio.sleep(0)
        assert len(told) == 2

    bench.run(scenario())


def test_a_store_of_its_own_key(tmp_path: Path) -> None:
    one, other = Bench("memory", tmp_path), Bench("memory", tmp_path)
    assert one.snapshot.secret != other.snapshot.secret
    one.close()
    other.close()


def test_deleted_names_are_not_kept_for_ever(bench: Bench) -> None:
    for _ in range(200):
        bench.queue().drop()
        bench.advance(1)
    bench.reopen()
    assert 60 <= len(bench.snapshot.deleted) <= 61


@pytest.mark.parametrize("fifo", [False, True])
def test_nothing_is_left_of_what_is_gone(bench: Bench, fifo: bool) -> None:
    """Many messages that come and go, by every way out, leave no more behind than a sweep allows."""
    queue = bench.queue(fifo)
    pile = pile_of(queue)
    for number in range(2_000):
        pile.append([queue.draft(str(number), group=f"g{number % 100}") for _ in range(5)])
        for entry in pile.claim(queue.want(5, timeout_s=30)).entries:
            for seconds in (10, 20, 30):
                pile.move(entry.id, bench.now_us + seconds, None)
            pile.remove(entry.id, None)
        if number % 100 == 99:
            bench.advance(100)
            while pile.expire(bench.now_us):
                pass
    assert pile.count().total == 0
    for heap in (pile._in_flight, pile._delayed, pile._ages):
        assert len(heap._places) <= SLACK
    line = pile._line
    for name in ("_lanes", "_groups"):
        assert not getattr(line, name, None)


@pytest.mark.parametrize("fifo", [False, True])
def test_cost_does_not_grow_with_depth(bench: Bench, fifo: bool) -> None:
    """A hundred times the depth, and a turn costs far less than ten times as much."""
    costs = []
    for depth in (1_000, 100_000):
        queue = bench.queue(fifo)
        pile = pile_of(queue)
        pile.append([queue.draft("x", group=f"g{number % 50}" if fifo else None) for number in range(depth)])
        costs.append(min(_turns_s(pile, queue) for _ in range(5)))
    assert costs[1] < 10 * costs[0]


def _turns_s(pile: Pile, queue: Queue) -> float:
    begin = time.process_time()
    for number in range(100):
        pile.append([queue.draft("x", group=f"g{number % 50}" if queue.record.fifo else None)])
        first, *rest = pile.claim(queue.want(3)).entries
        pile.move(first.id, queue.bench.now_us, None)
        for entry in rest:
            pile.remove(entry.id, None)
        pile.count()
    return time.process_time() - begin


def test_cost_of_a_quiet_claim_does_not_grow_with_the_noise(bench: Bench) -> None:
    costs = []
    for depth in (1_000, 100_000):
        queue = bench.queue()
        pile = pile_of(queue)
        pile.append([queue.draft("noise", group="noisy") for _ in range(depth)])
        pile.claim(queue.want(100, timeout_s=10_000))
        pile.append([queue.draft("quiet", group=f"g{number}") for number in range(500)])
        costs.append(min(_claims_s(pile, queue) for _ in range(5)))
    assert costs[1] < 10 * costs[0]


def _claims_s(pile: Pile, queue: Queue) -> float:
    begin = time.process_time()
    for _ in range(10):
        assert [entry.message.text for entry in pile.claim(queue.want(10)).entries] == ["quiet"] * 10
    return time.process_time() - begin


def test_groups_take_turns(bench: Bench) -> None:
    """A group with a backlog does not go before one that has waited for longer since its lock was taken off."""
    queue = bench.queue(fifo=True)
    queue.send(*"0123456789", group="deep")
    bench.advance(1)
    queue.send("other", group="other")
    bench.advance(1)
    served = []
    for _ in range(3):
        (entry,) = queue.take(1)
        served.append(entry.message.text)
        assert queue.remove_held(entry)
        bench.advance(1)
    assert served == ["0", "other", "1"]


def test_physical_queue_before_its_record(bench: Bench) -> None:
    """A new number can be used before the queue's record is put, and it is the same queue then."""
    queue = bench.queue()
    queue.record.physical += bench.reserve()
    queue.send("early", at=1)
    bench.put_queue(queue.record)
    assert queue.read(at=1) == ["early"]
