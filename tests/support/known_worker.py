"""A queue with senders and workers whose speed and failures are known: receive, work, delete, or not."""

import asyncio
import random
import time
from statistics import fmean

from msgspec import Struct

from rockdove.client import AsyncClient

# A worker that waits for a message looks this often whether there will be more.
_WAIT_S = 2
# How often it is measured by how much the machine is late.
_TICK_S = 0.1
# Of a message: its send, its receive, its work and its delete each wait for the machine.
_STEPS = 4


class Known(Struct, frozen=True):
    """Poisson arrivals; exponential services; a delivery that fails is worked on, and not deleted."""

    arrival: float
    duration_s: float
    workers: int
    service_s: float
    failing: float
    timeout_s: int


class Seen(Struct, frozen=True):
    """By the clients' clock: when sends began, how long messages took from there to the end of their delete, and from a
    receive to its delete; deliveries that failed; and how long requests took that do no work.
    """

    sent_s: list[float]
    deliveries_s: list[float]
    services_s: list[float]
    failed: list[str]
    late_s: list[float]

    @property
    def arrival(self) -> float:
        return (len(self.sent_s) - 1) / (self.sent_s[-1] - self.sent_s[0])

    @property
    def reliability(self) -> float:
        return len(self.services_s) / (len(self.services_s) + len(self.failed))

    @property
    def overhead_s(self) -> float:
        """What this machine adds to the time of a message: a step waits for the rest of a pause that it falls into."""
        lasted_s = len(self.late_s) * _TICK_S + sum(self.late_s)
        return _STEPS * (fmean(self.late_s) + sum(late_s**2 for late_s in self.late_s) / (2 * lasted_s))


async def run(endpoint: str, queue: str, known: Known, seed: int) -> Seen:
    """Until all that was sent is deleted."""
    begun: dict[str, float] = {}
    seen = Seen([], [], [], [], [])
    gone: set[str] = set()
    all_sent = asyncio.Event()

    def is_over() -> bool:
        return all_sent.is_set() and len(gone) == len(begun)

    async def send(client: AsyncClient, number: int) -> None:
        begun[str(number)] = time.monotonic()
        seen.sent_s.append(begun[str(number)])
        await client.send(queue, str(number))

    async def arrive(client: AsyncClient) -> None:
        dice = random.Random(f"{seed} arrivals")
        start_s = at_s = time.monotonic()
        async with asyncio.TaskGroup() as sends:
            while (at_s := at_s + dice.expovariate(known.arrival)) < start_s + known.duration_s:
                await asyncio.sleep(at_s - time.monotonic())
                sends.create_task(send(client, len(begun)))
        all_sent.set()

    async def work(client: AsyncClient, number: int) -> None:
        dice = random.Random(f"{seed} worker {number}")
        while not is_over():
            for message in await client.receive(queue, wait_s=_WAIT_S):
                received_s = time.monotonic()
                await asyncio.sleep(dice.expovariate(1 / known.service_s))
                if dice.random() < known.failing:
                    seen.failed.append(message.body)
                else:
                    await client.delete(queue, message.receipt_handle)
                    deleted_s = time.monotonic()
                    seen.deliveries_s.append(deleted_s - begun[message.body])
                    seen.services_s.append(deleted_s - received_s)
                    # Who is late may not be the only one who has it.
                    gone.add(message.body)

    async def measure(client: AsyncClient) -> None:
        while not is_over():
            start_s = time.monotonic()
            await asyncio.sleep(_TICK_S)
            await client.attributes(queue, ["VisibilityTimeout"])
            seen.late_s.append(time.monotonic() - start_s - _TICK_S)

    async with AsyncClient(endpoint) as client:
        await client.create_queue(queue, attributes={"VisibilityTimeout": str(known.timeout_s)})
        async with asyncio.TaskGroup() as group:
            group.create_task(arrive(client))
            group.create_task(measure(client))
            for number in range(known.workers):
                group.create_task(work(client, number))
    return seen
