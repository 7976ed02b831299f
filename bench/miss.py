"""What a send, a receive that finds something, a delete and a miss cost; run as `python -m bench.miss`.

It is the profile behind the figures of `rockdove bench rds`: how much a policy can save depends on what a miss costs
beside the rest.
"""

from __future__ import annotations

import argparse
import asyncio
import tempfile
import time
from collections.abc import Awaitable, Callable
from pathlib import Path

import msgspec

from bench import report
from bench.machine import command, machine, scratch
from bench.report import Report, Table
from rockdove.client import AsyncClient
from rockdove.workload.local import LocalService, StoreName

PHYSICAL = 10
SERVERS = 3
# Messages a second, and misses for each: what conventional has at 200 requests a second of each of ten consumers.
RATE = 200
MISSES = 8


class Result(msgspec.Struct, frozen=True):
    """Microseconds of CPU that one of them costs the service and its Redis servers."""

    store: str
    send_us: float
    hit_us: float
    woken_us: float
    delete_us: float
    miss_us: float

    @property
    def conventional_us(self) -> float:
        return self.send_us + self.hit_us + self.delete_us + MISSES * self.miss_us

    @property
    def wake_us(self) -> float:
        return self.send_us + self.woken_us + self.delete_us


class Meter:
    """Does something at a pace, and tells what each costs beyond what the service uses when nothing happens."""

    def __init__(self, service: LocalService, seconds: float) -> None:
        self._service = service
        self._seconds = seconds
        self._idle_per_s = 0.0

    async def rest(self) -> None:
        began_s, used = time.monotonic(), sum(self._service.cpu_s())
        await asyncio.sleep(self._seconds)
        self._idle_per_s = (sum(self._service.cpu_s()) - used) / (time.monotonic() - began_s)

    async def cost_us(self, rate: float, act: Callable[[], Awaitable[object]]) -> float:
        number = round(rate * self._seconds)
        began_s, used = time.monotonic(), sum(self._service.cpu_s())
        acts: list[asyncio.Future[object]] = []
        for at in range(number):
            await asyncio.sleep(max(0.0, began_s + at / rate - time.monotonic()))
            acts.append(asyncio.ensure_future(act()))
        await asyncio.gather(*acts)
        took_s = time.monotonic() - began_s
        return (sum(self._service.cpu_s()) - used - self._idle_per_s * took_s) / number * 1e6


async def measure(service: LocalService, seconds: float) -> Result:
    body = "x" * 1024
    handles: list[str] = []
    async with AsyncClient(service.endpoint) as client:
        attributes = {"RockdovePhysicalQueues": str(PHYSICAL), "RockdoveDequeuePolicy": "conventional"}
        await client.create_queue("pace", attributes=attributes)
        await client.create_queue("held", attributes=attributes | {"RockdoveDequeuePolicy": "wake"})

        async def receive(queue: str = "pace", wait_s: int = 0) -> None:
            handles.extend(message.receipt_handle for message in await client.receive(queue, limit=1, wait_s=wait_s))

        async def send_and_wake() -> None:
            # One waits already.
            await asyncio.gather(client.send("held", body), receive("held", 20))

        meter = Meter(service, seconds)
        await meter.rest()
        send_us = await meter.cost_us(RATE, lambda: client.send("pace", body))
        # Until all is received: some find nothing in the three that they visit.
        number = round(RATE * seconds)
        hit_us = await meter.cost_us(RATE / 2, receive)
        while len(handles) < number:
            await receive()
        delete_us = await meter.cost_us(RATE, lambda: client.delete("pace", handles.pop()))
        miss_us = await meter.cost_us(RATE * MISSES, receive)
        waiting = asyncio.ensure_future(receive("held", 20))
        await asyncio.sleep(0.1)
        woken_us = await meter.cost_us(RATE, send_and_wake) - send_us
        await client.send("held", body)
        await waiting
    return Result(service.store, send_us, hit_us, woken_us, delete_us, miss_us)


def run(base: Path, store: StoreName, seconds: float) -> Result:
    with tempfile.TemporaryDirectory(dir=base) as name:
        folder = Path(name)
        servers = SERVERS if store == "redis" else 0
        with LocalService(store, folder / "service", servers, 0, folder / "trace") as service:
            return asyncio.run(measure(service, seconds))


def main() -> None:
    args = arguments()
    base = scratch(args.data)
    results = []
    for store in ("redis", "sqlite"):
        report.progress(f"the cost of each on {store}")
        results.append(run(base, store, args.seconds))
    ratios = {
        f"conventional / wake on {each.store}, by these costs": each.conventional_us / each.wake_us for each in results
    }
    result = Report("miss", machine(base), command(), [*results], ratios, {})
    rows = [
        [
            each.store,
            *(f"{cost:,.0f}" for cost in (each.send_us, each.hit_us, each.woken_us, each.delete_us, each.miss_us)),
            f"{each.conventional_us:,.0f}",
            f"{each.wake_us:,.0f}",
            f"{each.conventional_us / each.wake_us:.2f}",
            f"{(each.send_us + each.delete_us) / each.wake_us:.0%}",
        ]
        for each in results
    ]
    report.hand_over(result, "What a miss costs", [Table(HEAD, rows, NOTE)], args)


HEAD = ["store", "send", "hit", "woken", "delete", "miss", "conventional", "wake", "ratio", "send, delete"]
NOTE = (
    f"Microseconds of CPU of the service and its Redis servers, at {RATE} of each a second and {RATE * MISSES:,} "
    f"misses, over {PHYSICAL} physical queues, with a trace, beyond what the service uses when nothing happens. A miss "
    "is a receive that visits three of them and finds nothing. `woken` is a receive that waits and is woken. "
    f"Conventional is a message's send, hit and delete with {MISSES} misses; wake is its send, woken receive, delete, "
    "and the last column tells how much of that are the two that no policy changes."
)


def arguments() -> argparse.Namespace:
    parser = report.options("What does a miss cost beside a send, a hit and a delete?")
    parser.add_argument("--seconds", type=float, default=5.0, metavar="S")
    return parser.parse_args()


if __name__ == "__main__":
    report.entry(main)
