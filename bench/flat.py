"""Two million messages through one queue on Cassandra, beside one in a naive table: run as `python -m bench.flat`."""

from __future__ import annotations

import argparse
import asyncio
import tempfile
import time
import uuid
from collections.abc import Sequence
from pathlib import Path
from typing import Any

import msgspec
from cassandra import OperationTimedOut, ReadFailure, ReadTimeout
from cassandra.cluster import Cluster, Session

from bench import report, swarm
from bench.call import create
from bench.cassandra import cluster
from bench.connection import BODY, Connection, request
from bench.machine import command, machine, scratch
from bench.report import Report, Table
from bench.swarm import Times, decode_received

CLIENTS = 8
# So many wait all the time.
BACKLOG = 500
PARTS = 10
# Of the receives of the last tenth, compared with those of the first.
MOST_P50, MOST_P99 = 1.2, 2.0
KEYSPACE = "naive"
# What Cassandra stops a read at, and more messages than it takes to get there.
TOMBSTONES = 100_000
MOST_NAIVE = 150_000


class Part(msgspec.Struct, frozen=True):
    """A tenth of the messages; `receive` is how long receives took."""

    store: str
    messages: int
    receive: Times


async def passing(endpoint: str, queue_url: str, messages: int) -> list[Part]:
    """Clients that send ten, receive ten and delete them, and never wait for each other."""
    entries = [{"Id": str(at), "MessageBody": BODY} for at in range(10)]
    send = request(endpoint, "SendMessageBatch", QueueUrl=queue_url, Entries=entries)
    receive = request(endpoint, "ReceiveMessage", QueueUrl=queue_url, MaxNumberOfMessages=10)
    await swarm.fill(endpoint, queue_url, BACKLOG)
    parts: list[Part] = []
    passed = 0
    samples: list[float] = []
    begin = time.monotonic()

    async def client() -> None:
        nonlocal passed, samples, begin
        connection = Connection(endpoint)
        while passed < messages:
            await connection.ask(send)
            asked = time.perf_counter()
            body = await connection.ask(receive)
            samples.append(time.perf_counter() - asked)
            got = decode_received(body).messages
            gone = [{"Id": str(at), "ReceiptHandle": message.receipt_handle} for at, message in enumerate(got)]
            if gone:
                await connection.ask(request(endpoint, "DeleteMessageBatch", QueueUrl=queue_url, Entries=gone))
            passed += len(got)
            if passed >= messages * (len(parts) + 1) // PARTS:
                parts.append(Part("rockdove", passed, swarm.times(samples, time.monotonic() - begin)))
                report.progress(f"{passed:,} messages, {parts[-1].receive.p50_ms:.1f} ms a receive")
                samples, begin = [], time.monotonic()
        connection.close()

    await asyncio.gather(*(client() for _ in range(CLIENTS)))
    return parts


def naive(session: Session, messages: int) -> tuple[list[Part], str]:
    """A queue as one partition that is read from its beginning. Also why it ended."""
    session.execute(
        f"CREATE KEYSPACE {KEYSPACE} WITH replication = {{'class': 'SimpleStrategy', 'replication_factor': 1}}"
    )
    session.execute(f"CREATE TABLE {KEYSPACE}.queue (name text, id timeuuid, body text, PRIMARY KEY (name, id))")
    put = session.prepare(f"INSERT INTO {KEYSPACE}.queue (name, id, body) VALUES ('q', ?, ?)")
    first = session.prepare(f"SELECT id, body FROM {KEYSPACE}.queue WHERE name = 'q' LIMIT 10")
    remove = session.prepare(f"DELETE FROM {KEYSPACE}.queue WHERE name = 'q' AND id = ?")
    parts: list[Part] = []
    passed = 0
    samples: list[float] = []
    begin = time.monotonic()
    while passed < messages:
        for sending in [session.execute_async(put, (uuid.uuid1(), BODY)) for _ in range(10)]:
            sending.result()
        asked = time.perf_counter()
        try:
            rows = session.execute(first).all()
        except (ReadFailure, ReadTimeout, OperationTimedOut) as error:
            return parts, f"After {passed:,} messages Cassandra refused to read it: {type(error).__name__}."
        samples.append(time.perf_counter() - asked)
        for removing in [session.execute_async(remove, (row.id,)) for row in rows]:
            removing.result()
        passed += len(rows)
        if passed >= TOMBSTONES * (len(parts) + 1) // PARTS:
            parts.append(Part("one partition", passed, swarm.times(samples, time.monotonic() - begin)))
            report.progress(f"one partition: {passed:,} messages, {parts[-1].receive.p50_ms:.1f} ms a receive")
            samples, begin = [], time.monotonic()
    return parts, f"It was ended after {passed:,} messages."


def parts_table(parts: Sequence[Part], title: str, note: str) -> Table:
    head = [title, "receives/s", "p50 ms", "p99 ms"]
    lines = [
        [
            f"{part.messages:,}",
            report.rate(part.receive.rate),
            f"{part.receive.p50_ms:.1f}",
            f"{part.receive.p99_ms:.1f}",
        ]
        for part in parts
    ]
    return Table(head, lines, note)


def main() -> None:
    parser = report.options("Two million messages through one queue on Cassandra.")
    parser.add_argument("--messages", type=int, default=2_000_000)
    args: argparse.Namespace = parser.parse_args()
    base = scratch(args.data)
    about = machine(base)
    with tempfile.TemporaryDirectory(dir=base) as folder, cluster(Path(folder), 1) as running:
        with running.serving(1, "quorum") as fronts:
            endpoint = fronts[0].endpoint
            ours = swarm.run(passing(endpoint, create(endpoint, "flat"), args.messages))
        driver = Cluster([running.nodes[0].address], protocol_version=5)
        try:
            theirs, end = naive(driver.connect(), min(args.messages, MOST_NAIVE))
        finally:
            driver.shutdown()
    first, last = ours[0].receive, ours[-1].receive
    ratios = {"median, last tenth beside the first": last.p50_ms / first.p50_ms}
    ratios["p99, last tenth beside the first"] = last.p99_ms / first.p99_ms
    holds = {
        f"median, last tenth beside the first < {MOST_P50}": last.p50_ms < MOST_P50 * first.p50_ms,
        f"p99, last tenth beside the first < {MOST_P99}": last.p99_ms < MOST_P99 * first.p99_ms,
    }
    tables = [
        parts_table(
            ours, "rockdove: messages passed", f"Eight clients, receives of ten; {BACKLOG} messages wait all the time."
        ),
        parts_table(theirs, "one partition: messages passed", f"One client, receives of ten. {end}"),
        report.claims(holds),
    ]
    everything: list[Any] = [*ours, *theirs]
    result = Report("flat", about, command(), everything, ratios, holds)
    report.hand_over(result, "Cassandra: two million messages through one queue", tables, args)


if __name__ == "__main__":
    report.entry(main)
