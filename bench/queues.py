"""How fast Spark reads and writes queues, beside boto3 in as many processes, on one server."""

from __future__ import annotations

import argparse
import shutil
import tempfile
import time
from collections.abc import Callable
from datetime import datetime
from pathlib import Path
from statistics import median
from typing import TYPE_CHECKING

import msgspec

from bench import boto, report
from bench.error import BenchError
from bench.machine import command, machine, scratch
from bench.process import cpu_s, settle
from bench.report import Report, Table, rate
from bench.server import Server, rockdove
from rockdove.client import Client

if TYPE_CHECKING:
    from pyspark.sql import SparkSession

# How many times as fast as boto3 Spark is to be.
SOURCE_AIM, SINK_AIM = 2.0, 1.5
# Rows of the batches from whose times that of an empty one is found, and how many batches of each.
SIZES, BATCHES = (100, 5_000), 8


class Row(msgspec.Struct, frozen=True):
    """One engine, in one direction, over all rounds; the rate is the median, `server_us` the CPU time of the server."""

    engine: str
    does: str
    processes: int
    messages: int
    rounds: int
    rows_s: float
    lowest_s: float
    highest_s: float
    server_us: float


class Cost(msgspec.Struct, frozen=True):
    """What comes on top of the rows: until the first one, at every start of a query, and in every batch."""

    part: str
    session_s: float
    first_s: float
    query_s: float | None
    batch_ms: float


class Reading(msgspec.Struct, frozen=True):
    """Seconds from the start of a query to that of its first batch, and from there to its end; what each batch took."""

    start_s: float
    seconds: float
    batches_ms: list[int]


class Round(msgspec.Struct, frozen=True):
    rows_s: float
    server_us: float


class Bench:
    """A server, a session of Spark, and what both are measured with."""

    def __init__(self, server: Server, spark: SparkSession, folder: Path, args: argparse.Namespace) -> None:
        self.args = args
        self._server = server
        self._spark = spark
        self._folder = folder
        self._client = Client(server.endpoint)
        self._made = 0

    def queue(self) -> str:
        self._made += 1
        return self._client.create_queue(f"queue-{self._made}")

    def write(self, queue: str, messages: int) -> float:
        """Spark's sink."""
        numbers = self._spark.range(0, messages, 1, self.args.processes)
        table = numbers.selectExpr(f"lpad(CAST(id AS STRING), {self.args.size}, 'x') AS body")
        began = time.monotonic()
        table.write.format("rockdove").mode("append").options(**self._options(queue)).save()
        return time.monotonic() - began

    def read(self, queue: str, messages: int, each: int | None = None) -> Reading:
        """Spark's source, until the queue is empty."""
        options = self._options(queue) | {"numPartitions": str(self.args.processes)}
        if each is not None:
            options["maxMessagesPerTrigger"] = str(each)
        self._made += 1
        stream = self._spark.readStream.format("rockdove").options(**options).load()
        writer = stream.writeStream.format("noop").trigger(availableNow=True)
        began = time.time()
        query = writer.option("checkpointLocation", str(self._folder / f"checkpoint-{self._made}")).start()
        query.awaitTermination()
        ended = time.time()
        batches = [progress for progress in query.recentProgress if progress.numInputRows]
        rows = sum(progress.numInputRows for progress in batches)
        if rows != messages:
            raise BenchError(f"Spark has read {rows:,} messages, not {messages:,}")
        first = datetime.fromisoformat(batches[0].timestamp).timestamp()
        return Reading(first - began, ended - first, [int(batch.durationMs["triggerExecution"]) for batch in batches])

    def send(self, queue: str, messages: int) -> float:
        return self._boto(boto.send, queue, messages)

    def consume(self, queue: str, messages: int) -> float:
        return self._boto(boto.consume, queue, messages)

    def measured(self, does: Callable[[str, int], float], queue: str, before: int, after: int) -> Round:
        """One round of something that finds so many messages and leaves so many."""
        self._check(queue, before)
        settle(self._server.pid)
        messages, used_s = self.args.messages, cpu_s(self._server.pid)
        took_s = does(queue, messages)
        self._check(queue, after)
        server_s = cpu_s(self._server.pid) - used_s
        return Round(messages / took_s, server_s / messages * 1e6)

    def _boto(self, work: boto.Work, queue: str, messages: int) -> float:
        args = self.args
        return boto.together(work, self._server.endpoint, queue, messages, args.size, args.processes)

    def _check(self, queue: str, messages: int) -> None:
        wanted = ("ApproximateNumberOfMessages", "ApproximateNumberOfMessagesNotVisible")
        found = sum(map(int, self._client.attributes(queue, wanted).values()))
        if found != messages:
            raise BenchError(f"there are {found:,} messages in the queue, not {messages:,}")

    def _options(self, queue: str) -> dict[str, str]:
        return {"queue": queue, "endpoint": self._server.endpoint}


def rounds(bench: Bench) -> dict[tuple[str, str], list[Round]]:
    """By engine and direction; whoever is first in one round is second in the next."""
    found: dict[tuple[str, str], list[Round]] = {
        (engine, does): [] for does in ("consume", "produce") for engine in ("spark", "boto3")
    }
    produce = {"spark": bench.write, "boto3": bench.send}
    consume = {"spark": lambda queue, messages: bench.read(queue, messages).seconds, "boto3": bench.consume}
    for number in range(bench.args.rounds):
        report.progress(f"round {number + 1} of {bench.args.rounds}")
        engines = ("spark", "boto3")[:: 1 if number % 2 else -1]
        queues = {engine: bench.queue() for engine in engines}
        messages = bench.args.messages
        for engine in engines:
            found[engine, "produce"].append(bench.measured(produce[engine], queues[engine], 0, messages))
        for engine in engines:
            found[engine, "consume"].append(bench.measured(consume[engine], queues[engine], messages, 0))
    return found


def batch_ms(times: dict[int, float]) -> float:
    """Of a batch without rows, by the straight line through the times of two sizes."""
    (few, short), (many, long) = sorted(times.items())
    return (short * many - long * few) / (many - few)


def overhead(bench: Bench) -> tuple[float, float, float]:
    """Seconds until a query begins its first batch; milliseconds of a batch without rows, of source and sink."""
    report.progress("small batches")
    read, written = {}, {}
    for size in SIZES:
        queue = bench.queue()
        written[size] = median(bench.write(queue, size) for _ in range(BATCHES)) * 1e3
        found = bench.read(queue, size * BATCHES, size)
        read[size] = median(found.batches_ms)
    return found.start_s, batch_ms(read), batch_ms(written)


def measure(server: Server, folder: Path, args: argparse.Namespace) -> tuple[list[Row], list[Cost], dict[str, float]]:
    from rockdove.spark.session import session

    report.progress("Spark")
    began = time.monotonic()
    with session(f"local[{args.processes}]") as spark:
        session_s = time.monotonic() - began
        bench = Bench(server, spark, folder, args)
        first = bench.queue()
        sink_s = bench.write(first, 1)
        reading = bench.read(first, 1)
        source_s = reading.start_s + reading.seconds
        report.progress("warming up")
        warm = bench.queue()
        for _ in range(2):
            bench.write(warm, args.messages // 4)
            bench.read(warm, args.messages // 4)
        found = rounds(bench)
        query_s, source_ms, sink_ms = overhead(bench)
    rows = [
        Row(
            engine,
            does,
            args.processes,
            args.messages,
            args.rounds,
            median(each.rows_s for each in some),
            min(each.rows_s for each in some),
            max(each.rows_s for each in some),
            median(each.server_us for each in some),
        )
        for (engine, does), some in found.items()
    ]
    costs = [Cost("sink", session_s, sink_s, None, sink_ms), Cost("source", session_s, source_s, query_s, source_ms)]
    ratios = {
        name: median(
            spark.rows_s / plain.rows_s for spark, plain in zip(found["spark", does], found["boto3", does], strict=True)
        )
        for name, does in (("source / boto3", "consume"), ("sink / boto3", "produce"))
    }
    return rows, costs, ratios


def arguments() -> argparse.Namespace:
    parser = report.options("Queues in Spark beside boto3: rows a second, and what comes on top of them.")
    parser.add_argument("--messages", type=int, default=40_000, help="messages of a round (40,000)")
    parser.add_argument("--size", type=int, default=1_024, help="bytes of a body (1,024)")
    parser.add_argument("--processes", type=int, default=2, help="processes of boto3, and tasks of Spark (2)")
    parser.add_argument("--rounds", type=int, default=3, help="rounds, of which the median counts (3)")
    return parser.parse_args()


def tables(rows: list[Row], costs: list[Cost], ratios: dict[str, float], args: argparse.Namespace) -> list[Table]:
    speed = Table(
        ["engine", "does", "processes", "messages", "rows/s", "lowest", "highest", "server µs a row"],
        [
            [
                row.engine,
                row.does,
                str(row.processes),
                f"{row.messages:,}",
                rate(row.rows_s),
                rate(row.lowest_s),
                rate(row.highest_s),
                f"{row.server_us:.0f}",
            ]
            for row in rows
        ],
        f"Bodies of {args.size:,} bytes, medians of {args.rounds} rounds in turns, in one server (SQLite, fsync on), "
        "all warm. boto3 receives and deletes, or sends, in tens, once its processes are connected. Spark's source "
        "is timed from the first batch of a query to the query's end, with all that batches cost and the deletes; the "
        f"sink is a whole df.write. In the same round the source was {ratios['source / boto3']:.2f} times as fast as "
        f"boto3 (aim {SOURCE_AIM:g}), and the sink {ratios['sink / boto3']:.2f} times (aim {SINK_AIM:g}).",
    )
    start = Table(
        ["Spark", "session up s", "first row s", "query s", "a batch ms"],
        [
            [
                each.part,
                f"{each.session_s:.1f}",
                f"{each.first_s:.1f}",
                "" if each.query_s is None else f"{each.query_s:.1f}",
                f"{each.batch_ms:.0f}",
            ]
            for each in costs
        ],
        "Apart from the rows: to start a session with its JVM; then the first row in it, the sink's before the "
        "source's, when nothing is loaded or compiled yet; and, in a warm session, from a query's start to that of its "
        "first batch, and what a batch takes beside its rows, by the straight line through the medians of batches "
        f"of {SIZES[0]:,} and {SIZES[1]:,} rows. A batch of the source is one of a stream, with Spark's offset and "
        "commit logs; one of the sink is a df.write.",
    )
    return [speed, start]


def main() -> None:
    args = arguments()
    base = scratch(args.data)
    about = machine(base)
    folder = Path(tempfile.mkdtemp(dir=base))
    try:
        with rockdove(folder) as server:
            rows, costs, ratios = measure(server, folder, args)
    finally:
        shutil.rmtree(folder, ignore_errors=True)
    holds = {
        f"The source is at least {SOURCE_AIM:g} times as fast as boto3": ratios["source / boto3"] >= SOURCE_AIM,
        f"The sink is at least {SINK_AIM:g} times as fast as boto3": ratios["sink / boto3"] >= SINK_AIM,
    }
    result = Report("queues", about, command(), [*rows, *costs], ratios, holds)
    title = "Queues in Spark beside boto3"
    report.hand_over(result, title, [*tables(rows, costs, ratios, args), report.claims(holds)], args)


if __name__ == "__main__":
    report.entry(main)
