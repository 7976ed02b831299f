"""What can be asked without changing anything: one entry by id, and the cheap bounds that policies ask for."""

import pytest

from tests.support.store import Bench, Queue


@pytest.mark.parametrize("fifo", [False, True])
def test_find(bench: Bench, fifo: bool) -> None:
    queue = bench.queue(fifo)
    (id,) = queue.send("a", group="g" if fifo else None)
    fresh = queue.find(id)
    assert fresh is not None
    assert (fresh.id, fresh.message.text, fresh.receive_count) == (id, "a", 0)
    (claimed,) = queue.take()
    assert queue.find(id) == claimed
    assert queue.find(id + 1) is None
    assert queue.remove(id)
    assert queue.find(id) is None


def test_find_one_that_waits_in_its_group(bench: Bench, fifo: Queue) -> None:
    ids = fifo.send("a", "b", group="g")
    waiting = fifo.find(ids[1])
    assert waiting is not None
    assert (waiting.message.text, waiting.visible_us) == ("b", bench.now_us)


def test_find_gives_a_copy(queue: Queue) -> None:
    (id,) = queue.send("a")
    found = queue.find(id)
    assert found is not None
    found.receive_count = 99
    again = queue.find(id)
    assert again is not None
    assert again.receive_count == 0


@pytest.mark.parametrize("fifo", [False, True])
def test_crowded(bench: Bench, fifo: bool) -> None:
    queue = bench.queue(fifo)
    for number in range(10):
        queue.send(str(number), group=f"g{number}" if fifo else None)
    assert not queue.is_crowded(1)
    claimed = queue.take(4, timeout_s=10)
    assert queue.is_crowded(4)
    assert not queue.is_crowded(5)
    assert queue.remove(claimed[0].id)
    assert queue.move(claimed[1], 0)
    queue.release(claimed[2])
    assert queue.is_crowded(1)
    assert not queue.is_crowded(3)
    bench.reopen()
    assert queue.is_crowded(1)
    bench.advance(20)
    assert not queue.is_crowded(1)


def test_all_physical_queues_together_are_crowded(bench: Bench) -> None:
    queue = bench.queue(physical=2)
    queue.send("a", at=0)
    queue.send("b", "c", at=1)
    assert queue.read(at=0, max_in_flight=2) == ["a"]
    assert queue.read(1, at=1, max_in_flight=2) == ["b"]
    assert queue.claim(at=1, max_in_flight=2).crowded
    assert queue.claim(at=0, max_in_flight=2).crowded
    assert queue.read(at=1, max_in_flight=3) == ["c"]


@pytest.mark.parametrize("fifo", [False, True])
def test_crowded_after_reopening_within_a_second(bench: Bench, fifo: bool) -> None:
    """One that came back a moment before must not be counted off as if it had still been in flight."""
    queue = bench.queue(fifo)
    bench.advance(0.3)
    queue.send("back", group="back" if fifo else None)
    (back,) = queue.take(timeout_s=0)
    queue.send("held", group="held" if fifo else None)
    (held,) = [entry for entry in queue.take(timeout_s=0.1) if entry.id != back.id]
    assert queue.move(held, 30)
    bench.advance(0.2)
    bench.reopen()
    assert queue.remove(back.id)
    assert queue.count() == (0, 1, 0)
    assert queue.is_crowded(1)


@pytest.mark.parametrize("fifo", [False, True])
def test_next_visible_us(bench: Bench, fifo: bool) -> None:
    queue = bench.queue(fifo, attributes={"DelaySeconds": "10"})
    assert queue.hint().next_us is None
    queue.send("a", group="g" if fifo else None)
    due_us = bench.now_us + 10_000_000
    next_us = queue.hint().next_us
    assert next_us is not None
    assert next_us <= due_us
    bench.reopen()
    next_us = queue.hint().next_us
    assert next_us is not None
    assert next_us <= due_us
    bench.advance(10)
    (entry,) = queue.take(timeout_s=30)
    next_us = queue.hint().next_us
    assert next_us is not None
    assert next_us <= bench.now_us + 30_000_000
    assert queue.remove(entry.id)
    assert queue.claim().next_us is None
    assert queue.hint().next_us is None


def test_next_visible_us_of_a_standard_queue_is_near(bench: Bench, queue: Queue) -> None:
    """A wake-up that comes much too early would come again and again."""
    queue.send("a", delay_s=10)
    assert queue.hint().next_us == bench.now_us + 10_000_000
    bench.advance(10)
    queue.take(timeout_s=30)
    assert queue.hint().next_us == bench.now_us + 30_000_000
