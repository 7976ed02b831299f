"""How many messages a second go through queues at most: the benchmark of the paper on elastic queues."""

import asyncio
import multiprocessing
import time
from collections.abc import Awaitable, Callable, Sequence
from concurrent.futures import ProcessPoolExecutor
from types import TracebackType
from typing import Protocol, Self

import uvloop
from msgspec import Struct
from msgspec.structs import replace

from rockdove.client import AsyncClient
from rockdove.workload.interrupt import deaf

# Seconds before the figures begin: by then all are at work.
WARM_S = 0.5


class Passing(Struct, frozen=True, kw_only=True):
    """What clients do. Each goes round: it sends a batch to its queue, receives one from there, and deletes that.

    Clients are spread over the queues: with more queues there are no more clients.
    """

    queues: list[str]
    clients: int = 16
    batch: int = 10
    size_bytes: int = 100
    seconds: float = 2.0


class Passed(Struct, frozen=True):
    """``messages`` were sent, received and deleted. ``cpu_s``: of the service, meanwhile."""

    messages: int
    seconds: float
    cpu_s: float


class Messenger(Protocol):
    """What takes messages to queues and from there."""

    async def send(self, queue: str, bodies: Sequence[str]) -> None: ...

    async def receive(self, queue: str, limit: int) -> list[str]:
        """Up to so many messages, which does not wait for any; their handles."""

    async def delete(self, queue: str, handles: Sequence[str]) -> None: ...


class HttpMessenger:
    """A client of the service."""

    def __init__(self, client: AsyncClient) -> None:
        self._client = client

    async def send(self, queue: str, bodies: Sequence[str]) -> None:
        await self._client.send_batch(queue, bodies)

    async def receive(self, queue: str, limit: int) -> list[str]:
        found = await self._client.receive(queue, limit=limit, wait_s=0, system_attributes=(), message_attributes=())
        return [message.receipt_handle for message in found]

    async def delete(self, queue: str, handles: Sequence[str]) -> None:
        await self._client.delete_batch(queue, handles)


Cpu = Callable[[], float]


async def go_round(messenger: Messenger, passing: Passing, begin_s: float) -> tuple[int, float]:
    """Messages that have passed since ``begin_s``, of the monotonic clock, and when the last did.

    What clients have begun before the end they finish, so that something passes on any machine.
    """
    end_s = begin_s + passing.seconds
    bodies = ["x" * passing.size_bytes] * passing.batch
    passed, last_s = 0, end_s

    async def client(queue: str) -> None:
        nonlocal passed, last_s
        while time.monotonic() < end_s:
            await messenger.send(queue, bodies)
            handles = await messenger.receive(queue, passing.batch)
            if handles:
                await messenger.delete(queue, handles)
            now_s = time.monotonic()
            if now_s >= begin_s:
                passed, last_s = passed + len(handles), max(last_s, now_s)

    async with asyncio.TaskGroup() as group:
        for number in range(passing.clients):
            group.create_task(client(passing.queues[number % len(passing.queues)]))
    return passed, last_s


async def _measured(work: Awaitable[list[tuple[int, float]]], begin_s: float, cpu_s: Cpu) -> Passed:
    """``work`` goes on already."""
    task = asyncio.ensure_future(work)
    try:
        await asyncio.sleep(max(begin_s - time.monotonic(), 0))
        before_s = cpu_s()
        parts = await task
        return Passed(sum(number for number, _ in parts), max(last for _, last in parts) - begin_s, cpu_s() - before_s)
    finally:
        task.cancel()


async def pass_messages(messenger: Messenger, passing: Passing, cpu_s: Cpu) -> Passed:
    """In this process. Raises what the first client has met."""
    begin_s = time.monotonic() + WARM_S

    async def work() -> list[tuple[int, float]]:
        return [await go_round(messenger, passing, begin_s)]

    return await _measured(work(), begin_s, cpu_s)


class Clients:
    """Processes of clients, for a service that one process alone would not keep busy. To be used inside ``with``."""

    def __init__(self, processes: int) -> None:
        self._processes = processes
        # Spawned, not forked: this process may have threads.
        self._pool = ProcessPoolExecutor(processes, multiprocessing.get_context("spawn"))

    def __enter__(self) -> Self:
        with deaf():
            # All of them, and what they import.
            for each in [self._pool.submit(time.sleep, 0.2) for _ in range(self._processes)]:
                each.result()
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self._pool.shutdown(cancel_futures=True)

    async def pass_messages(self, endpoint: str, passing: Passing, cpu_s: Cpu) -> Passed:
        """Raises what the first client has met."""
        loop = asyncio.get_running_loop()
        begin_s = time.monotonic() + WARM_S
        working = [
            loop.run_in_executor(self._pool, _work, endpoint, part, begin_s) for part in parts(passing, self._processes)
        ]
        return await _measured(asyncio.gather(*working), begin_s, cpu_s)


def parts(passing: Passing, processes: int) -> list[Passing]:
    """Clients take turns over queues, and processes over clients."""
    queues = [passing.queues[at % len(passing.queues)] for at in range(passing.clients)]
    shares = [queues[number::processes] for number in range(processes)]
    return [replace(passing, queues=share, clients=len(share)) for share in shares if share]


def _work(endpoint: str, passing: Passing, begin_s: float) -> tuple[int, float]:
    """In a process of its own."""

    async def work() -> tuple[int, float]:
        async with AsyncClient(endpoint) as client:
            return await go_round(HttpMessenger(client), passing, begin_s)

    with asyncio.Runner(loop_factory=uvloop.new_event_loop) as runner:
        return runner.run(work())
