"""Several stores on one keyspace of Cassandra, in one process: front-ends whose clocks can differ."""

import asyncio
import time
from collections.abc import Awaitable, Callable, Sequence
from random import Random
from typing import Any, TypeVar

from rockdove.core.clock import Clock, ManualClock, SystemClock
from rockdove.core.message import Entry
from rockdove.core.queue import PhysicalRecord, QueueRecord
from rockdove.store.base import Claimed, Counts, Draft, Physical, Want
from rockdove.store.cassandra.index.place import Place
from rockdove.store.cassandra.store import CassandraStore
from tests.support.cassandra import Keyspace
from tests.support.store import call, message, us

T = TypeVar("T")


class Front:
    """One store, and one queue in it."""

    def __init__(self, store: CassandraStore, clock: Clock, queue: QueueRecord) -> None:
        self.store = store
        self.clock = clock
        self.queue = queue

    @property
    def physical(self) -> Physical:
        return self.store.physical(self.queue, self.queue.physical[0])

    @property
    def place(self) -> Place:
        return self.store.index.place(self.queue, self.queue.physical[0].number)

    async def send(self, *bodies: str, delay_s: float = 0) -> list[int]:
        now_us = self.clock.now_us()
        drafts = [Draft(message(body, now_us), now_us + us(delay_s)) for body in bodies]
        return [each.id for each in await call(self.physical.append, drafts)]

    async def receive(self, limit: int = 10, timeout_s: float = 30, **wanted: Any) -> list[Entry]:
        claimed: Claimed = await call(self.physical.claim, Want(limit, us(timeout_s), **wanted))
        return claimed.entries

    async def read(self, limit: int = 10, timeout_s: float = 30) -> list[str]:
        return [entry.message.text for entry in await self.receive(limit, timeout_s)]

    async def remove(self, *entries: Entry) -> list[bool]:
        removed: list[bool] = await call(self.physical.remove_all, [entry.id for entry in entries])
        return removed

    async def count(self) -> Counts:
        counts: Counts = await call(self.physical.count)
        return counts

    async def hear(self) -> None:
        """Have the records that there are."""
        await call(self.store.records.catch_up)


class WrongClock(SystemClock):
    """Of a machine that has it set wrong by ``off_s``."""

    def __init__(self, off_s: float) -> None:
        super().__init__()
        self.off_s = off_s

    def machine_us(self) -> int:
        return super().machine_us() + us(self.off_s)


class Fronts:
    """As many as wanted, with one clock unless one of them is ahead."""

    def __init__(self, keyspace: Keyspace, attributes: dict[str, str]) -> None:
        self._keyspace = keyspace
        self._attributes = attributes
        self._queue: QueueRecord | None = None
        self.all: list[Front] = []

    async def open(self, ahead_s: float = 0, clock: Clock | None = None) -> Front:
        """``ahead_s``: so much its clock is ahead of that of the first."""
        if clock is None:
            clock = ManualClock(self.all[0].clock.now_us()) if self.all else ManualClock()
            clock.advance(ahead_s)
        store = CassandraStore(self._keyspace.address, clock, Random(5), asyncio.get_running_loop())
        await store.open()
        if self._queue is None:
            (part,) = await call(store.records.reserve, 1, "u")
            self._queue = QueueRecord(
                uid="u",
                account="1",
                name="q",
                fifo=False,
                created_us=0,
                modified_us=0,
                physical=[PhysicalRecord(part.number, part.prefix)],
                attributes=self._attributes,
            )
            await call(store.records.put_queue, self._queue, 10, 1 << 62)
        front = Front(store, clock, self._queue)
        await front.hear()
        self.all.append(front)
        return front

    def advance(self, seconds: float) -> None:
        for front in self.all:
            assert isinstance(front.clock, ManualClock)
            front.clock.advance(seconds)

    def close(self) -> None:
        for front in self.all:
            front.store.close()


def with_fronts(
    keyspace: Keyspace, scenario: Callable[[Fronts], Awaitable[T]], attributes: dict[str, str] | None = None
) -> T:
    """Run a scenario, and fail for what has failed in the background."""

    async def run() -> T:
        failures: list[dict[str, Any]] = []
        asyncio.get_running_loop().set_exception_handler(lambda loop, context: failures.append(context))
        fronts = Fronts(keyspace, attributes or {})
        try:
            return await scenario(fronts)
        finally:
            fronts.close()
            await asyncio.sleep(0.05)
            assert not failures, failures

    return asyncio.run(run())


def texts(entries: Sequence[Entry]) -> list[str]:
    return [entry.message.text for entry in entries]


async def until(is_true: Callable[[], bool]) -> None:
    deadline_s = time.monotonic() + 30
    while not is_true():
        assert time.monotonic() < deadline_s
        await asyncio.sleep(0.05)
