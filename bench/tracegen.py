"""Traces made up: what a service with so many queues would have recorded, by numpy, without a service."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq

from rockdove.trace.schema import OPS, schema

# Sunday, 1 March 2026, 00:00 UTC; the trace covers an hour.
BEGIN_US = 1_772_323_200_000_000
LENGTH_US = 3_600_000_000
# Of a message's receives, so many are repeated; of receives, so many are misses.
DUPLICATES, MISSES = 0.02, 0.10
# How far apart receives of neighbours may be pushed out of order, in microseconds.
SCATTER_US = 20_000
CHUNK_MESSAGES = 100_000


def generate(folder: Path, events: int, queues: int, skew: float = 0.0, seed: int = 1) -> int:
    """Write about `events` events of a server; a share `skew` is of the first queue. Gives their exact number."""
    random = np.random.default_rng(seed)
    # A message is a send, a receive and a delete, and its share of duplicates and misses.
    messages = round(events / (3 + DUPLICATES + MISSES))
    folder.mkdir(parents=True, exist_ok=True)
    names = pa.array([f"queue-{number:04d}" for number in range(queues)])
    written, done, part = 0, 0, 0
    while done < messages:
        number = min(CHUNK_MESSAGES, messages - done)
        # Each file has a stretch of the time, as a recorder's files have.
        begin = BEGIN_US + LENGTH_US * done // messages
        table = _chunk(random, number, done, begin, LENGTH_US * number // messages, names, skew)
        pq.write_table(table, folder / f"{part:05d}.parquet", compression="zstd", compression_level=1)
        written += table.num_rows
        done += number
        part += 1
    return written


def _chunk(
    random: np.random.Generator, number: int, first: int, begin: int, length: int, names: pa.Array, skew: float
) -> pa.Table:
    queue = random.integers(0, len(names), number)
    queue[random.random(number) < skew] = 0
    sent = begin + np.sort(random.integers(0, length, number))
    received = sent + 2_000 + random.integers(0, SCATTER_US, number)
    deleted = received + random.integers(500, 5_000, number)
    again = np.flatnonzero(random.random(number) < DUPLICATES)
    missed = random.integers(0, number, round(number * MISSES))
    ids = _ids(queue, np.arange(first, first + number))
    every = np.arange(number)
    parts = [
        (OPS.index("send"), every, sent),
        (OPS.index("receive"), every, received),
        (OPS.index("delete"), every, deleted),
        (OPS.index("receive"), again, deleted[again] + 30_000),
        (OPS.index("miss"), missed, sent[missed]),
    ]
    op = np.concatenate([np.full(len(rows), code, np.int8) for code, rows, _ in parts])
    row = np.concatenate([rows for _, rows, _ in parts])
    time = np.concatenate([times for _, _, times in parts])
    order = np.argsort(time, kind="stable")
    return _table(random, op[order], row[order], time[order], queue, sent, ids, names)


def _ids(queue: Any, number: Any) -> pa.Array:
    """UUIDs as the service makes them: a prefix for each queue, and a running number."""
    digits = np.char.mod("%010x", number)
    prefix = np.char.mod("%08x-1234-4567-89ab-cd", queue)
    return pa.array(np.char.add(prefix, digits))


def _table(
    random: np.random.Generator, op: Any, row: Any, time: Any, queue: Any, sent: Any, ids: pa.Array, names: pa.Array
) -> pa.Table:
    number = len(op)
    is_miss = op == OPS.index("miss")
    is_send = op == OPS.index("send")
    clock = pa.timestamp("us", "UTC")
    rows = pa.array(row)
    sent_at = pa.array(sent[row], mask=is_miss).cast(clock)
    latency = np.maximum(random.lognormal(6.5, 0.6, number), 50).astype(np.int64)
    fixed = {"node": "node-1", "side": "server", "account": "000000000000"}
    columns: dict[str, Any] = {
        "event_time": pa.array(time).cast(clock),
        **{name: pa.repeat(pa.scalar(value), number) for name, value in fixed.items()},
        "queue": pa.DictionaryArray.from_arrays(pa.array(queue[row].astype(np.int32)), names).cast(pa.string()),
        "physical": pa.array(np.zeros(number, np.int32)),
        "op": pa.DictionaryArray.from_arrays(pa.array(op), pa.array(OPS)).cast(pa.string()),
        "message_id": pa.compute.if_else(pa.array(is_miss), pa.scalar(None, pa.string()), ids.take(rows)),
        "attempt": pa.array(np.ones(number, np.int32), mask=is_miss | is_send),
        "sent_at": sent_at,
        "enqueued_at": sent_at,
        "dequeued_at": pa.array(time, mask=is_miss | is_send).cast(clock),
        "latency_us": pa.array(latency),
        "bytes": pa.array(np.full(number, 1024), mask=is_miss),
        "status": pa.array(np.full(number, 200, np.int32)),
    }
    wanted = schema()
    full = [columns.get(name, pa.nulls(number, wanted.field(name).type)) for name in wanted.names]
    return pa.Table.from_arrays(full, schema=wanted)
