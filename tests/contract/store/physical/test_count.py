"""Counts are exact at every moment."""

import pytest

from tests.support.store import Bench, Queue


def test_through_a_life(bench: Bench, queue: Queue) -> None:
    assert queue.count() == (0, 0, 0)
    queue.send("a", "b")
    queue.send("c", delay_s=10)
    assert queue.count() == (2, 0, 1)
    a, b = queue.take(timeout_s=5)
    assert queue.count() == (0, 2, 1)
    bench.advance(4.999999)
    assert queue.count() == (0, 2, 1)
    bench.advance(0.000001)
    assert queue.count() == (2, 0, 1)
    bench.advance(4.999999)
    assert queue.count() == (2, 0, 1)
    bench.advance(0.000001)
    assert queue.count() == (3, 0, 0)
    assert queue.remove(a.id)
    assert queue.count() == (2, 0, 0)
    queue.take(timeout_s=10)
    assert queue.count() == (0, 2, 0)
    assert queue.move(b, 20)
    bench.advance(10)
    assert queue.count() == (1, 1, 0)
    assert queue.remove(b.id)
    assert queue.count() == (1, 0, 0)


def test_within_one_second(bench: Bench, queue: Queue) -> None:
    for number in range(10):
        queue.send(str(number), delay_s=1 + number / 10)
    for number in range(30):
        bench.advance(0.1)
        visible = min(max(number - 8, 0), 10)
        assert queue.count() == (visible, 0, 10 - visible)


def test_in_flight_within_one_second(bench: Bench, queue: Queue) -> None:
    queue.send(*"0123456789")
    for number in range(10):
        queue.take(1, timeout_s=1 + number / 10)
    assert queue.count() == (0, 10, 0)
    for number in range(30):
        bench.advance(0.1)
        visible = min(max(number - 8, 0), 10)
        assert queue.count() == (visible, 10 - visible, 0)


def test_removing_what_has_become_visible(bench: Bench, queue: Queue) -> None:
    ids = queue.send("a", "b", "c", delay_s=0.5)
    bench.advance(0.7)
    assert queue.remove(ids[0])
    assert queue.count() == (2, 0, 0)
    bench.advance(100)
    assert queue.remove(ids[1])
    assert queue.count() == (1, 0, 0)
    queue.take(timeout_s=0.1)
    bench.advance(1_000)
    assert queue.remove(ids[2])
    assert queue.count() == (0, 0, 0)


def test_after_reopening(bench: Bench, queue: Queue) -> None:
    queue.send("visible", "taken")
    queue.take(1, timeout_s=30.5)
    queue.send("delayed", delay_s=60)
    bench.reopen()
    assert queue.count() == (1, 1, 1)
    bench.advance(30.499999)
    assert queue.count() == (1, 1, 1)
    bench.advance(0.000001)
    assert queue.count() == (2, 0, 1)
    bench.reopen()
    assert queue.count() == (2, 0, 1)
    bench.advance(100)
    assert queue.count() == (3, 0, 0)
    assert len(queue.take()) == 3
    assert queue.count() == (0, 3, 0)


@pytest.mark.parametrize("groups", [[None], ["g"], [None, "g", "h"]], ids=["plain", "grouped", "mixed"])
def test_with_groups(bench: Bench, queue: Queue, groups: list[str | None]) -> None:
    for number in range(30):
        queue.send(str(number), group=groups[number % len(groups)], delay_s=number % 2 * 10)
    assert queue.count() == (15, 0, 15)
    claimed = queue.take(10, timeout_s=20)
    assert queue.count() == (5, 10, 15)
    assert queue.remove(claimed[0].id)
    assert queue.move(claimed[1], 0)
    queue.release(claimed[2])
    assert queue.count() == (7, 7, 15)
    bench.advance(10)
    assert queue.count() == (22, 7, 0)
    bench.advance(10)
    assert queue.count() == (29, 0, 0)


def test_from_plain_to_grouped(bench: Bench, queue: Queue) -> None:
    """The first message with a group comes when there are others already, in every state."""
    queue.send("visible", "taken")
    (taken,) = queue.take(1, timeout_s=20)
    queue.send("delayed", delay_s=10)
    queue.send("grouped", group="g")
    assert queue.count() == (2, 1, 1)
    bench.advance(10)
    assert queue.read(10, timeout_s=100) == ["taken", "grouped", "delayed"]
    assert queue.count() == (0, 4, 0)
    assert queue.remove(taken.id)
    bench.advance(100)
    assert queue.count() == (3, 0, 0)


def test_many(bench: Bench, queue: Queue) -> None:
    for number in range(10):
        queue.send(*"x" * 500, delay_s=number * 10)
    for number in range(10):
        assert queue.count() == (500 * (number + 1), 0, 500 * (9 - number))
        bench.advance(10)
