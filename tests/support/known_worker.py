"""A queue with senders and workers whose speed and failures are known: receive, work, delete, or not."""

import asyncio
import random
import time

from msgspec import Struct

from rockdove.client import AsyncClient

# A worker that waits for a message looks this often whether there will be more.
_WAIT_S = 1


class Known(Struct, frozen=True):
    """Poisson arrivals; exponential services; a delivery that fails is worked on, and not deleted."""

    arrival: float
    duration_s: float
    workers: int
    service_s: float
    failing: float
    timeout_s: int


class Seen(Struct, frozen=True):
    """By the clients' clock: from the begin of a send to the end of its delete, and from a receive to its delete."""

    deliveries_s: list[float]
    services_s: list[float]


async def run(endpoint: str, queue: str, known: Known, seed: int) -> Seen:
    """Until all that was sent is deleted."""
    begun: dict[str, float] = {}
    seen = Seen([], [])
    all_sent = asyncio.Event()

    async def send(client: AsyncClient, number: int) -> None:
        begun[str(number)] = time.monotonic()
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
        while not (all_sent.is_set() and len(seen.deliveries_s) == len(begun)):
            for message in await client.receive(queue, wait_s=_WAIT_S):
                received_s = time.monotonic()
                await asyncio.sleep(dice.expovariate(1 / known.service_s))
                if dice.random() >= known.failing:
                    await client.delete(queue, message.receipt_handle)
                    deleted_s = time.monotonic()
                    seen.deliveries_s.append(deleted_s - begun[message.body])
                    seen.services_s.append(deleted_s - received_s)

    async with AsyncClient(endpoint) as client:
        await client.create_queue(queue, attributes={"VisibilityTimeout": str(known.timeout_s)})
        async with asyncio.TaskGroup() as group:
            group.create_task(arrive(client))
            for number in range(known.workers):
                group.create_task(work(client, number))
    return seen
