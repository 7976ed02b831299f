"""Only so many at once, and all of them in the end."""

import asyncio
from functools import partial

from rockdove.broker.turn import MemoryTurns


def test_so_many_at_once_in_their_order() -> None:
    asyncio.run(_so_many_at_once())


async def _so_many_at_once() -> None:
    turns, started = MemoryTurns(2), list[int]()
    for number in range(5):
        turns.take(partial(started.append, number), "line")
    assert started == [0, 1]
    turns.give()
    await asyncio.sleep(0)
    assert started == [0, 1, 2]
    for _ in range(4):
        turns.give()
    await asyncio.sleep(0)
    assert started == [0, 1, 2, 3, 4]
    turns.take(partial(started.append, 5), "line")
    turns.take(partial(started.append, 6), "line")
    assert started[5:] == [5, 6], "all turns were given back"


def test_who_gives_back_at_once_gives_it_to_all() -> None:
    """However long the line is."""
    asyncio.run(_a_long_line())


async def _a_long_line() -> None:
    turns, started = MemoryTurns(1), list[int]()

    def start(number: int) -> None:
        started.append(number)
        turns.give()

    turns.take(lambda: None, "line")
    for number in range(5_000):
        turns.take(partial(start, number), "line")
    turns.give()
    while len(started) < 5_000:
        await asyncio.sleep(0)
    assert started == [*range(5_000)]


def test_lines_take_turns() -> None:
    asyncio.run(_several_lines())


async def _several_lines() -> None:
    turns, started = MemoryTurns(1), list[str]()
    turns.take(lambda: None, "large")
    for place in [*["large"] * 5, "small", "other"]:
        turns.take(partial(started.append, place), place)
    for _ in range(7):
        turns.give()
        await asyncio.sleep(0)
    assert started == ["large", "small", "other", *["large"] * 4]


def test_who_is_cancelled_gives_his_turn_back() -> None:
    asyncio.run(_cancelled())


async def _cancelled() -> None:
    turns = MemoryTurns(1)
    await turns.turn("a")
    waiting = asyncio.create_task(turns.turn("a"))
    await asyncio.sleep(0)
    waiting.cancel()
    await asyncio.gather(waiting, return_exceptions=True)
    turns.give()
    async with asyncio.timeout(10):
        await turns.turn("a")
