"""Speed on Cassandra with one node and with three, and what more machines would carry: `python -m bench.cassandra`."""

from __future__ import annotations

import argparse
import contextlib
import tempfile
import time
from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import Any

import msgspec

from bench import process, report, swarm
from bench.call import create
from bench.error import BenchError
from bench.load import LOADS, Load, Target, target, top_up, wrk
from bench.machine import command, machine, scratch
from bench.report import Report, Table
from bench.server import Pace, Server
from rockdove.workload.cluster import LocalCluster
from rockdove.workload.error import WorkloadFailed
from rockdove.workload.local import ServiceProcess
from rockdove.workload.process import own_cpu_of

JARS = Path(".setup") / "cassandra" / "lib"
NODES = (1, 3)
# What the estimate is for: so many machines, with so many cores each.
MACHINES, CORES = (3, 6, 12, 24), 8
# The share of its CPU that somebody would give a machine to do.
BUSY = 0.6
# Milliseconds within which 99 of 100 long polls are to be answered that another front-end holds.
WAKE_MS = 250


class Speed(msgspec.Struct, frozen=True):
    """One load. CPU is microseconds for a message, of the front-end and of all nodes together."""

    nodes: int
    load: str
    messages_s: float
    p50_ms: float
    p99_ms: float
    front_end_us: float
    nodes_us: float
    empty: int


class Wake(msgspec.Struct, frozen=True):
    """How long after a send at one front-end a long poll at another is answered."""

    nodes: int
    p50_ms: float
    p99_ms: float


def _nodes(number: int) -> str:
    return f"{number} node{'s' * (number > 1)}"


@contextlib.contextmanager
def cluster(folder: Path, nodes: int) -> Iterator[LocalCluster]:
    if not any(JARS.glob("*.jar")):
        raise BenchError(f"{JARS} has no jars of Cassandra. Run make cassandra-jars")
    try:
        with LocalCluster(folder, JARS.absolute(), nodes) as running:
            yield running
    except WorkloadFailed as error:
        raise BenchError(str(error)) from None


def measure(running: LocalCluster, front: ServiceProcess, load: Load, seconds: float, threads: int) -> Speed:
    """The second of two runs: the first finds the rate, and lets the nodes compile what they run."""
    nodes = len(running.nodes)
    at = target(Server(_nodes(nodes), front.endpoint, front.pid, Path(), Pace()), load)
    for length_s in (seconds / 2, seconds):
        if load.takes:
            top_up(at, int(at.rate * length_s * 3) + 5_000)
        process.settle(front.pid)
        found = _run(at, running, front, length_s, threads)
        at.rate = found.messages_s
    return found


def _run(at: Target, running: LocalCluster, front: ServiceProcess, seconds: float, threads: int) -> Speed:
    pids = [node.pid for node in running.nodes if node.pid is not None]
    before = own_cpu_of([front.pid]), own_cpu_of(pids)
    output = wrk(at, seconds, threads)
    after = own_cpu_of([front.pid]), own_cpu_of(pids)
    failed = output.error_connect + output.error_read + output.error_write + output.error_status + output.error_timeout
    if failed or output.refused:
        raise BenchError(f"{at.label}: {failed} requests failed, {output.refused} batches had a refused entry")
    messages = output.received if at.load.takes else output.requests * at.load.batch
    if not messages:
        raise BenchError(f"{at.label}: no message was received")
    # The first receives after a long pause come before the front-end has looked; they are few.
    empty = max(output.receives - (output.replies or output.received), 0) if at.load.takes else 0
    used = [1e6 * (late - early) / messages for early, late in zip(before, after, strict=True)]
    rate = messages / (output.duration_us / 1e6)
    nodes = len(running.nodes)
    return Speed(nodes, at.load.name, rate, output.p50_us / 1e3, output.p99_us / 1e3, used[0], used[1], empty)


def wakes(fronts: Sequence[ServiceProcess], nodes: int, rounds: int) -> Wake:
    url = create(fronts[0].endpoint, "wake")
    # The other front-end hears of the queue.
    time.sleep(1)
    waiting_at = url.replace(fronts[0].endpoint, fronts[1].endpoint)
    took = swarm.run(swarm.wake(fronts[1].endpoint, waiting_at, rounds, sender_at=fronts[0].endpoint))
    return Wake(nodes, took.p50_ms, took.p99_ms)


def speed_table(found: Sequence[Speed]) -> Table:
    titles = {load.name: load.title for load in LOADS}
    head = ["nodes, load", "messages/s", "p50 ms", "p99 ms", "front-end, us CPU", "nodes, us CPU"]
    lines = [
        [
            f"{speed.nodes}, {titles[speed.load]}",
            report.rate(speed.messages_s),
            f"{speed.p50_ms:.1f}",
            f"{speed.p99_ms:.1f}",
            f"{speed.front_end_us:.0f}",
            f"{speed.nodes_us:.0f}",
        ]
        for speed in found
    ]
    note = (
        "As many copies as nodes, consistency quorum, one front-end; all share this machine with the load. The times "
        "are of a request, and the CPU is for a message, of all nodes together."
    )
    return Table(head, lines, note)


def wake_table(found: Sequence[Wake]) -> Table:
    lines = [[str(wake.nodes), f"{wake.p50_ms:.1f}", f"{wake.p99_ms:.1f}"] for wake in found]
    return Table(["nodes; from a send to a long poll at another front-end, ms", "p50", "p99"], lines)


def carried(found: Sequence[Speed], machines: int) -> dict[str, float]:
    """Messages a second by load, from the CPU with three copies."""
    return {
        speed.load: machines * CORES * BUSY * 1e6 / (speed.front_end_us + speed.nodes_us)
        for speed in found
        if speed.nodes == max(NODES)
    }


def estimate_table(found: Sequence[Speed]) -> Table:
    rates = {machines: carried(found, machines) for machines in MACHINES}
    lines = [[load.title, *(report.rate(rates[machines][load.name]) for machines in MACHINES)] for load in LOADS]
    head = ["messages/s, worked out", *(f"{machines} machines" for machines in MACHINES)]
    note = (
        f"Machines with {CORES} cores like these, each with a node and as many front-ends as it takes, three copies, "
        f"{BUSY:.0%} of the CPU in use: machines x cores x {BUSY} / CPU for a message. Many queues, so that the load "
        "spreads over all nodes. Networks and disks are left out: this is what the CPU allows, not a measurement."
    )
    return Table(head, lines, note)


def main() -> None:
    parser = report.options("Speed on Cassandra, with one node and with three.")
    parser.add_argument("--seconds", type=float, default=10.0, help="the length of a run")
    parser.add_argument("--threads", type=int, default=1, help="threads of wrk")
    parser.add_argument("--rounds", type=int, default=500, help="long polls")
    args: argparse.Namespace = parser.parse_args()
    about = machine(scratch(args.data))
    found: list[Speed] = []
    woken: list[Wake] = []
    for nodes in NODES:
        with tempfile.TemporaryDirectory(dir=scratch(args.data)) as folder, cluster(Path(folder), nodes) as running:
            with running.serving(1, "quorum") as fronts:
                for load in LOADS:
                    report.progress(f"{_nodes(nodes)}, {load.title}")
                    found.append(measure(running, fronts[0], load, args.seconds, args.threads))
            with running.serving(2, "quorum") as fronts:
                woken.append(wakes(fronts, nodes, args.rounds))
    holds = {
        f"long polls at another front-end, {_nodes(wake.nodes)}: p99 <= {WAKE_MS} ms": wake.p99_ms <= WAKE_MS
        for wake in woken
    }
    everything: list[Any] = [*found, *woken]
    tables = [speed_table(found), wake_table(woken), estimate_table(found), report.claims(holds)]
    report.hand_over(
        Report("cassandra", about, command(), everything, {}, holds), "Cassandra: one node and three", tables, args
    )


if __name__ == "__main__":
    report.entry(main)
