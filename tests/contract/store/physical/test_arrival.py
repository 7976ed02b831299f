"""Wake-ups: whoever listens to a physical queue is told of what becomes visible, now or later, and of nothing else."""

import pytest

from rockdove.store.base import Draft
from tests.support.store import Bench, Queue

# Number of the physical queue, messages that became visible, when the next does.
Told = list[tuple[int, int, int | None]]


@pytest.fixture
def told(bench: Bench) -> Told:
    heard: Told = []
    bench.store.on_arrival(lambda number, visible, next_us: heard.append((number, visible, next_us)))
    return heard


def listen(queue: Queue) -> int:
    """To its first physical queue: the number."""
    physical = queue.physical()
    queue.bench.run(_soon(lambda: queue.bench.store.listen(physical)))
    return physical.record.number


async def _soon(act: object) -> None:
    assert callable(act)
    act()


def heard(bench: Bench, told: Told) -> Told:
    """All that was told so far: what is on its way arrives with the next answer."""
    bench.do(bench.store.records.catch_up)
    bench.hear()
    found, told[:] = list(told), []
    return found


def test_sends(bench: Bench, queue: Queue, told: Told) -> None:
    number = listen(queue)
    queue.send("a", "b")
    assert heard(bench, told) == [(number, 2, None)]
    queue.send("later", delay_s=10)
    assert heard(bench, told) == [(number, 0, bench.now_us + 10_000_000)]


def test_only_who_listens_is_told(bench: Bench, queue: Queue, told: Told) -> None:
    other = bench.queue()
    queue.send("before")
    number = listen(queue)
    other.send("elsewhere")
    assert heard(bench, told) == []
    queue.send("x")
    assert heard(bench, told) == [(number, 1, None)]
    physical = queue.physical()
    bench.run(_soon(lambda: bench.store.unlisten(physical)))
    queue.send("after")
    assert heard(bench, told) == []


def test_what_is_received_comes_back(bench: Bench, queue: Queue, told: Told) -> None:
    queue.send("a", "b")
    number = listen(queue)
    a, b = queue.take(2, timeout_s=30)
    assert heard(bench, told) == [(number, 0, bench.now_us + 30_000_000)]
    assert queue.move(a, 5)
    assert heard(bench, told) == [(number, 0, bench.now_us + 5_000_000)]
    assert queue.move(a, 0)
    assert heard(bench, told) == [(number, 1, None)]
    queue.release(b)
    assert heard(bench, told) == [(number, 1, None)]


def test_a_delete_frees_a_group(bench: Bench, fifo: Queue, told: Told) -> None:
    fifo.send("a", "b", group="g")
    (a,) = fifo.take(1)
    number = listen(fifo)
    assert fifo.remove_held(a)
    assert [(each, visible > 0) for each, visible, _ in heard(bench, told)] == [(number, True)]


def test_a_transfer_and_a_publication(bench: Bench, queue: Queue, told: Told) -> None:
    source = bench.queue()
    (id,) = source.send("dead")
    number = listen(queue)
    draft: Draft = queue.draft("dead")
    bench.do(bench.transfers.transfer, source.physical(), [id], queue.physical(), [draft])
    assert heard(bench, told) == [(number, 1, None)]


def test_a_consumer_that_gives_its_leases_back(bench: Bench, queue: Queue, told: Told) -> None:
    queue.send("a", "b")
    queue.lease(0)
    number = listen(queue)
    assert queue.give_back() == (1, 2)
    assert heard(bench, told) == [(number, 2, None)]
