"""Calls made without waiting for each other: whatever the order, every message is given exactly once."""

import asyncio
from collections import Counter
from typing import Any

import pytest

from rockdove.store.base import Claimed
from tests.support.store import Bench, Queue, bodies, call, submit


async def gather(*outcomes: "asyncio.Future[Any]") -> list[Any]:
    return [await asyncio.wait_for(outcome, 10) for outcome in outcomes]


@pytest.mark.parametrize("fifo", [False, True])
def test_outcomes_come_in_the_order_of_appends(bench: Bench, fifo: bool) -> None:
    queue = bench.queue(fifo)

    async def scenario() -> list[list[Any]]:
        physical = queue.physical()
        return await gather(
            *(submit(physical.append, [queue.draft(str(number), group="g" if fifo else None)]) for number in range(100))
        )

    appended = [new.id for batch in bench.run(scenario()) for new in batch]
    assert appended == sorted(set(appended))
    assert queue.read(100) == [str(number) for number in range(100)]


@pytest.mark.parametrize("group", [None, "g"], ids=["plain", "grouped"])
def test_two_claims_at_once_share_nothing(bench: Bench, queue: Queue, group: str | None) -> None:
    queue.send(*(str(number) for number in range(100)), group=group)

    async def scenario() -> list[Claimed]:
        physical = queue.physical()
        return await gather(*(submit(physical.claim, queue.want(10)) for _ in range(12)))

    got = [bodies(claimed.entries) for claimed in bench.run(scenario())]
    assert all(sorted(taken, key=int) == taken for taken in got)
    # No claim need be before another: a block each, and none twice.
    assert sorted(int(body) for taken in got for body in taken) == list(range(100))


def test_two_claims_at_once_do_not_share_a_group(bench: Bench, fifo: Queue) -> None:
    fifo.send("a1", "a2", group="a")
    fifo.send("b1", "b2", group="b")

    async def scenario() -> list[Claimed]:
        physical = fifo.physical()
        return await gather(*(submit(physical.claim, fifo.want(1)) for _ in range(4)))

    assert [bodies(claimed.entries) for claimed in bench.run(scenario())] == [["a1"], ["b1"], [], []]


@pytest.mark.parametrize("fifo", [False, True])
def test_append_claim_remove_at_once(bench: Bench, fifo: bool) -> None:
    queue = bench.queue(fifo)
    first = queue.send("a", group="g" if fifo else None)[0]

    async def scenario() -> list[Any]:
        physical = queue.physical()
        appended = submit(physical.append, [queue.draft("b", group="h" if fifo else None)])
        claimed = submit(physical.claim, queue.want(10))
        removed = submit(physical.remove, first, None)
        again = submit(physical.remove, first, None)
        count = submit(physical.count)
        return await gather(appended, claimed, removed, again, count)

    appended, claimed, removed, again, counts = bench.run(scenario())
    assert "a" in bodies(claimed.entries)
    assert (removed, again) == (True, False)
    assert counts.total == 1
    # A claim may come too early for a message that was not yet done; then it is still there.
    got = bodies(claimed.entries) + queue.read()
    assert sorted(got) == ["a", "b"]
    assert len(appended) == 1


@pytest.mark.parametrize("fifo", [False, True])
def test_claim_move_release_at_once(bench: Bench, fifo: bool) -> None:
    queue = bench.queue(fifo)
    for body in "abc":
        queue.send(body, group=body if fifo else None)
    a, b, c = queue.take(3)

    async def scenario() -> list[Any]:
        physical = queue.physical()
        moved = submit(physical.move, a.id, bench.now_us, None)
        released = submit(physical.release, [b])
        removed = submit(physical.remove, c.id, None)
        late = submit(physical.move, c.id, bench.now_us + 5, None)
        return await gather(moved, released, removed, late)

    assert bench.run(scenario()) == [True, None, True, False]
    assert queue.count() == (2, 0, 0)
    assert sorted((entry.message.text, entry.receive_count) for entry in queue.take()) == [("a", 2), ("b", 1)]


@pytest.mark.parametrize("group", [None, "g"], ids=["plain", "grouped"])
def test_claims_while_a_deep_queue_grows(bench: Bench, queue: Queue, group: str | None) -> None:
    """Five thousand in one go, claimed by the hundred with sends in between, after a start that has nothing cached."""
    total = 7_000

    async def fill() -> None:
        physical = queue.physical()
        await asyncio.gather(
            *(
                submit(physical.append, [queue.draft(str(number), group=group) for number in range(at, at + 10)])
                for at in range(0, 5_000, 10)
            )
        )

    bench.run(fill())
    bench.reopen()

    async def drain() -> list[str]:
        physical = queue.physical()
        got: list[str] = []
        sent = 5_000
        while len(got) < total:
            calls = [submit(physical.claim, queue.want(100)) for _ in range(2)]
            sends = []
            if sent < total:
                drafts = [queue.draft(str(number), group=group) for number in range(sent, sent + 50)]
                sends.append(submit(physical.append, drafts))
                sent += 50
            both: list[str] = []
            for claimed in await gather(*calls):
                taken = bodies(claimed.entries)
                assert sorted(taken, key=int) == taken
                assert taken or sends or len(got) + len(both) == total
                both += taken
            # Either of the two may have been the first.
            got += sorted(both, key=int)
            removed = [submit(physical.remove, entry.id, None) for entry in claimed.entries[::3]]
            assert all(await gather(*removed))
            await gather(*sends)
        return got

    got = bench.run(asyncio.wait_for(drain(), 50))
    assert Counter(got) == Counter(str(number) for number in range(total))
    assert sorted(got[:4_000], key=int) == got[:4_000]


def test_delayed_and_returning_ones_in_a_deep_queue(bench: Bench, queue: Queue) -> None:
    """Entries that move behind, into and before what a store may have cached, while it is read."""
    for start in range(0, 6_000, 500):
        queue.append([queue.draft(str(number), delay_s=number % 5) for number in range(start, start + 500)])
    bench.reopen()
    bench.advance(5)
    seen: Counter[str] = Counter()
    gone: set[int] = set()

    async def turn() -> None:
        physical = queue.physical()
        claimed = await call(physical.claim, queue.want(97, timeout_s=7))
        pending = []
        for place, entry in enumerate(claimed.entries):
            assert entry.id not in gone
            if place % 3 == 2 and entry.receive_count == 1:
                pending.append(submit(physical.move, entry.id, bench.now_us + place % 4 * 1_000_000, None))
            else:
                pending.append(submit(physical.remove, entry.id, None))
                gone.add(entry.id)
                seen[entry.message.text] += 1
        pending.append(submit(physical.claim, queue.want(1, timeout_s=0)))
        *outcomes, _ = await gather(*pending)
        assert all(outcomes)

    for _ in range(200):
        bench.run(turn())
        bench.advance(0.25)
        if len(gone) == 6_000:
            break
    bench.advance(100)
    while queue.count() != (0, 0, 0):
        bench.run(turn())
        bench.advance(10)
    assert seen == Counter(str(number) for number in range(6_000))


def test_fifo_workers(bench: Bench, fifo: Queue) -> None:
    """Several workers on many groups: each group in order, each message once."""
    total = 600
    done: dict[str, list[int]] = {}

    async def worker() -> None:
        physical = fifo.physical()
        while sum(map(len, done.values())) < total:
            claimed = await call(physical.claim, fifo.want(3))
            for entry in claimed.entries:
                group, number = entry.message.text.split()
                done.setdefault(group, []).append(int(number))
                assert await call(physical.remove, entry.id, entry.receive_count)
            await asyncio.sleep(0)

    async def producer() -> None:
        physical = fifo.physical()
        for number in range(total // 20):
            drafts = [fifo.draft(f"{group} {number}", group=f"g{group}") for group in range(20)]
            await call(physical.append, drafts)

    async def scenario() -> None:
        await asyncio.wait_for(asyncio.gather(producer(), *(worker() for _ in range(5))), 50)

    bench.run(scenario())
    assert len(done) == 20
    assert all(numbers == list(range(total // 20)) for numbers in done.values())
    assert fifo.count() == (0, 0, 0)


def test_an_exception_in_done_harms_nobody(bench: Bench, queue: Queue) -> None:
    class Oops(Exception):
        pass

    def fail(result: object) -> None:
        raise Oops

    caught: list[object] = []
    handler = bench.loop.get_exception_handler()
    bench.loop.set_exception_handler(lambda loop, context: caught.append(context.get("exception")))

    async def scenario() -> list[Any]:
        physical = queue.physical()
        before = submit(physical.append, [queue.draft("a")])
        physical.append([queue.draft("b")], fail)
        after = submit(physical.append, [queue.draft("c")])
        return await gather(before, after)

    bench.run(scenario())
    bench.loop.set_exception_handler(handler)
    assert [type(error) for error in caught] == [Oops]
    assert queue.read() == ["a", "b", "c"]
