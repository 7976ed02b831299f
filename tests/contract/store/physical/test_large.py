"""Large messages: a receive costs what it gives, not what else is in the queue."""

import asyncio

import pytest

from rockdove.core.message import Attribute, Extra
from tests.support.store import Bench, Queue, bodies, submit

MEGABYTE = 1024 * 1024


def large(number: int) -> str:
    return f"{number:05d}" + "x" * (MEGABYTE - 5)


def test_ten_of_the_largest_come_at_once(bench: Bench, queue: Queue) -> None:
    for number in range(0, 40, 10):
        queue.send(*(large(n) for n in range(number, number + 10)))
    if bench.kind == "sqlite":
        bench.reopen()
    got = [entry.message.text[:5] for _ in range(4) for entry in queue.take(10)]
    assert got == [f"{n:05d}" for n in range(40)]
    assert queue.count() == (0, 40, 0)


def test_claims_that_come_while_more_is_fetched_are_not_sent_away(bench: Bench, queue: Queue) -> None:
    for number in range(0, 30, 10):
        queue.send(*(large(n) for n in range(number, number + 10)))
    if bench.kind == "sqlite":
        bench.reopen()

    async def at_once() -> list[str]:
        physical = queue.physical()
        claims = [submit(physical.claim, queue.want(2)) for _ in range(15)]
        await asyncio.wait(claims)
        return [body[:5] for claim in claims for body in bodies(claim.result().entries)]

    got = bench.run(at_once())
    assert len(got) == len(set(got))
    # Each has got something, as long as there was something.
    assert len(got) >= 15


LARGE = Extra(attributes={"a": Attribute("String", "x" * 1_000_000)})


def test_attributes_are_as_large_as_bodies(bench: Bench, queue: Queue) -> None:
    """What a store reads ahead, also after it was opened again, is bounded by all that a message has."""
    for number in range(40):
        queue.append([queue.draft(str(number), extra=LARGE)])
    if bench.durable:
        bench.reopen()
    got = [body for _ in range(40) for body in queue.read(1)]
    assert got == [str(number) for number in range(40)]


@pytest.mark.parametrize("kind", ["plain", "fair", "fifo"])
def test_few_large_dead_ones_at_a_time(bench: Bench, kind: str) -> None:
    """They are moved in one step, for which everybody waits."""
    queue = bench.queue(fifo=kind == "fifo")
    for number in range(12):
        # In groups of their own: a dead one holds its group back.
        extra = Extra(attributes=LARGE.attributes, group_id=None if kind == "plain" else f"group {number}")
        queue.append([queue.draft(str(number), extra=extra)])
    assert sum(len(queue.take(12, timeout_s=1)) for _ in range(12)) == 12
    bench.advance(1)
    found: set[str] = set()
    while claimed := queue.claim(1, timeout_s=60, max_receives=1).dead:
        assert bench.kind == "memory" or len(claimed) <= 4
        found |= set(bodies(claimed))
    assert len(found) == 12
