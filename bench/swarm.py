"""Many connections at once that fill a queue, drain it, or go round in it, by count and not by time."""

from __future__ import annotations

import asyncio
import time
from collections.abc import Awaitable, Callable, Coroutine, Iterable
from typing import Any, TypeVar

import msgspec
import uvloop

from bench.call import COUNTS
from bench.connection import BODY, Connection, Refused, request

T = TypeVar("T")


class Message(msgspec.Struct, gc=False, rename="pascal"):
    receipt_handle: str


class Received(msgspec.Struct, gc=False, rename="pascal"):
    messages: list[Message] = []


class Batch(msgspec.Struct, gc=False, rename="pascal"):
    successful: list[msgspec.Raw] = []
    failed: list[msgspec.Raw] = []


class Times(msgspec.Struct, frozen=True):
    """Latencies of one kind of call, and how many were done a second."""

    rate: float
    p50_ms: float
    p99_ms: float


decode_received = msgspec.json.Decoder(Received).decode
decode_batch = msgspec.json.Decoder(Batch).decode


def run(work: Coroutine[Any, Any, T]) -> T:
    """Runs to the end; of several connections that fail, the first one's error is raised."""
    try:
        return uvloop.run(work)
    except BaseExceptionGroup as group:
        raise group.exceptions[0] from None


def times(samples_s: list[float], elapsed_s: float) -> Times:
    ordered = sorted(samples_s)
    pick = [ordered[min(int(len(ordered) * share), len(ordered) - 1)] for share in (0.5, 0.99)]
    return Times(len(ordered) / elapsed_s, pick[0] * 1e3, pick[1] * 1e3)


async def _together(endpoint: str, connections: int, work: Callable[[Connection], Awaitable[None]]) -> None:
    async def one() -> None:
        connection = Connection(endpoint)
        try:
            await work(connection)
        finally:
            connection.close()

    async with asyncio.TaskGroup() as group:
        for _ in range(connections):
            group.create_task(one())


def _whole(body: bytes) -> int:
    """How many entries of a batch succeeded; a failed one is an error of the run."""
    batch = decode_batch(body)
    if batch.failed:
        raise Refused(f"{len(batch.failed)} entries of a batch failed: {bytes(batch.failed[0])!r}")
    return len(batch.successful)


async def fill(endpoint: str, queue_url: str, messages: int, connections: int = 16) -> None:
    """Puts in exactly so many messages of 1 KB, in batches of ten."""
    entries = [{"Id": str(i), "MessageBody": BODY} for i in range(10)]
    full = request(endpoint, "SendMessageBatch", QueueUrl=queue_url, Entries=entries)
    left = messages

    async def work(connection: Connection) -> None:
        nonlocal left
        while left > 0:
            size = min(10, left)
            left -= size
            part = entries[:size]
            raw = full if size == 10 else request(endpoint, "SendMessageBatch", QueueUrl=queue_url, Entries=part)
            if _whole(await connection.ask(raw)) != size:
                raise Refused(f"a batch of {size} was answered for fewer")

    await _together(endpoint, connections, work)


async def create(endpoint: str, names: Iterable[str], connections: int = 32) -> None:
    """Makes queues, one with each request."""
    left = iter(names)

    async def work(connection: Connection) -> None:
        for name in left:
            await connection.ask(request(endpoint, "CreateQueue", QueueName=name))

    await _together(endpoint, connections, work)


async def drain(endpoint: str, queue_url: str, messages: int, connections: int = 32) -> float:
    """Receives and deletes in tens until so many are gone; returns the seconds it took."""
    receive = request(endpoint, "ReceiveMessage", QueueUrl=queue_url, MaxNumberOfMessages=10)
    gone = empty = 0
    begin = time.monotonic()

    async def work(connection: Connection) -> None:
        nonlocal gone, empty
        while gone < messages:
            got = decode_received(await connection.ask(receive)).messages
            if not got:
                empty += 1
                if empty > 100 * connections:
                    raise Refused(f"the queue gives nothing more after {gone} of {messages} messages")
                await asyncio.sleep(0.05)
                continue
            entries = [{"Id": str(i), "ReceiptHandle": message.receipt_handle} for i, message in enumerate(got)]
            raw = request(endpoint, "DeleteMessageBatch", QueueUrl=queue_url, Entries=entries)
            deleted = _whole(await connection.ask(raw))
            gone += deleted

    await _together(endpoint, connections, work)
    return time.monotonic() - begin


async def turn(endpoint: str, queue_url: str, seconds: float, connections: int = 8) -> Times:
    """Receives one, deletes it, sends another, so the depth stays; the times are those of the receives."""
    receive = request(endpoint, "ReceiveMessage", QueueUrl=queue_url, MaxNumberOfMessages=1)
    send = request(endpoint, "SendMessage", QueueUrl=queue_url, MessageBody=BODY)
    samples: list[float] = []
    begin = time.monotonic()

    async def work(connection: Connection) -> None:
        while time.monotonic() - begin < seconds:
            asked = time.perf_counter()
            body = await connection.ask(receive)
            samples.append(time.perf_counter() - asked)
            got = decode_received(body).messages
            if not got:
                raise Refused("an empty receive from a deep queue")
            handle = got[0].receipt_handle
            await connection.ask(request(endpoint, "DeleteMessage", QueueUrl=queue_url, ReceiptHandle=handle))
            await connection.ask(send)

    await _together(endpoint, connections, work)
    return times(samples, time.monotonic() - begin)


async def look(endpoint: str, queue_url: str, calls: int = 500) -> Times:
    """How long GetQueueAttributes with the counts takes, one call after the other."""
    raw = request(endpoint, "GetQueueAttributes", QueueUrl=queue_url, AttributeNames=list(COUNTS))
    samples: list[float] = []
    begin = time.monotonic()

    async def work(connection: Connection) -> None:
        for _ in range(calls):
            asked = time.perf_counter()
            await connection.ask(raw)
            samples.append(time.perf_counter() - asked)

    await _together(endpoint, 1, work)
    return times(samples, time.monotonic() - begin)


async def wake(endpoint: str, queue_url: str, rounds: int = 500, connections: int = 8, sender_at: str = "") -> Times:
    """One after another, connections wait for a message that another one sends; the times from send to receive.

    ``sender_at``: another endpoint of the same service, for the one that sends.
    """
    sender_at = sender_at or endpoint
    receive = request(
        endpoint, "ReceiveMessage", QueueUrl=queue_url, MaxNumberOfMessages=1, WaitTimeSeconds=20, VisibilityTimeout=600
    )
    send = request(sender_at, "SendMessage", QueueUrl=queue_url, MessageBody=BODY)
    waiters, sender = [Connection(endpoint) for _ in range(connections)], Connection(sender_at)
    samples: list[float] = []
    begin = time.monotonic()
    for number in range(rounds):
        waiting = asyncio.ensure_future(waiters[number % connections].ask(receive))
        # Long enough for the request to have arrived, and to wait.
        await asyncio.sleep(0.01)
        sent_s = time.monotonic()
        sending = asyncio.ensure_future(sender.ask(send))
        if not decode_received(await waiting).messages:
            raise Refused("a long poll ended without the message that was sent")
        samples.append(time.monotonic() - sent_s)
        await sending
    elapsed_s = time.monotonic() - begin
    for connection in (*waiters, sender):
        connection.close()
    return times(samples, elapsed_s)
