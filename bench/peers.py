"""`make bench-peers`: ours beside other SQS servers under the same loads in one run; run as `python -m bench.peers`."""

from __future__ import annotations

import argparse
import contextlib
import tempfile
from collections.abc import Sequence
from pathlib import Path

from bench import elasticmq, report
from bench.contest import LEGEND, Entry, Row, contest, options, plan, ratio, table
from bench.load import LOADS
from bench.machine import command, machine, scratch
from bench.moto import moto
from bench.report import Report, Table
from bench.server import Server, rockdove

STARTERS = {
    "rockdove": rockdove,
    "elasticmq": elasticmq.in_memory,
    "elasticmq-sql": elasticmq.with_sql,
    "moto": moto,
}

# Ours, durable, is to be so many times as fast as ElasticMQ in memory.
AIM = 2.0

NOTE = (
    f"{LEGEND} rockdove answers a send after fsync; ElasticMQ in memory and moto keep "
    "nothing; ElasticMQ with SQL writes to an H2 file without an fsync for each send. moto goes through the whole "
    "queue on every call, so its figures fall with depth; it gets one run of 30 s."
)


def measure(servers: Sequence[Server], args: argparse.Namespace) -> list[Row]:
    entries = [Entry(server, load, 1 if server.name == "moto" else args.rounds) for load in LOADS for server in servers]
    return contest(entries, plan(args))


def ratios_of(rows: Sequence[Row]) -> dict[str, float]:
    """Our requests/s over each other server's, load by load."""
    others = list(dict.fromkeys(row.server for row in rows if row.server != "rockdove"))
    return {
        f"{load.title}: rockdove / {other}": ratio(rows, ("rockdove", load), (other, load))
        for other in others
        for load in LOADS
        if any(row.server == "rockdove" for row in rows)
    }


def holds_of(ratios: dict[str, float]) -> dict[str, bool]:
    return {f"{name} >= {AIM:.0f}": ratio >= AIM for name, ratio in ratios.items() if name.endswith("in memory")}


def arguments() -> argparse.Namespace:
    parser = options("Speed of the service beside ElasticMQ and moto.")
    parser.add_argument("--only", nargs="+", choices=sorted(STARTERS), help="only these servers")
    return parser.parse_args()


def main() -> None:
    args = arguments()
    base = scratch(args.data)
    with tempfile.TemporaryDirectory(dir=base) as folder, contextlib.ExitStack() as running:
        chosen = [start for name, start in STARTERS.items() if not args.only or name in args.only]
        rows = measure([running.enter_context(start(Path(folder))) for start in chosen], args)
    ratios = ratios_of(rows)
    holds = holds_of(ratios)
    times = Table(["ratio of requests/s", "times"], [[name, f"{ratio:.1f}"] for name, ratio in ratios.items()])
    result = Report("peers", machine(base), command(), list(rows), ratios, holds)
    tables = [table(rows, LOADS, note=NOTE), times, report.claims(holds)]
    report.hand_over(result, "Peers: rockdove beside other SQS servers", tables, args)


if __name__ == "__main__":
    report.entry(main)
