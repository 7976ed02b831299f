"""Very many queues that hold nothing: the memory and the start of a service; run as `python -m bench.many`."""

from __future__ import annotations

import argparse
import tempfile
import time
from pathlib import Path

import msgspec

from bench import process, report, swarm
from bench.machine import command, machine, scratch
from bench.report import Report, Table
from bench.server import rockdove

QUEUES = 100_000
PARTS = 4
# Bytes for a queue in all processes, and seconds for a start, at most.
MOST_BYTES = 1_000
MOST_S = 5.0
# Seconds until a service that has started is at rest.
REST_S = 2.0


class Result(msgspec.Struct, frozen=True):
    """With so many front-ends. ``create_s`` are the times of the quarters in turn; memory is of all processes."""

    workers: int
    queues: int
    create_s: list[float]
    start_empty_s: float
    start_s: float
    bytes_empty: int
    bytes_per_queue: float


def _start(folder: Path, workers: int) -> tuple[float, int]:
    """How long a start takes, and the memory after it."""
    begin_s = time.monotonic()
    with rockdove(folder, flags=_flags(workers)) as server:
        took_s = time.monotonic() - begin_s
        time.sleep(REST_S)
        return took_s, process.memory(server.pid).resident


def _flags(workers: int) -> list[str]:
    return ["--workers", str(workers), "--max-queues-per-account", str(10 * QUEUES)]


def measure(base: Path, workers: int, queues: int) -> Result:
    create_s: list[float] = []
    with tempfile.TemporaryDirectory(dir=base) as name:
        folder = Path(name)
        start_empty_s, before = _start(folder, workers)
        with rockdove(folder, flags=_flags(workers)) as server:
            for part in range(PARTS):
                some = range(part * queues // PARTS, (part + 1) * queues // PARTS)
                begin_s = time.monotonic()
                swarm.run(swarm.create(server.endpoint, (f"queue-{number}" for number in some)))
                create_s.append(time.monotonic() - begin_s)
        start_s, after = _start(folder, workers)
    return Result(workers, queues, create_s, start_empty_s, start_s, before, (after - before) / queues)


def main() -> None:
    args = arguments()
    base, results = scratch(args.data), []
    for workers in args.workers:
        report.progress(f"{args.queues:,} queues, {workers} front-ends")
        results.append(measure(base, workers, args.queues))
    holds = {
        f"an idle queue takes less than {MOST_BYTES:,} bytes": all(
            each.bytes_per_queue < MOST_BYTES for each in results
        ),
        f"a start takes less than {MOST_S:.0f} s": all(each.start_s < MOST_S for each in results),
    }
    head = ["front-ends", "queues", *[f"quarter {part + 1} s" for part in range(PARTS)]]
    head += ["start without s", "start with s", "MB without", "bytes per queue"]
    result = Report("many", machine(base), command(), [*results], {}, holds)
    tables = [Table(head, [_cells(each) for each in results], NOTE), report.claims(holds)]
    report.hand_over(result, "Very many queues that hold nothing", tables, args)


NOTE = (
    "Queues are created a quarter at a time, by 32 clients. Then the service is started again. Memory is that of all "
    "processes after a start: without queues, and how much more for each queue."
)


def _cells(each: Result) -> list[str]:
    times = [*each.create_s, each.start_empty_s, each.start_s]
    return [
        str(each.workers),
        f"{each.queues:,}",
        *[f"{took_s:.1f}" for took_s in times],
        f"{each.bytes_empty / 1e6:,.0f}",
        f"{each.bytes_per_queue:,.0f}",
    ]


def arguments() -> argparse.Namespace:
    parser = report.options("Very many queues: what does an idle one take, and how long does a start?")
    parser.add_argument("--queues", type=int, default=QUEUES, metavar="N")
    parser.add_argument("--workers", type=int, nargs="*", default=[0, 1], metavar="N", help="front-ends, one run each")
    return parser.parse_args()


if __name__ == "__main__":
    report.entry(main)
