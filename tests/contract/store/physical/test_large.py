"""Large messages: a receive costs what it gives, not what else is in the queue."""

import asyncio

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
