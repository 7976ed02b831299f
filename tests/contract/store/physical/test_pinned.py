"""What happens to a message while a change of it is still on its way to the disk."""

import asyncio

import pytest

from rockdove.store.base import Claimed
from tests.support.store import Bench, Queue, bodies, submit, us


def test_a_claim_while_the_visibility_is_being_changed(bench: Bench, queue: Queue) -> None:
    (id,) = queue.send("a")
    queue.take(1, timeout_s=10)
    bench.advance(9.99)

    async def race() -> tuple[bool, Claimed]:
        physical = queue.physical()
        moved = submit(physical.move, id, bench.now_us + us(30), None)
        for _ in range(5):
            await asyncio.sleep(0)
        bench.advance(0.02)
        claimed = submit(physical.claim, queue.want(1, timeout_s=3600))
        return await moved, await claimed

    moved, claimed = bench.run(race())
    assert moved
    assert claimed.entries == []
    assert queue.count() == (0, 1, 0)
    bench.advance(30)
    assert bodies(queue.take(1)) == ["a"]
    assert queue.count() == (0, 1, 0)


@pytest.mark.parametrize("pause", range(6))
def test_a_delete_while_the_visibility_is_being_changed(bench: Bench, queue: Queue, pause: int) -> None:
    (id,) = queue.send("a")
    queue.take(1, timeout_s=10)

    async def race() -> None:
        physical = queue.physical()
        moved = submit(physical.move, id, bench.now_us, None)
        for _ in range(pause):
            await asyncio.sleep(0)
        removed = submit(physical.remove, id, None)
        await moved
        assert await removed

    bench.run(race())
    assert queue.read() == []
    assert queue.count() == (0, 0, 0)
    bench.advance(60)
    assert queue.read() == []


def test_a_change_that_comes_too_late_leaves_the_message_where_it_was(bench: Bench, queue: Queue) -> None:
    (id,) = queue.send("a")
    queue.take(1, timeout_s=10)
    bench.advance(11)
    assert not bench.do(queue.physical().move, id, bench.now_us + us(30), 1)
    assert queue.read() == ["a"]
