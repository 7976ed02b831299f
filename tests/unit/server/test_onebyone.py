"""Costly operations: between two of them everybody else has a turn."""

import asyncio

from rockdove.server.onebyone import OneByOne


def test_others_have_a_turn_between_two() -> None:
    async def scenario() -> list[str]:
        done, turns = list[str](), OneByOne()
        loop = asyncio.get_running_loop()

        def neighbour(left: int) -> None:
            done.append("neighbour")
            if left:
                loop.call_soon(neighbour, left - 1)

        for name in "abc":
            turns.start(lambda name=name: done.append(name))  # type: ignore[misc]
        loop.call_soon(neighbour, 2)
        while turns.waiting():
            await asyncio.sleep(0)
        await asyncio.sleep(0)
        return done

    done = asyncio.run(scenario())
    assert [name for name in done if name != "neighbour"] == ["a", "b", "c"]
    # The first begins at once, nothing else has to wait for the rest.
    assert done == ["a", "b", "neighbour", "c", "neighbour", "neighbour"]


def test_what_is_left_at_the_end() -> None:
    async def scenario() -> list[str]:
        done, turns = list[str](), OneByOne()
        for name in "abc":
            turns.start(lambda name=name: done.append(name))  # type: ignore[misc]
        turns.start_all()
        return done

    assert asyncio.run(scenario()) == ["a", "b", "c"]


def test_one_that_fails_does_not_stop_the_others() -> None:
    async def scenario() -> list[str]:
        done, turns, heard = list[str](), OneByOne(), list[object]()
        asyncio.get_running_loop().set_exception_handler(lambda loop, context: heard.append(context))

        def fails() -> None:
            raise ZeroDivisionError

        turns.start(lambda: done.append("first"))
        turns.start(fails)
        turns.start(lambda: done.append("last"))
        while turns.waiting():
            await asyncio.sleep(0)
        assert len(heard) == 1
        return done

    assert asyncio.run(scenario()) == ["first", "last"]
