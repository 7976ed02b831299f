"""The directory of segments, over a session that answers when it is told to."""

import asyncio
from typing import Any

from rockdove.core.clock import SECOND_US, SystemClock
from rockdove.store.cassandra import schema
from rockdove.store.cassandra.index.directory import Directory
from rockdove.store.cassandra.index.entry import Kind
from rockdove.store.common.tasks import Tasks


class Session:
    """Keeps segments; an opening is applied at once, and answered when `answer` is set."""

    front_end = "one"
    troubled_s = 0.0

    def __init__(self) -> None:
        self.answer = asyncio.Event()
        self.opened: list[tuple[Any, ...]] = []

    async def ask_serial(self, statement: str, *values: Any) -> list[tuple[Any, ...]]:
        return []

    async def ask_agreed_batch(self, statements: list[tuple[str, tuple[Any, ...]]]) -> list[tuple[Any, ...]]:
        _, kind, from_us, number, owner, made_us = statements[1][1]
        self.opened.append((kind, from_us, number, owner, made_us, None, None, None))
        await self.answer.wait()
        return [(True,)]

    async def ask(self, statement: str, *values: Any) -> list[tuple[Any, ...]]:
        if statement != schema.READ_SEGMENTS:
            return []
        return [row[1:] for row in self.opened if row[0] == values[1]]


def test_a_look_that_sees_a_segment_before_its_opening_is_answered() -> None:
    async def work() -> None:
        clock, session, tasks = SystemClock(), Session(), Tasks(asyncio.get_running_loop())
        directory = Directory("q", session, clock, tasks, lambda segment: None, lambda segment: None)  # type: ignore[arg-type]
        visible_us = clock.now_us() + 600 * SECOND_US
        begun = asyncio.ensure_future(directory.begin(Kind.HELD, [visible_us]))
        while not session.opened:
            await asyncio.sleep(0)
        await directory.look(everything=True)
        assert len(directory.unknown) == 1
        session.answer.set()
        [(filling, _)] = await begun
        # What is in it, this front-end has put there.
        assert len(directory.unknown) == 0
        assert directory.segments == {filling.segment.number: filling.segment}
        assert filling.segment.is_final
        assert directory.numbers[Kind.HELD] == 1

    asyncio.run(work())
