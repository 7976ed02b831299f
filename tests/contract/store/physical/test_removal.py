"""Removing: by handle, by retention at a claim, by retention in the background."""

import pytest

from tests.support.store import Bench, Queue, bodies


def test_remove(bench: Bench, queue: Queue) -> None:
    queue.send("a", "b")
    (entry,) = queue.take(1)
    assert queue.remove(entry.id)
    assert not queue.remove(entry.id)
    bench.advance(100)
    assert queue.read() == ["b"]


def test_remove_in_any_state(bench: Bench, queue: Queue) -> None:
    (visible,) = queue.send("visible")
    (delayed,) = queue.send("delayed", delay_s=10)
    assert queue.remove(visible)
    assert queue.remove(delayed)
    bench.advance(100)
    assert queue.read() == []
    assert queue.count() == (0, 0, 0)


def test_an_older_handle_still_removes(bench: Bench, queue: Queue) -> None:
    queue.send("a")
    (old,) = queue.take(timeout_s=10)
    bench.advance(10)
    queue.take(timeout_s=10)
    assert queue.remove(old.id)
    assert queue.count() == (0, 0, 0)
    bench.advance(10)
    assert queue.read() == []


def test_what_never_was(queue: Queue, fifo: Queue) -> None:
    for some in (queue, fifo):
        (id,) = some.send("a", group="g" if some is fifo else None)
        assert not some.remove(id + 1)
        assert not some.remove(id + 1, 1)
        assert some.count() == (1, 0, 0)


@pytest.mark.parametrize("fifo", [False, True])
def test_expired_messages_are_not_claimed(bench: Bench, fifo: bool) -> None:
    queue = bench.queue(fifo)
    queue.send("old", "old too", group="g" if fifo else None)
    bench.advance(50)
    queue.send("young", group="g" if fifo else None)
    bench.advance(10)
    # Sent exactly sixty seconds ago is not yet before.
    assert queue.read(1, retention_s=60, timeout_s=0) == ["old"]
    bench.advance(0.000001)
    assert queue.read(retention_s=60) == ["young"]
    # They are removed, not only passed over.
    assert queue.count() == (0, 1, 0)
    assert bodies(queue.peek()) == ["young"]


@pytest.mark.parametrize("fifo", [False, True])
def test_only_expired_messages(bench: Bench, fifo: bool) -> None:
    queue = bench.queue(fifo)
    queue.send(*(str(number) for number in range(50)), group="g" if fifo else None)
    bench.advance(61)
    for _ in range(50):
        claimed = queue.claim(retention_s=60)
        assert (claimed.entries, claimed.dead) == ([], [])
    assert queue.count() == (0, 0, 0)


@pytest.mark.parametrize("fifo", [False, True])
def test_a_living_message_behind_many_expired_ones(bench: Bench, fifo: bool) -> None:
    """However many are removed on the way: no empty answer while there is something to give."""
    queue = bench.queue(fifo)
    queue.send(*(str(number) for number in range(500)), group="g" if fifo else None)
    bench.advance(61)
    queue.send("living", group="g" if fifo else None)
    assert queue.read(1, retention_s=60) == ["living"]
    assert queue.count() == (0, 1, 0)


@pytest.mark.parametrize("groups", [7, 100])
def test_a_living_message_behind_many_expired_ones_with_groups(bench: Bench, queue: Queue, groups: int) -> None:
    for number in range(100):
        queue.send(str(number), group=f"g{number % groups}" if number % 2 else None)
    bench.advance(61)
    queue.send("living", group="g1")
    assert queue.read(1, retention_s=60) == ["living"]
    assert queue.count() == (0, 1, 0)


@pytest.mark.parametrize("fifo", [False, True])
def test_remove_all(bench: Bench, fifo: bool) -> None:
    queue = bench.queue(fifo)
    ids = queue.send(*"abcdef", group="g" if fifo else None)
    queue.take(2, timeout_s=10)
    assert queue.remove_all(ids[0], ids[3], ids[3] + 1_000) == [True, True, False]
    assert queue.remove_all(ids[0], ids[3]) == [False, False]
    assert queue.remove_all() == []
    assert queue.count() == (3, 1, 0)
    bench.advance(10)
    assert sorted(queue.read()) == ["b", "c", "e", "f"]


def test_remove_all_with_groups(bench: Bench, queue: Queue) -> None:
    ids = [*queue.send("a", "b", group="g"), *queue.send("c", "d")]
    assert queue.remove_all(ids[1], ids[2]) == [True, True]
    assert queue.read() == ["a", "d"]


@pytest.mark.parametrize(("fifo", "group"), [(False, None), (False, "g"), (True, "g")])
def test_remove_all_names_one_twice(bench: Bench, fifo: bool, group: str | None) -> None:
    """What is left is counted and given out as before."""
    queue = bench.queue(fifo)
    id, *_ = queue.send("a", "b", group=group)
    assert queue.remove_all(id, id) == [True, False]
    assert queue.count() == (1, 0, 0)
    assert queue.read() == ["b"]


@pytest.mark.parametrize("fifo", [False, True])
def test_expire(bench: Bench, fifo: bool) -> None:
    queue = bench.queue(fifo)
    for body in ("taken", "waiting"):
        queue.send(body, group=body if fifo else None)
    assert len(queue.take(1, timeout_s=1_000)) == 1
    bench.advance(60)
    queue.send("young", group="young" if fifo else None)
    assert queue.expire(60) == 0
    bench.advance(0.000001)
    assert queue.expire(60) == 2
    assert queue.expire(60) == 0
    assert queue.count() == (1, 0, 0)
    assert queue.read() == ["young"]


def test_expire_delayed(bench: Bench, queue: Queue) -> None:
    queue.send("delayed", delay_s=900)
    bench.advance(61)
    assert queue.expire(60) == 1
    assert queue.count() == (0, 0, 0)


@pytest.mark.parametrize("fifo", [False, True])
def test_expire_many_in_steps(bench: Bench, fifo: bool) -> None:
    queue = bench.queue(fifo)
    queue.send(*"x" * 3_500, group="g" if fifo else None)
    bench.advance(61)
    queue.send("young", group="g" if fifo else None)
    removed: list[int] = []
    while not removed or removed[-1]:
        removed.append(queue.expire(60))
    assert sum(removed) == 3_500
    assert max(removed) <= 2_000
    assert queue.count() == (1, 0, 0)
    assert queue.read() == ["young"]


@pytest.mark.parametrize("fifo", [False, True])
def test_expire_finds_old_messages_behind_young_ones(bench: Bench, fifo: bool) -> None:
    """Messages keep their age when they move to a dead-letter queue, so ids there are not in the order of sending."""
    queue = bench.queue(fifo)
    group = "g" if fifo else None
    queue.send(*"x" * 1_500, group=group)
    queue.append([queue.draft("old", group=group, age_s=100, delay_s=100)])
    queue.send("young", group=group)
    removed = 0
    while number := queue.expire(60):
        removed += number
    assert removed == 1
    assert queue.count() == (1_501, 0, 0)


def test_expired_in_flight_does_not_come_back(bench: Bench, queue: Queue) -> None:
    queue.send("a")
    (entry,) = queue.take(timeout_s=100)
    bench.advance(61)
    assert queue.expire(60) == 1
    assert not queue.move(entry, 10)
    assert not queue.remove(entry.id)
    bench.advance(100)
    assert queue.claim().next_us is None
