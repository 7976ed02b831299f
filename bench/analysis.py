"""How fast traces are analysed: Spark on this machine beside one DuckDB process with the same compiled loop."""

from __future__ import annotations

import argparse
import resource
import shutil
import tempfile
import time
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import Any

import msgspec
import numpy as np

from bench import report
from bench.error import BenchError
from bench.machine import command, machine, scratch
from bench.report import Report, Table, rate, yes
from bench.tracegen import generate
from rockdove.trace.schema import OPS

# Spark is to take at most so many times as long as DuckDB with the same loop.
AIM = 2.0
COUNTS = ("sent", "received", "receives", "deleted", "lost", "misses", "hits", "out_of_order", "displaced")


class Row(msgspec.Struct, frozen=True):
    """The fastest of the rounds; `start_s` is what it takes to start Spark, which is not part of it."""

    engine: str
    events: int
    queues: int
    skew: float
    seconds: float
    events_s: float
    start_s: float


def spark_counts(folder: Path, out: Path, cores: int, rounds: int) -> tuple[float, float, dict[str, int]]:
    """Seconds for the whole analysis, report included, seconds to start Spark, and counts to compare."""
    from rockdove.spark.analysis import analyse
    from rockdove.spark.result import hand_over
    from rockdove.spark.session import session

    began = time.perf_counter()
    with session(f"local[{cores}]", {"spark.driver.memory": "4g"}) as spark:
        started = time.perf_counter() - began

        def once() -> dict[str, int]:
            found = analyse(spark, [str(folder)], str(out))
            hand_over(spark, found, str(out))
            return {name: int(_count(found.queues, name)) for name in ("sent", "received", "deleted", "lost", "hits")}

        seconds, counts = fastest(once, rounds)
    return seconds, started, counts


def _count(rows: Sequence[Any], name: str) -> int:
    return sum(row[name] for row in rows)


def duckdb_counts(folder: Path, cores: int, rounds: int) -> tuple[float, dict[str, int]]:
    """The same figures: DuckDB reads, numbers and sorts the events, the loop measures them."""
    import duckdb

    from rockdove.spark.measure import EVERY, measurer
    from rockdove.spark.queue import WHOLE
    from rockdove.spark.window import cut

    def once() -> dict[str, int]:
        with duckdb.connect() as base:
            base.execute(f"set threads = {cores}; set TimeZone = 'UTC'")
            base.execute(f"set temp_directory = '{folder.parent / 'duckdb'}'; set memory_limit = '6GB'")
            files = f"read_parquet('{folder}/*.parquet')"
            base.execute(
                "create temp table places as select account, queue, row_number() over (order by queue, account) - 1 as "
                "number, min(epoch_us(event_time)) as first, max(epoch_us(event_time)) as last "
                f"from {files} group by account, queue"
            )
            spans: list[tuple[int, int]] = base.execute("select min(first), max(last) from places").fetchall()
            measure = measurer(cut(*spans[0]))
            counts = dict.fromkeys(COUNTS, 0)
            batches: Any = base.sql(_SQL.format(files=files, ops=list(OPS))).to_arrow_reader(65_536)
            for batch in measure(batches):
                number, window = batch.column("number").to_numpy(), batch.column("window").to_numpy()
                whole = (number != EVERY) & (window == WHOLE)
                for name in COUNTS:
                    if whole.any():
                        counts[name] += int(batch.column(name).to_numpy(zero_copy_only=False)[whole].sum())
            return counts

    return fastest(once, rounds)


# What rockdove.spark.event says in Spark's words.
_SQL = """
select
  (number << 40) | if(message_id is null, 0, (hash(message_id) & 1099511627775)::bigint | 1) as key,
  (list_position({ops}, op) - 1
    + if(side = 'client', 16, 0) + if(status between 200 and 299, 32, 0) + if(not checksum_ok, 64, 0))::bigint as kind,
  epoch_us(if(op = 'receive', coalesce(dequeued_at, event_time), event_time)) as time,
  coalesce(epoch_us(enqueued_at), -9223372036854775808) as enqueued,
  coalesce(epoch_us(coalesce(sent_at, enqueued_at)), -9223372036854775808) as sent,
  coalesce(latency_us, -9223372036854775808) as latency,
  if(op = 'receive', (hash(node, receiver, latency_us, coalesce(dequeued_at, event_time)) >> 1)::bigint, 0) as request,
  if(sender is not null and seq is not null, (hash(sender) >> 1)::bigint | 1, 0) as sender,
  coalesce(seq, 0) as seq,
  coalesce(message_id, '') as id
from {files} as events
join places on events.queue = places.queue and events.account is not distinct from places.account
order by key
"""


def fastest(once: Callable[[], dict[str, int]], rounds: int) -> tuple[float, dict[str, int]]:
    best, counts = float(np.inf), {}
    for _ in range(rounds):
        began = time.perf_counter()
        counts = once()
        best = min(best, time.perf_counter() - began)
    return best, counts


def compare(folder: Path, args: argparse.Namespace) -> list[Row]:
    trace = folder / "trace"
    report.progress(f"making about {args.events:,} events in {args.queues} queues")
    events = generate(trace, args.events, args.queues, args.skew)
    report.progress("compiling")
    generate(folder / "small", 1000, 2)
    duckdb_counts(folder / "small", args.cores, 1)
    report.progress("DuckDB")
    plain_s, plain = duckdb_counts(trace, args.cores, args.rounds)
    report.progress("Spark")
    spark_s, start_s, counts = spark_counts(trace, folder / "out", args.cores, args.rounds)
    differing = {name for name in counts if counts[name] != plain[name]}
    if differing:
        raise BenchError(f"Spark and DuckDB do not agree on {', '.join(sorted(differing))}")
    made = (events, args.queues, args.skew)
    return [
        Row("spark", *made, spark_s, events / spark_s, start_s),
        Row("duckdb", *made, plain_s, events / plain_s, 0.0),
    ]


def arguments() -> argparse.Namespace:
    parser = report.options("Analysis of a made-up trace: Spark beside DuckDB.")
    parser.add_argument("--events", type=int, default=20_000_000, help="events of the trace (20 million)")
    parser.add_argument("--queues", type=int, default=400, help="queues that they are of (400)")
    parser.add_argument("--skew", type=float, default=0.0, help="share of the events that is of one queue (0)")
    parser.add_argument("--cores", type=int, default=2, help="cores for each (2)")
    parser.add_argument("--rounds", type=int, default=1, help="runs of each, the fastest counts (1)")
    return parser.parse_args()


def main() -> None:
    args = arguments()
    base = scratch(args.data)
    about = machine(base)
    folder = Path(tempfile.mkdtemp(dir=base))
    try:
        rows = compare(folder, args)
    finally:
        shutil.rmtree(folder, ignore_errors=True)
    ratio = rows[0].seconds / rows[1].seconds
    claim = f"Spark takes at most {AIM:g} times as long as DuckDB with the same loop"
    result = Report("analysis", about, command(), list(rows), {"spark / duckdb": ratio}, {claim: ratio <= AIM})
    lines = [
        [row.engine, f"{row.events:,}", str(row.queues), f"{row.seconds:.1f}", rate(row.events_s), f"{row.start_s:.1f}"]
        for row in rows
    ]
    peak_mb = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / 1e3
    note = (
        f"Spark took {ratio:.2f} times as long as DuckDB (aim {AIM:g}: {yes(ratio <= AIM)}). Spark's time includes the "
        "tables, the report and the look at the files, but not its start. "
        f"The benchmark's process took {peak_mb:.0f} MB."
    )
    table = Table(["engine", "events", "queues", "seconds", "events/s", "start s"], lines, note)
    report.hand_over(result, "Analysis of traces: Spark beside DuckDB, the same compiled loop", [table], args)


if __name__ == "__main__":
    report.entry(main)
