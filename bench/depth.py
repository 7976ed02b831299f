"""`make bench-long`: one queue filled to millions of messages and drained again; run as `python -m bench.depth`."""

from __future__ import annotations

import argparse
import tempfile
import time
from pathlib import Path
from typing import Any

import msgspec

from bench import process, report, swarm
from bench.call import count, create
from bench.connection import Refused
from bench.machine import command, machine, scratch
from bench.report import Report, Table
from bench.server import Server, rockdove
from bench.swarm import Times

# Depths at which the queue is looked at on its way down to the last one, the number of messages asked for.
DEPTHS = (10_000, 100_000, 1_000_000, 10_000_000)

RESIDENT_LIMIT = 400_000_000
GROWTH_LIMIT = 1.5
SHRINK_SHARE, SHRINK_S = 0.1, 60.0

# How long the shrinking is watched before it is given up.
PATIENCE_S = 180.0


class Look(msgspec.Struct, frozen=True):
    """A queue at one depth: filling it up to here, and receiving from it.

    `turn_cpu_ms` is the server's CPU for a receive, a delete and a send: a busy machine leaves it be, unlike a latency.
    """

    depth: int
    filled_per_s: float
    receive: Times
    turn_cpu_ms: float
    others: float
    attributes: Times
    resident: int
    resident_most: int
    anonymous_most: int
    disk: int


class Drain(msgspec.Struct, frozen=True):
    """The way back: `below_s` is the time after the last delete until the folder was small, or nothing."""

    messages: int
    per_s: float
    resident_most: int
    high_water: int
    disk_peak: int
    disk_after: int
    below_s: float | None


def depths(messages: int) -> list[int]:
    return [*(depth for depth in DEPTHS if depth < messages), messages]


def look(server: Server, queue_url: str, depth: int, seconds: float) -> Look:
    with process.Watch(server.pid, server.folder) as watch:
        lacking = depth - count(server.endpoint, queue_url)
        begin = time.monotonic()
        swarm.run(swarm.fill(server.endpoint, queue_url, lacking))
        filled_per_s = lacking / (time.monotonic() - begin)
        process.settle(server.pid)
        meter = process.Meter(server.pid)
        received = swarm.run(swarm.turn(server.endpoint, queue_url, seconds))
        use = meter.read()
        attributes = swarm.run(swarm.look(server.endpoint, queue_url))
        watch.sample()
    found = count(server.endpoint, queue_url)
    if found != depth:
        raise Refused(f"the queue should hold {depth} messages, it says {found}")
    resident = process.memory(server.pid).resident
    peaks = (watch.resident, watch.anonymous, process.folder_bytes(server.folder))
    turn_cpu_ms = use.server / received.rate * 1e3
    return Look(depth, filled_per_s, received, turn_cpu_ms, use.others, attributes, resident, *peaks)


def drain(server: Server, queue_url: str, messages: int) -> Drain:
    with process.Watch(server.pid, server.folder) as watch:
        watch.sample()
        took_s = swarm.run(swarm.drain(server.endpoint, queue_url, messages))
        below_s, left = _shrink(server, watch)
    high_water = process.memory(server.pid).peak
    return Drain(messages, messages / took_s, watch.resident, high_water, watch.disk, left, below_s)


def _shrink(server: Server, watch: process.Watch) -> tuple[float | None, int]:
    begin = time.monotonic()
    while (waited := time.monotonic() - begin) < PATIENCE_S:
        left = process.folder_bytes(server.folder)
        if left < SHRINK_SHARE * watch.disk:
            return waited, left
        time.sleep(0.25)
    return None, left


def measure(folder: Path, messages: int, seconds: float) -> tuple[list[Look], Drain]:
    with rockdove(folder) as server:
        queue_url = create(server.endpoint, "deep")
        swarm.run(swarm.fill(server.endpoint, queue_url, 2_000))
        swarm.run(swarm.turn(server.endpoint, queue_url, 2))
        looks = []
        for depth in depths(messages):
            looks.append(look(server, queue_url, depth, seconds))
            report.progress(f"at {depth:,}: {_line(looks[-1])}")
        report.progress("draining")
        return looks, drain(server, queue_url, messages)


def judge(looks: list[Look], drained: Drain) -> tuple[dict[str, float], dict[str, bool]]:
    growth = looks[-1].receive.p50_ms / looks[0].receive.p50_ms
    first, last = looks[0].depth, looks[-1].depth
    most = max(drained.high_water, drained.resident_most, *(one.resident_most for one in looks))
    shrunk = drained.below_s is not None and drained.below_s <= SHRINK_S
    cpu_growth = looks[-1].turn_cpu_ms / looks[0].turn_cpu_ms
    ratios = {
        f"CPU of a receive, delete and send at {last:,} / at {first:,}": cpu_growth,
        f"p50 of a receive at {last:,} / at {first:,}": growth,
        "data folder after the drain / at its peak": drained.disk_after / drained.disk_peak,
        "memory at its most / 400 MB": most / RESIDENT_LIMIT,
    }
    holds = {
        f"{last:,} messages of 1 KB with under 400 MB resident": most < RESIDENT_LIMIT,
        f"p50 of a receive at {last:,} <= {GROWTH_LIMIT} times that at {first:,}": growth <= GROWTH_LIMIT,
        "data folder below 10 % of its peak within 60 s of the drain": shrunk,
    }
    return ratios, holds


HEAD = [
    "depth",
    "filled/s",
    "receives/s",
    "p50 ms",
    "p99 ms",
    "CPU ms",
    "others",
    "attributes p50 ms",
    "p99 ms",
    "RSS MB",
    "most",
    "disk MB",
]


def _cells(one: Look) -> list[str]:
    receive, attributes = one.receive, one.attributes
    sizes = [f"{size / 1e6:,.0f}" for size in (one.resident, one.resident_most, one.disk)]
    rates = [f"{one.filled_per_s:,.0f}", f"{receive.rate:,.0f}"]
    cost = (receive.p50_ms, receive.p99_ms, one.turn_cpu_ms, one.others, attributes.p50_ms, attributes.p99_ms)
    latencies = [f"{value:.2f}" for value in cost]
    return [f"{one.depth:,}", *rates, *latencies, *sizes]


def _line(one: Look) -> str:
    return ", ".join(f"{name} {cell}" for name, cell in zip(HEAD[1:], _cells(one)[1:], strict=True))


NOTE = (
    "At each depth 8 connections receive one message, delete it and send another, so that the depth stays; the "
    "latencies are those of the receives, CPU ms is the server's for all three. Others: cores that processes outside "
    "the benchmark took meanwhile; it should be near 0. Attributes: GetQueueAttributes with the three "
    "counts, one after the other."
)


def drain_table(drained: Drain) -> Table:
    below = "not within 180 s" if drained.below_s is None else f"{drained.below_s:.1f} s"
    rows = [
        [f"drained {drained.messages:,} messages in tens, 32 connections", f"{drained.per_s:,.0f} messages/s"],
        ["resident at its most while draining", f"{drained.resident_most / 1e6:,.0f} MB"],
        ["resident at its most of the whole run (VmHWM)", f"{drained.high_water / 1e6:,.0f} MB"],
        ["data folder at its peak", f"{drained.disk_peak / 1e6:,.0f} MB"],
        ["data folder after the drain", f"{drained.disk_after / 1e6:,.1f} MB"],
        ["below 10 % of the peak after the last delete", below],
    ]
    return Table(["drain", "measured"], rows)


def arguments() -> argparse.Namespace:
    parser = report.options("One queue, filled to millions of messages of 1 KB and drained.")
    parser.add_argument("--messages", type=int, default=10_000_000, help="the depth to reach (10 million)")
    parser.add_argument("--seconds", type=float, default=8, help="how long to receive at each depth (8)")
    return parser.parse_args()


def main() -> None:
    args = arguments()
    base = scratch(args.data)
    with tempfile.TemporaryDirectory(dir=base) as folder:
        looks, drained = measure(Path(folder), args.messages, args.seconds)
    ratios, holds = judge(looks, drained)
    rows: list[Any] = [*looks, drained]
    result = Report("depth", machine(base), command(), rows, ratios, holds)
    tables = [Table(HEAD, [_cells(one) for one in looks], NOTE), drain_table(drained), report.claims(holds)]
    report.hand_over(result, "Depth: one queue with millions of messages", tables, args)


if __name__ == "__main__":
    report.entry(main)
