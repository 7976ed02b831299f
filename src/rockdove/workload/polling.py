"""The workload of the paper on dequeueing: periodic producers, and consumers that ask again and again.

Each consumer has one request outstanding. After the answer, and after it has deleted what it got, it waits for an
exponential time. Each producer sends a message at regular intervals.
"""

import asyncio
import itertools
import time
from collections.abc import Awaitable, Callable, Sequence
from random import Random

from msgspec import Struct

from rockdove.client import AsyncClient

# Seconds before the figures begin: by then all are at work.
WARM_S = 1.0


class Polling(Struct, frozen=True, kw_only=True):
    """``rate`` is how many requests a second a consumer would make if it were answered at once."""

    rate: float
    consumers: int = 10
    producers: int = 10
    # Messages a second of each.
    send_rate: float = 20.0
    size_bytes: int = 1024
    # Messages of an answer, at most.
    limit: int = 100
    # Seconds that a request may be held.
    wait_s: int = 20
    seconds: float = 8.0
    seed: int = 0


class Polled(Struct, frozen=True):
    """What came of it, from the end of the warm-up to the end."""

    seconds: float
    sent: int
    received: int
    requests: int
    hits: int
    cpu_s: float
    store_cpu_s: float


class _Counts(Struct):
    sent: int = 0
    received: int = 0
    requests: int = 0
    hits: int = 0


# Seconds of CPU so far: of the service, and of what it stores in.
Cpu = Callable[[], tuple[float, float]]


async def poll(endpoint: str, queue: str, polling: Polling, cpu_s: Cpu) -> Polled:
    """Run it on a queue that is there. Raises what the first of them has met."""
    counts = _Counts()
    rng = Random(f"{polling.seed} {polling.rate:g}")
    async with AsyncClient(endpoint) as client:
        await client.queue_url(queue)
        roles: list[Awaitable[None]] = [_produce(client, queue, polling, counts, at) for at in range(polling.producers)]
        roles += [_consume(client, queue, polling, counts, Random(rng.random())) for _ in range(polling.consumers)]
        tasks = [asyncio.ensure_future(role) for role in roles]
        try:
            await _while_they_work(tasks, WARM_S)
            before, began_s, used = _copy(counts), time.monotonic(), cpu_s()
            await _while_they_work(tasks, polling.seconds)
            after, ended_s, now = _copy(counts), time.monotonic(), cpu_s()
        finally:
            for task in tasks:
                task.cancel()
            await asyncio.gather(*tasks, return_exceptions=True)
    return Polled(
        ended_s - began_s,
        after.sent - before.sent,
        after.received - before.received,
        after.requests - before.requests,
        after.hits - before.hits,
        now[0] - used[0],
        now[1] - used[1],
    )


def _copy(counts: _Counts) -> _Counts:
    return _Counts(counts.sent, counts.received, counts.requests, counts.hits)


async def _while_they_work(tasks: Sequence[asyncio.Future[None]], seconds: float) -> None:
    done, _ = await asyncio.wait(tasks, timeout=seconds, return_when=asyncio.FIRST_EXCEPTION)
    for task in done:
        task.result()


async def _produce(client: AsyncClient, queue: str, polling: Polling, counts: _Counts, place: int) -> None:
    """They take turns within an interval."""
    body = "x" * polling.size_bytes
    interval_s = 1 / polling.send_rate
    began_s = time.monotonic() + interval_s * place / polling.producers
    for number in itertools.count():
        # One that is late does not catch up.
        await asyncio.sleep(max(0.0, began_s + number * interval_s - time.monotonic()))
        await client.send(queue, body)
        counts.sent += 1
        late_s = time.monotonic() - (began_s + (number + 1) * interval_s)
        began_s += max(0.0, late_s)


async def _consume(client: AsyncClient, queue: str, polling: Polling, counts: _Counts, rng: Random) -> None:
    while True:
        await asyncio.sleep(rng.expovariate(polling.rate))
        messages = await client.receive(queue, limit=polling.limit, wait_s=polling.wait_s)
        counts.requests += 1
        if messages:
            counts.hits += 1
            counts.received += len(messages)
            await client.delete_batch(queue, [message.receipt_handle for message in messages])
