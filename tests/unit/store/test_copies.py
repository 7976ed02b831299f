"""Promises that copies must have: they wait together, and each hears what became of it."""

import asyncio
from collections.abc import Awaitable, Callable, Sequence
from typing import cast

from rockdove.core.errors import StoreError, StoreInterrupted
from rockdove.store.redis.connection import Answered, Connection, Reply, Word
from rockdove.store.redis.copies import PATIENCE_MS, SHORT_MS, Copies


class Line:
    """A connection whose answers the test gives."""

    def __init__(self) -> None:
        self.is_open = True
        self.said: list[Sequence[Word]] = []
        self._pending: list[Answered] = []

    def call(self, words: Sequence[Word], answered: Answered) -> None:
        assert self.is_open
        self.said.append(words)
        self._pending.append(answered)

    def answer(self, *replies: Reply) -> None:
        for reply in replies:
            self._pending.pop(0)(reply)

    def lose(self) -> None:
        self.is_open = False
        pending, self._pending = self._pending, []
        for answered in pending:
            answered(StoreInterrupted("lost"))

    @property
    def waits(self) -> list[Sequence[Word]]:
        return [words for words in self.said if words[0] == "WAIT"]


class Bench:
    def __init__(self) -> None:
        self.line = Line()
        self.is_short = False
        self.told: dict[int, tuple[Reply, Reply]] = {}
        loop = asyncio.get_running_loop()
        self._copies = Copies(cast(Connection, self.line), loop, 1, lambda: self.is_short)

    def promise(self, *numbers: int) -> None:
        for number in numbers:

            def done(said: Reply, copied: Reply, number: int = number) -> None:
                self.told[number] = (said, copied)

            self._copies.call(("FCALL", number), done)


def with_bench(scenario: Callable[[Bench], Awaitable[None]]) -> None:
    async def run() -> None:
        await scenario(Bench())

    asyncio.run(run())


def test_those_of_one_moment_wait_together() -> None:
    async def scenario(bench: Bench) -> None:
        bench.promise(*range(30))
        await asyncio.sleep(0)
        assert bench.line.waits == [("WAIT", 1, PATIENCE_MS)]
        bench.line.answer(*(f"ok {number}" for number in range(30)))
        assert not bench.told
        bench.line.answer(1)
        assert bench.told == {number: (f"ok {number}", 1) for number in range(30)}

    with_bench(scenario)


def test_those_that_come_meanwhile_wait_together_after_it() -> None:
    async def scenario(bench: Bench) -> None:
        bench.promise(0)
        await asyncio.sleep(0)
        bench.promise(1, 2)
        await asyncio.sleep(0)
        bench.promise(3)
        assert len(bench.line.waits) == 1
        # Too few copies: those that come after it are not to be held up for as long.
        bench.is_short = True
        bench.line.answer("ok", 0)
        assert bench.told == {0: ("ok", 0)}
        assert bench.line.waits[1:] == [("WAIT", 1, SHORT_MS)]
        bench.line.answer("ok", "ok", "ok", 1)
        assert set(bench.told) == {0, 1, 2, 3}
        bench.promise(4)
        await asyncio.sleep(0)
        assert len(bench.line.waits) == 3

    with_bench(scenario)


def test_all_hear_that_the_connection_is_lost() -> None:
    async def scenario(bench: Bench) -> None:
        bench.promise(0)
        await asyncio.sleep(0)
        bench.promise(1)
        bench.line.answer("ok")
        bench.line.lose()
        await asyncio.sleep(0)
        assert set(bench.told) == {0, 1}
        assert all(isinstance(copied, StoreError) for _, copied in bench.told.values())

    with_bench(scenario)


def test_a_connection_that_is_lost_before_anybody_waits() -> None:
    async def scenario(bench: Bench) -> None:
        bench.promise(0)
        bench.line.lose()
        await asyncio.sleep(0)
        assert isinstance(bench.told[0][1], StoreError)

    with_bench(scenario)
