"""Moving messages with a store that cannot do it in one step: a crash between the two neither loses nor doubles."""

import asyncio
from collections.abc import Sequence
from random import Random

import pytest

from rockdove.broker.context import Context
from rockdove.broker.directory import Directory
from rockdove.broker.feed import Feed
from rockdove.broker.transfer import transfer
from rockdove.core.clock import ManualClock
from rockdove.core.errors import Fault, StoreError
from rockdove.core.message import Entry
from rockdove.core.queue import QueueRecord
from rockdove.core.receipt import Receipts
from rockdove.store.base import Done, Draft, Page, Want
from rockdove.store.memory.physical import MemoryPhysical
from rockdove.store.memory.store import MemoryStore
from tests.support.store import call, message


class World:
    """Two queues of a store without transfers."""

    def __init__(self) -> None:
        self.clock = ManualClock()
        self.store = MemoryStore(self.clock, Random(1))
        self.store.transfers = None
        directory = Directory(self.store, self.clock, "us-east-1", cool_down=False)
        self.context = Context(self.store, directory, Receipts(b"k" * 32), self.clock)
        self._feed = Feed(self.store.records)

    async def open(self) -> None:
        self._feed.start(await self.store.open(), self.context.directory)
        for name in ("source", "target"):
            record = QueueRecord(
                uid=name.encode().hex().ljust(16, "0")[:16],
                account="0" * 12,
                name=name,
                fifo=False,
                created_us=0,
                modified_us=0,
                physical=await call(self.store.records.reserve, 1, "uid"),
            )
            await call(self.store.records.put_queue, record, 10, self._feed.version)
        self.source = self.context.directory.named("0" * 12, "source")
        self.target = self.context.directory.named("0" * 12, "target")

    async def take(self, number: int) -> list[Entry]:
        claimed = await call(self.source.physical[0].claim, Want(number, 1_000_000))
        entries: list[Entry] = claimed.entries
        return entries

    async def move(self, entries: Sequence[Entry]) -> tuple[Fault | None, int]:
        now_us = self.clock.now_us()
        drafts = [Draft(entry.message, now_us) for entry in entries]
        done: asyncio.Future[tuple[Fault | None, int]] = asyncio.get_running_loop().create_future()
        transfer(
            self.context,
            self.source.physical[0],
            entries,
            self.target,
            drafts,
            lambda fault, number: done.set_result((fault, number)),
        )
        return await done

    async def bodies(self) -> tuple[list[str], list[str]]:
        """In the source, and in the target."""
        found = []
        for queue in (self.source, self.target):
            entries = (await call(self.store.browsing.scan, queue.physical[0], Page(0, 100, 1_000_000))).entries
            found.append([entry.message.text for entry in entries])
        return found[0], found[1]


def test_a_crash_between_append_and_remove(monkeypatch: pytest.MonkeyPatch) -> None:
    async def scenario() -> None:
        world = World()
        await world.open()
        now_us = world.clock.now_us()
        drafts = [Draft(message(body, now_us), now_us) for body in ("a", "b")]
        await call(world.source.physical[0].append, drafts)

        def crash(physical: MemoryPhysical, ids: Sequence[int], done: Done[int]) -> None:
            done(StoreError("killed"))

        with monkeypatch.context() as patch:
            patch.setattr(MemoryPhysical, "remove_all", crash)
            fault, _ = await world.move(await world.take(2))
        assert fault is not None
        assert await world.bodies() == (["a", "b"], ["a", "b"])
        # One of them is consumed before the transfer is tried again.
        claimed = await call(world.target.physical[0].claim, Want(1, 1_000_000))
        await call(world.target.physical[0].remove, claimed.entries[0].id, None)
        world.clock.advance(2)
        assert await world.move(await world.take(2)) == (None, 2)
        assert await world.bodies() == ([], ["b"])

    asyncio.run(scenario())


def test_without_a_crash() -> None:
    async def scenario() -> None:
        world = World()
        await world.open()
        now_us = world.clock.now_us()
        await call(world.source.physical[0].append, [Draft(message("a", now_us), now_us)])
        assert await world.move(await world.take(1)) == (None, 1)
        assert await world.bodies() == ([], ["a"])

    asyncio.run(scenario())
