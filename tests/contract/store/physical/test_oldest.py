"""When the oldest message was sent, whatever has become of it since, and how many were too old."""

import pytest

from tests.support.store import Bench, Queue


@pytest.fixture(params=["standard", "fair", "fifo"])
def kind(request: pytest.FixtureRequest) -> str:
    name: str = request.param
    return name


@pytest.fixture
def queue(kind: str, bench: Bench) -> Queue:
    return bench.queue(fifo=kind == "fifo")


@pytest.fixture
def group(kind: str) -> str | None:
    """A group makes a standard queue a fair one."""
    return None if kind == "standard" else "g"


def test_there_is_none(queue: Queue) -> None:
    assert queue.oldest() is None


def test_it_is_the_first_that_is_left(bench: Bench, queue: Queue, group: str | None) -> None:
    ids = []
    for _ in range(3):
        ids += queue.send("a", group=group)
        bench.advance(10)
    assert queue.oldest() == 30
    queue.remove(ids[1])
    assert queue.oldest() == 30
    queue.remove(ids[0])
    assert queue.oldest() == 10
    queue.remove(ids[2])
    assert queue.oldest() is None


def test_also_in_flight_or_delayed(bench: Bench, queue: Queue, group: str | None) -> None:
    queue.send("a", group=group, delay_s=100)
    bench.advance(10)
    queue.send("b", group=group and "h")
    assert queue.oldest() == 10
    queue.take()
    bench.advance(10)
    assert queue.oldest() == 20


def test_messages_that_came_late_are_as_old_as_they_are(bench: Bench, queue: Queue, group: str | None) -> None:
    queue.send("a", group=group, age_s=5)
    (late,) = queue.send("late", group=group, age_s=100)
    queue.send("b", group=group)
    queue.send("late, but not so much", group=group, age_s=50)
    assert queue.oldest() == 100
    queue.remove(late)
    assert queue.oldest() == 50


def test_after_a_restart_with_late_ones_only(bench: Bench, queue: Queue, group: str | None) -> None:
    (first,) = queue.send("a", group=group)
    queue.send("late", group=group, age_s=50)
    queue.remove(first)
    bench.reopen()
    assert queue.oldest() == 50
    queue.send("older still", group=group, age_s=100)
    assert queue.oldest() == 100


def test_queues_beside_it_do_not_matter(bench: Bench, queue: Queue, group: str | None) -> None:
    beside = [bench.queue(), bench.queue()]
    for other in beside:
        other.send("old", age_s=1_000)
        other.send("late", age_s=2_000)
    assert queue.oldest() is None
    queue.send("a", group=group, age_s=3)
    assert queue.oldest() == 3


def test_a_purged_queue_has_none(bench: Bench, queue: Queue, group: str | None) -> None:
    queue.send("a", group=group)
    queue.purge()
    assert queue.oldest() is None


def test_a_claim_tells_which_it_found_too_old(bench: Bench, queue: Queue, group: str | None) -> None:
    for number in range(5):
        queue.send(str(number), group=group and f"g{number}")
    ids = {entry.id for entry in queue.peek()}
    bench.advance(100)
    assert queue.claim(retention_s=200).expired == []
    bench.advance(100)
    assert set(queue.claim(retention_s=60).expired) == ids
    assert queue.claim(retention_s=60).expired == []
    assert queue.count() == (0, 0, 0)


def test_however_many_there_are_before_the_first_that_is_not(bench: Bench, queue: Queue, group: str | None) -> None:
    """More than any store looks at in one step."""
    for _ in range(6):
        queue.send(*"x" * 500, group=group)
    bench.advance(100)
    queue.send("new", group=group)
    expired = 0
    while not (claimed := queue.claim(retention_s=60)).entries:
        expired += len(claimed.expired)
    assert (expired + len(claimed.expired), queue.count()) == (3_000, (0, 1, 0))
