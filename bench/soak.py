"""Part of `make bench-long`: two hundred clients for ten minutes, flat or not; run as `python -m bench.soak`."""

from __future__ import annotations

import argparse
import asyncio
import tempfile
import threading
import time
from array import array
from collections.abc import Awaitable, Callable
from pathlib import Path
from statistics import median

import msgspec

from bench import process, report, swarm
from bench.call import call, create
from bench.connection import BODY, Connection, request
from bench.machine import command, machine, scratch
from bench.report import Report, Table
from bench.server import Server, rockdove
from bench.swarm import decode_received

CLIENTS = 200
# Of these, so many wait for messages that seldom come, and so many use a FIFO queue; all others a standard queue.
WAITING, ORDERED = 40, 40
PARTS = ("first third", "second third", "last third")
# What is left out at the beginning: a FIFO queue remembers for five minutes what was sent, so until then it grows.
WARM_S = 330
# Flat: the last third beside the first.
LATENCY_LIMIT, MEMORY_LIMIT = 1.25, 1.1

Turn = Callable[[Connection], Awaitable[None]]


class Third(msgspec.Struct, frozen=True):
    """A third of the time: calls a second, latencies, and the server's CPU, resident memory and data folder.

    `per_cpu_s` is calls for each second of the server's CPU; `others` the cores that neither it nor its clients used.
    """

    name: str
    rate: float
    p50_ms: float
    p99_ms: float
    cpu: float
    per_cpu_s: float
    others: float
    resident: int
    disk: int


class Soak:
    """The clients, and what they measured, apart for each third of the time."""

    def __init__(self, server: Server, warm_s: float, seconds: float) -> None:
        self._server = server
        self._begin = time.monotonic()
        self._warm_s = warm_s
        self._part_s = seconds / len(PARTS)
        self._end = self._begin + self._warm_s + seconds
        self._samples = [array("d") for _ in PARTS]
        self._sizes: list[list[tuple[int, int]]] = [[] for _ in PARTS]
        self._uses: list[process.Use] = []

    def _part(self) -> int | None:
        passed = time.monotonic() - self._begin - self._warm_s
        return None if passed < 0 else min(int(passed / self._part_s), len(PARTS) - 1)

    def run(self) -> list[Third]:
        watch = threading.Thread(target=self._watch, daemon=True)
        watch.start()
        swarm.run(self._all())
        watch.join()
        return [self._third(at) for at in range(len(PARTS))]

    def _watch(self) -> None:
        meter, last = process.Meter(self._server.pid), None
        while time.monotonic() < self._end:
            part = self._part()
            if part != last:
                if last is not None:
                    self._uses.append(meter.read())
                meter, last = process.Meter(self._server.pid), part
            if part is not None:
                resident = process.memory(self._server.pid).resident
                self._sizes[part].append((resident, process.folder_bytes(self._server.folder)))
            time.sleep(0.5)
        self._uses.append(meter.read())

    def _third(self, at: int) -> Third:
        measured = swarm.times(list(self._samples[at]), self._part_s)
        resident, disk = (round(median(sizes)) for sizes in zip(*self._sizes[at], strict=True))
        cpu, others, _ = self._uses[at]
        used = (cpu, measured.rate / cpu, others)
        return Third(PARTS[at], measured.rate, measured.p50_ms, measured.p99_ms, *used, resident, disk)

    async def _all(self) -> None:
        endpoint = self._server.endpoint
        plain, quiet = create(endpoint, "plain"), create(endpoint, "quiet")
        fifo = call(endpoint, "CreateQueue", QueueName="ordered.fifo", Attributes={"FifoQueue": "true"})["QueueUrl"]
        async with asyncio.TaskGroup() as group:
            for number in range(CLIENTS):
                if number < WAITING:
                    work = self._wait(quiet, number)
                elif number < WAITING + ORDERED:
                    work = self._turn(fifo, f"g{number}")
                else:
                    work = self._turn(plain, None)
                group.create_task(self._one(work))

    async def _one(self, work: Turn) -> None:
        connection = Connection(self._server.endpoint)
        try:
            while time.monotonic() < self._end:
                await work(connection)
        finally:
            connection.close()

    async def _timed(self, connection: Connection, raw: bytes) -> bytes:
        asked = time.perf_counter()
        body = await connection.ask(raw)
        part = self._part()
        if part is not None:
            self._samples[part].append(time.perf_counter() - asked)
        return body

    def _turn(self, queue_url: str, group: str | None) -> Turn:
        """Send, receive, delete."""
        endpoint, number = self._server.endpoint, 0
        receive = request(endpoint, "ReceiveMessage", QueueUrl=queue_url, MaxNumberOfMessages=1)
        plain = request(endpoint, "SendMessage", QueueUrl=queue_url, MessageBody=BODY)

        async def work(connection: Connection) -> None:
            nonlocal number
            number += 1
            send = plain
            if group is not None:
                names = {"MessageGroupId": group, "MessageDeduplicationId": f"{group}-{number}"}
                send = request(endpoint, "SendMessage", QueueUrl=queue_url, MessageBody=BODY, **names)
            await self._timed(connection, send)
            for message in decode_received(await self._timed(connection, receive)).messages:
                handle = message.receipt_handle
                delete = request(endpoint, "DeleteMessage", QueueUrl=queue_url, ReceiptHandle=handle)
                await self._timed(connection, delete)

        return work

    def _wait(self, queue_url: str, number: int) -> Turn:
        """Long polls, and now and then a message for one of them. Not timed: they are there to wait."""
        endpoint = self._server.endpoint
        receive = request(endpoint, "ReceiveMessage", QueueUrl=queue_url, WaitTimeSeconds=1 + number % 5)
        send = request(endpoint, "SendMessage", QueueUrl=queue_url, MessageBody=BODY)

        async def work(connection: Connection) -> None:
            if number % 10 == 0:
                await connection.ask(send)
            for message in decode_received(await connection.ask(receive)).messages:
                handle = message.receipt_handle
                await connection.ask(request(endpoint, "DeleteMessage", QueueUrl=queue_url, ReceiptHandle=handle))

        return work


def judge(thirds: list[Third]) -> tuple[dict[str, float], dict[str, bool]]:
    first, last = thirds[0], thirds[-1]
    ratios = {
        "p50 in the last third / in the first": last.p50_ms / first.p50_ms,
        "p99 in the last third / in the first": last.p99_ms / first.p99_ms,
        "calls for each second of the server's CPU in the last third / in the first": last.per_cpu_s / first.per_cpu_s,
        "resident memory in the last third / in the first": last.resident / first.resident,
    }
    holds = {
        f"p50 grows by a factor of less than {LATENCY_LIMIT}": last.p50_ms / first.p50_ms < LATENCY_LIMIT,
        f"resident memory grows by a factor of less than {MEMORY_LIMIT}": last.resident / first.resident < MEMORY_LIMIT,
    }
    return ratios, holds


HEAD = ["time", "calls/s", "p50 ms", "p99 ms", "cores", "per CPU s", "others", "RSS MB", "disk MB"]
NOTE = (
    f"{CLIENTS} connections at once, each as fast as it is answered: {WAITING} long polls on a quiet queue, {ORDERED} "
    "that send, receive and delete on a FIFO queue, and the others on a standard queue. The latencies are those of "
    "sends, receives and deletes together. Memory and disk are medians. Cores: the server's CPU; per CPU s: calls for "
    "each second of it; others: the cores that neither it nor its clients used, which slows both down."
)


def _cells(third: Third) -> list[str]:
    sizes = [f"{third.resident / 1e6:,.0f}", f"{third.disk / 1e6:,.0f}"]
    used = [f"{third.cpu:.2f}", report.rate(third.per_cpu_s), f"{third.others:.2f}"]
    return [third.name, report.rate(third.rate), f"{third.p50_ms:.2f}", f"{third.p99_ms:.2f}", *used, *sizes]


def arguments() -> argparse.Namespace:
    parser = report.options("Two hundred clients for a long time: are memory and latency flat?")
    parser.add_argument("--seconds", type=float, default=600, help="how long to measure (600)")
    parser.add_argument("--warm", type=float, default=WARM_S, help=f"seconds before that ({WARM_S})")
    return parser.parse_args()


def main() -> None:
    args = arguments()
    base = scratch(args.data)
    with tempfile.TemporaryDirectory(dir=base) as folder, rockdove(Path(folder)) as server:
        report.progress(f"{CLIENTS} clients for {args.warm + args.seconds:,.0f} s")
        thirds = Soak(server, args.warm, args.seconds).run()
    ratios, holds = judge(thirds)
    result = Report("soak", machine(base), command(), [*thirds], ratios, holds)
    tables = [Table(HEAD, [_cells(third) for third in thirds], NOTE), report.claims(holds)]
    report.hand_over(result, "Soak: 200 clients for a long time", tables, args)


if __name__ == "__main__":
    report.entry(main)
