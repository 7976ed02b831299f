"""How many bytes a gateway holds."""

import asyncio

from rockdove.gateway.budget import Budget


async def turns() -> None:
    for _ in range(5):
        await asyncio.sleep(0)


def test_who_comes_later_waits_his_turn() -> None:
    async def scenario() -> None:
        budget, taken = Budget(10), list[str]()

        async def take(name: str, size: int) -> None:
            await budget.take(size)
            taken.append(name)

        await take("a", 6)
        tasks = [asyncio.ensure_future(take(name, size)) for name, size in (("b", 5), ("c", 4), ("d", 4))]
        await turns()
        # c would have room, but b was there first.
        assert taken == ["a"]
        budget.give(6)
        await turns()
        assert taken == ["a", "b", "c"]
        budget.give(5)
        await asyncio.gather(*tasks)
        assert taken == ["a", "b", "c", "d"]

    asyncio.run(scenario())


def test_who_has_left_takes_nothing() -> None:
    async def scenario() -> None:
        budget = Budget(10)
        await budget.take(10)
        waiting, other = asyncio.ensure_future(budget.take(10)), asyncio.ensure_future(budget.take(10))
        await turns()
        waiting.cancel()
        await turns()
        budget.give(10)
        await other
        budget.give(10)
        # Given, and left in the same turn of the loop.
        await budget.take(10)
        last = asyncio.ensure_future(budget.take(10))
        await turns()
        budget.give(10)
        last.cancel()
        await asyncio.gather(last, return_exceptions=True)
        await budget.take(10)

    asyncio.run(scenario())


def test_more_than_all() -> None:
    async def scenario() -> None:
        budget = Budget(10)
        await budget.take(50)
        waiting = asyncio.ensure_future(budget.take(1))
        await turns()
        assert not waiting.done()
        budget.give(50)
        await waiting

    asyncio.run(scenario())
