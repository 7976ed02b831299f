"""What front-end processes bring, and what they cost; run as `python -m bench.workers`."""

from __future__ import annotations

import argparse
import contextlib
import os
import tempfile
from pathlib import Path
from typing import Any

import msgspec

from bench import report, swarm
from bench.call import create
from bench.contest import LEGEND, Entry, Row, contest, options, plan, ratio, table
from bench.load import LOADS, SEND, Load, measure, target, top_up, wrk
from bench.machine import Machine, command, machine, scratch
from bench.report import Report, Table
from bench.server import Failed, Server, rockdove
from rockdove.server.setting import default_workers
from rockdove.workload.process import family, own_cpu_of

ALONE = "workers 0"
EARLIER = "earlier"
# By how much the default is to be faster than a single process.
AIMS = {load.name: 1.25 if load is SEND else 1.4 for load in LOADS}
CORES = (4, 8, 16)
# Milliseconds within which 99 of 100 long polls are to be answered, whichever front-end holds them.
WAKE_MS = 20


class Cost(msgspec.Struct, frozen=True):
    """Microseconds of CPU for a request, by process; of several front-ends the sum."""

    load: str
    owner_us: float
    front_end_us: float

    def carries(self, cores: int) -> tuple[float, str]:
        """Requests a second with so many cores, one of them the owner's, and which process is the limit then."""
        owner, front_ends = 1e6 / self.owner_us, (cores - 1) * 1e6 / self.front_end_us
        return (owner, "owner") if owner < front_ends else (front_ends, "front-ends")


def servers(folder: Path, numbers: list[int], stack: contextlib.ExitStack) -> dict[int, Server]:
    return {
        number: stack.enter_context(
            rockdove(folder, f"workers-{number}", flags=["--workers", str(number)], label=f"workers {number}")
        )
        for number in numbers
    }


def costs(server: Server, seconds: float, threads: int) -> list[Cost]:
    """Of each load, one run on a server with a front-end."""
    owner = _owner(server)
    found = []
    for load in LOADS:
        at = target(server, load, round_=1_000)
        # Finds the rate, and fills the queue for the run after it.
        measure(at, seconds, threads)
        if load.takes:
            top_up(at, int(at.rate * seconds * 2))
        front_ends = [pid for pid in family(server.pid) if pid not in (owner, server.pid)]
        before = own_cpu_of([owner]), own_cpu_of(front_ends)
        requests = wrk(at, seconds, threads).requests
        after = own_cpu_of([owner]), own_cpu_of(front_ends)
        used = [1e6 * (b - a) / requests for a, b in zip(before, after, strict=True)]
        found.append(Cost(load.name, *used))
    return found


def _owner(server: Server) -> int:
    """The process that has the lock of the data folder open."""
    lock = str(server.folder / "lock")
    for pid in family(server.pid):
        if any(os.path.realpath(file) == lock for file in Path(f"/proc/{pid}/fd").iterdir()):
            return pid
    raise Failed("no process has the data folder")


class Wake(msgspec.Struct, frozen=True):
    """How long after a send a long poll is answered that waited for it."""

    server: str
    p50_ms: float
    p99_ms: float


def wakes(running: dict[int, Server]) -> list[Wake]:
    found = []
    for number, server in running.items():
        url = create(server.endpoint, f"wake-{number}", server.credentials)
        took = swarm.run(swarm.wake(server.endpoint, url))
        found.append(Wake(server.name, took.p50_ms, took.p99_ms))
    return found


def judge(rows: list[Row], default: str, earlier: bool) -> tuple[dict[str, float], dict[str, bool]]:
    ratios = {f"{load.title}: {default} beside {ALONE}": ratio(rows, (default, load), (ALONE, load)) for load in LOADS}
    holds = {
        f"{load.title}: {default} >= {AIMS[load.name]} of {ALONE}": found >= AIMS[load.name]
        for load, found in zip(LOADS, ratios.values(), strict=True)
    }
    if earlier:
        for load in LOADS:
            name = f"{load.title}: {ALONE} beside {EARLIER}"
            ratios[name] = ratio(rows, (ALONE, load), (EARLIER, load))
            holds[f"{load.title}: {ALONE} >= {EARLIER}"] = ratios[name] >= 1
    return ratios, holds


def speed_table(rows: list[Row]) -> Table:
    shares = {
        row: f"{ratio(rows, (row.server, load), (ALONE, load)):.2f} of {ALONE}"
        for load in LOADS
        for row in rows
        if row.load == load.name and row.server != ALONE
    }
    return table(rows, LOADS, {"share": shares}, LEGEND)


def cost_table(found: list[Cost], rows: list[Row]) -> Table:
    titles: dict[str, Load] = {load.name: load for load in LOADS}
    lines = []
    for cost in found:
        alone = next(row for row in rows if (row.server, row.load) == (ALONE, cost.load))
        carried = [cost.carries(cores) for cores in CORES]
        lines.append(
            [
                titles[cost.load].title,
                f"{1e6 / alone.per_cpu_s:.0f}",
                f"{cost.front_end_us:.0f}",
                f"{cost.owner_us:.0f}",
                *(f"{report.rate(rate)} ({limit})" for rate, limit in carried),
            ]
        )
    head = ["CPU for a request, us", ALONE, "front-end", "owner", *(f"{cores} cores" for cores in CORES)]
    note = (
        "From one front-end and its owner. What more cores would carry is worked out, not measured: one core for the "
        "owner, whose threads share one interpreter lock, and a front-end for each other core."
    )
    return Table(head, lines, note)


def wake_table(found: list[Wake]) -> Table:
    lines = [[wake.server, f"{wake.p50_ms:.1f}", f"{wake.p99_ms:.1f}"] for wake in found]
    note = "Eight connections take turns in waiting; they are spread over the front-ends, and the sender is a ninth."
    return Table(["from a send to the answer of a long poll, ms", "p50", "p99"], lines, note)


def main() -> None:
    parser = options("What front-end processes bring, and what they cost.")
    parser.add_argument("--workers", type=int, nargs="*", help="numbers of front-ends to compare with 0 (1 2)")
    parser.add_argument("--earlier", help="the program `rockdove` of a version without --workers, to compare with")
    args: argparse.Namespace = parser.parse_args()
    default = default_workers()
    numbers = sorted({0, default, *(args.workers or (1, 2))})
    base = scratch(args.data)
    about: Machine = machine(base)
    with tempfile.TemporaryDirectory(dir=base) as folder, contextlib.ExitStack() as stack:
        running = servers(Path(folder), numbers, stack)
        compared = list(running.values())
        if args.earlier:
            compared.append(stack.enter_context(rockdove(Path(folder), EARLIER, label=EARLIER, program=args.earlier)))
        entries = [Entry(server, load, args.rounds) for load in LOADS for server in compared]
        rows = contest(entries, plan(args))
        found = costs(running[1 if 1 in running else default], args.seconds, args.threads)
        woken = wakes(running)
    ratios, holds = judge(rows, f"workers {default}", bool(args.earlier))
    holds |= {f"long polls, {wake.server}: p99 <= {WAKE_MS} ms": wake.p99_ms <= WAKE_MS for wake in woken}
    everything: list[Any] = [*rows, *found, *woken]
    result = Report("workers", about, command(), everything, ratios, holds)
    title = f"Front-ends: --workers on {os.cpu_count()} cores, of which the load takes its part"
    tables = [speed_table(rows), cost_table(found, rows), wake_table(woken), report.claims(holds)]
    report.hand_over(result, title, tables, args)


if __name__ == "__main__":
    report.entry(main)
