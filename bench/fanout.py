"""A message for ten queues: one publication to a topic beside ten sends; run as `python -m bench.fanout`."""

from __future__ import annotations

import argparse
import asyncio
import tempfile
import time
from collections.abc import Awaitable, Callable, Sequence
from pathlib import Path
from statistics import median

import msgspec

from bench import report
from bench.machine import command, machine, scratch
from bench.process import cpu_s
from bench.report import Report, Table, rate
from bench.server import Server, rockdove
from rockdove.client import AsyncClient, Outgoing

QUEUES = 10
BYTES = 1_024
CLIENTS = 16
ROUNDS = 5
ROUND_S = 4.0
BATCH = 10
SEND, PUBLISH, SEND_BATCH, PUBLISH_BATCH = "ten sends", "a publication", "ten batches", "a batch of publications"
WAYS = (SEND, PUBLISH, SEND_BATCH, PUBLISH_BATCH)

# Brings some messages into all queues; how many.
Way = Callable[[], Awaitable[int]]


class Result(msgspec.Struct, frozen=True):
    """What a message for all queues costs: medians over the rounds."""

    way: str
    messages_per_s: float
    cpu_ms: float
    milliseconds: float


def main() -> None:
    args = arguments()
    base = scratch(args.data)
    with tempfile.TemporaryDirectory(dir=base) as folder, rockdove(Path(folder), flags=["--workers", "0"]) as server:
        results = asyncio.run(_measure(server, args.rounds, args.seconds))
    by_way = {each.way: each for each in results}
    ratios = {
        "CPU of ten sends / of a publication": by_way[SEND].cpu_ms / by_way[PUBLISH].cpu_ms,
        "time of ten sends / of a publication": by_way[SEND].milliseconds / by_way[PUBLISH].milliseconds,
        "CPU of ten batches / of a batch of publications": by_way[SEND_BATCH].cpu_ms / by_way[PUBLISH_BATCH].cpu_ms,
    }
    holds = {
        f"a publication to {QUEUES} queues costs less than {QUEUES} sends": (
            by_way[PUBLISH].cpu_ms < by_way[SEND].cpu_ms and by_way[PUBLISH].milliseconds < by_way[SEND].milliseconds
        )
    }
    result = Report("fanout", machine(base), command(), [*results], ratios, holds)
    tables = [
        Table(HEAD, [_cells(each) for each in results], NOTE),
        Table(["ratio", ""], [[name, f"{value:.2f}"] for name, value in ratios.items()]),
        report.claims(holds),
    ]
    report.hand_over(result, "One message for ten queues", tables, args)


async def _measure(server: Server, rounds: int, seconds: float) -> list[Result]:
    async with AsyncClient(server.endpoint) as client:
        topic = await client.create_topic("fanout")
        queues = [await client.create_queue(f"fanout-{number}") for number in range(QUEUES)]
        for queue in queues:
            await client.subscribe(topic, queue, attributes={"RawMessageDelivery": "true"})
        body = "x" * BYTES
        ways = _ways(client, topic, queues, body)
        found: dict[str, list[Result]] = {way: [] for way in WAYS}
        for at in range(rounds + 1):
            for way in WAYS:
                report.progress(f"round {at} of {rounds}: {way}")
                run = await _round(server, way, ways[way], seconds)
                if at:
                    # The first warms up.
                    found[way].append(run)
        return [_median(way, found[way]) for way in WAYS]


def _ways(client: AsyncClient, topic: str, queues: Sequence[str], body: str) -> dict[str, Way]:
    async def send() -> int:
        await asyncio.gather(*(client.send(queue, body) for queue in queues))
        return 1

    async def publish() -> int:
        await client.publish(topic, body)
        return 1

    async def send_batch() -> int:
        await asyncio.gather(*(client.send_batch(queue, [body] * BATCH) for queue in queues))
        return BATCH

    async def publish_batch() -> int:
        await client.publish_to_topic(topic, [Outgoing(body=body)] * BATCH)
        return BATCH

    return {SEND: send, PUBLISH: publish, SEND_BATCH: send_batch, PUBLISH_BATCH: publish_batch}


async def _round(server: Server, name: str, way: Way, seconds: float) -> Result:
    end = time.perf_counter() + seconds
    took: list[float] = []
    messages = 0

    async def one() -> None:
        nonlocal messages
        while (began := time.perf_counter()) < end:
            # In two steps: others count while this one waits.
            count = await way()
            messages += count
            took.append(time.perf_counter() - began)

    busy, began = cpu_s(server.pid), time.perf_counter()
    await asyncio.gather(*(one() for _ in range(CLIENTS)))
    elapsed, busy = time.perf_counter() - began, cpu_s(server.pid) - busy
    return Result(name, messages / elapsed, 1_000 * busy / messages, 1_000 * median(took))


def _median(way: str, runs: Sequence[Result]) -> Result:
    return Result(
        way,
        median(run.messages_per_s for run in runs),
        median(run.cpu_ms for run in runs),
        median(run.milliseconds for run in runs),
    )


HEAD = ["way", "messages/s, each to ten queues", "CPU ms of the service for each", "ms until answered"]
NOTE = (
    f"{CLIENTS} clients in one process, messages of {BYTES:,} bytes, raw delivery, SQLite with fsync, one process. The "
    "ways take turns; medians over the rounds. Ten sends of a client go at the same time, on connections of their own. "
    "The time of a batch is that of all its messages."
)


def _cells(each: Result) -> list[str]:
    return [each.way, rate(each.messages_per_s), f"{each.cpu_ms:.2f}", f"{each.milliseconds:.1f}"]


def arguments() -> argparse.Namespace:
    parser = report.options("What does it cost to bring a message into ten queues?")
    parser.add_argument("--rounds", type=int, default=ROUNDS, metavar="N")
    parser.add_argument("--seconds", type=float, default=ROUND_S, metavar="S", help="of each round and way")
    return parser.parse_args()


if __name__ == "__main__":
    report.entry(main)
