"""Standard queues: which entries a claim takes, and in which order."""

from collections import Counter
from itertools import pairwise

import pytest

from tests.support.store import Bench, Queue, bodies


def test_first_sent_first_claimed(queue: Queue) -> None:
    for body in "abcdef":
        queue.send(body)
    assert queue.read(2) == ["a", "b"]
    assert queue.read(3) == ["c", "d", "e"]
    assert queue.read(3) == ["f"]
    assert queue.read(3) == []


def test_by_the_time_they_become_visible(bench: Bench, queue: Queue) -> None:
    queue.send("late", delay_s=20)
    queue.send("soon", delay_s=5)
    queue.send("now")
    bench.advance(30)
    queue.send("last")
    assert queue.read() == ["now", "soon", "late", "last"]


def test_at_the_same_time_by_id(bench: Bench, queue: Queue) -> None:
    queue.send("a", delay_s=10)
    bench.advance(5)
    queue.send("b", delay_s=5)
    bench.advance(5)
    queue.send("c")
    assert queue.read() == ["a", "b", "c"]


def test_one_that_comes_back_goes_behind_those_that_waited(bench: Bench, queue: Queue) -> None:
    queue.send("a", "b")
    assert queue.read(1, timeout_s=10) == ["a"]
    bench.advance(10)
    queue.send("c")
    assert queue.read() == ["b", "a", "c"]


def test_limit(queue: Queue) -> None:
    queue.send(*(str(number) for number in range(150)))
    assert len(queue.take(1)) == 1
    assert len(queue.take(100)) == 100
    assert len(queue.take(100)) == 49


def test_a_claimed_entry_carries_its_claim(bench: Bench, queue: Queue) -> None:
    (id,) = queue.send("a")
    bench.advance(1)
    (first,) = queue.take(timeout_s=30)
    assert first.id == id
    assert first.visible_us == bench.now_us + 30_000_000
    assert (first.receive_count, first.first_received_us) == (1, bench.now_us)
    received_us = bench.now_us
    bench.advance(30)
    (second,) = queue.take(timeout_s=5)
    assert second.visible_us == bench.now_us + 5_000_000
    assert (second.receive_count, second.first_received_us) == (2, received_us)
    # What was handed out does not change behind the receiver's back.
    assert (first.receive_count, first.visible_us) == (1, received_us + 30_000_000)


@pytest.mark.parametrize("group", [None, "g"], ids=["plain", "grouped"])
@pytest.mark.parametrize("fifo", [False, True])
def test_a_claim_tells_its_time(bench: Bench, fifo: bool, group: str | None) -> None:
    queue = bench.queue(fifo)
    for seconds in (1, 2):
        queue.send("a", group=group)
        bench.advance(seconds)
        assert queue.claim(timeout_s=0).claimed_us == bench.now_us


def test_what_is_handed_out_is_the_receivers_own(queue: Queue) -> None:
    queue.send("a")
    (entry,) = queue.take()
    entry.receive_count = 99
    entry.visible_us = 0
    assert queue.count() == (0, 1, 0)
    (peeked,) = queue.peek()
    assert peeked.receive_count == 1
    peeked.receive_count = 98
    assert queue.peek()[0].receive_count == 1


@pytest.mark.parametrize("spread", [2, 5, 40])
@pytest.mark.parametrize("limit", [1, 10])
def test_spread_never_leaves_its_window(queue: Queue, limit: int, spread: int) -> None:
    waiting = queue.send(*(str(number) for number in range(400)))
    while waiting:
        got = [entry.id for entry in queue.take(limit, order_hint=spread)]
        assert len(got) == min(limit, len(waiting))
        assert got == sorted(got)
        assert set(got) <= set(waiting[: limit + spread - 1])
        waiting = [id for id in waiting if id not in got]
    assert queue.take(limit, order_hint=spread) == []


def test_spread_reaches_all_of_its_window(queue: Queue) -> None:
    ids = queue.send(*(str(number) for number in range(8)))
    seen: Counter[int] = Counter()
    for _ in range(200):
        claimed = queue.take(3, order_hint=4)
        seen.update(entry.id for entry in claimed)
        queue.release(*claimed)
        # Back in the order of sending: nothing may have moved for the next round.
        for entry in sorted(queue.take(8, timeout_s=1), key=lambda entry: entry.id):
            queue.move(entry, 0)
    # 600 draws over six places, each expected 100 times.
    assert set(seen) == set(ids[:6])
    assert min(seen.values()) > 50


def test_spread_one_is_exact_order(queue: Queue) -> None:
    ids = queue.send(*(str(number) for number in range(100)))
    assert [entry.id for _ in range(10) for entry in queue.take(10, order_hint=1)] == ids


def test_no_order(queue: Queue) -> None:
    ids = queue.send(*(str(number) for number in range(1_000)))
    draws = [[entry.id for entry in queue.take(10, order_hint=0)] for _ in range(100)]
    assert sorted(id for draw in draws for id in draw) == ids
    # Anything can come first, and what is drawn is in index order.
    assert max(ids.index(draw[-1]) for draw in draws[:20]) > 800
    assert all(first < second for draw in draws for first, second in pairwise(draw))
    assert queue.take(10, order_hint=0) == []


def test_no_order_takes_only_what_is_visible(bench: Bench, queue: Queue) -> None:
    queue.send("later", delay_s=10)
    queue.send("now")
    assert queue.read(10, order_hint=0) == ["now"]
    bench.advance(10)
    assert queue.read(10, order_hint=0) == ["later"]


def test_physical_queues_do_not_see_each_other(bench: Bench) -> None:
    queue = bench.queue(physical=3)
    for at in range(3):
        queue.send(f"{at}a", f"{at}b", at=at)
    assert queue.read(at=1) == ["1a", "1b"]
    assert [queue.count(at) for at in range(3)] == [(2, 0, 0), (0, 2, 0), (2, 0, 0)]
    assert queue.read(at=0) + queue.read(at=2) == ["0a", "0b", "2a", "2b"]


def test_many_physical_queues(bench: Bench) -> None:
    queues = [bench.queue(fifo=number % 2 == 1, physical=10) for number in range(10)]
    places = [(queue, at) for queue in queues for at in range(10)]
    for number, (queue, at) in enumerate(places):
        queue.send(f"first {number}", f"second {number}", at=at, group="g" if queue.record.fifo else None)
    for number, (queue, at) in enumerate(places):
        assert bodies(queue.take(at=at)) == [f"first {number}", f"second {number}"]


def test_a_deep_queue_in_order(queue: Queue) -> None:
    """Deeper than any head that a store may keep at hand, with sends and deletes while it is read."""
    expected = [str(number) for number in range(12_000)]
    for start in range(0, 10_000, 1_000):
        queue.send(*expected[start : start + 1_000])
    received: list[str] = []
    for step in range(120):
        if step < 20:
            queue.send(*expected[10_000 + step * 100 : 10_100 + step * 100])
        for entry in queue.take(100):
            received.append(entry.message.text)
            if entry.id % 7 == 0:
                assert queue.remove(entry.id)
    assert received == expected
    assert queue.take() == []
