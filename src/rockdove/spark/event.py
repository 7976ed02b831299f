"""Traces as Spark reads them: pruned to what the figures need, numbered, and brought together by queue."""

import heapq
from collections import Counter
from collections.abc import Sequence
from typing import TYPE_CHECKING, Any, NamedTuple

import pyarrow as pa

from rockdove.spark.known import is_known
from rockdove.spark.row import (
    BROKEN,
    BY_CLIENT,
    HASH_BITS,
    HASH_MASK,
    LATENCY_SHIFT,
    MISSING,
    NUMBERED,
    REST_MASK,
    REST_SHIFT,
    SLOWEST_US,
    SUCCESS,
)
from rockdove.trace.schema import CLIENT, OPS, schema

if TYPE_CHECKING:
    from pyspark.sql import Column, DataFrame, SparkSession


class Place(NamedTuple):
    """A queue: its number, which modulo the number of tasks is the task that measures it, and what people call it.

    That is its name alone, unless several accounts have a queue of that name.
    """

    number: int
    name: str
    account: str | None
    queue: str


class Survey(NamedTuple):
    """What a first look at two or three columns tells. Times are microseconds since 1970."""

    first: int
    last: int
    events: int
    places: list[Place]
    parts: int
    # Whether messages have numbers of their senders.
    numbered: bool


def read(spark: "SparkSession", paths: Sequence[str]) -> "DataFrame":
    """All events in files; a column that a file does not have is null."""
    from pyspark.sql.pandas.types import from_arrow_schema

    events = spark.read.schema(from_arrow_schema(schema())).parquet(*paths)
    return events.where(is_known())


def survey(events: "DataFrame", parts: int) -> Survey | None:
    """The queues, and the time they span; None if there is no event."""
    from pyspark.sql import functions as f

    found = (
        events.groupBy("account", "queue")
        .agg(
            f.count("*").alias("events"),
            f.unix_micros(f.min("event_time")).alias("first"),
            f.unix_micros(f.max("event_time")).alias("last"),
            f.bool_or(_is_numbered()).alias("numbered"),
        )
        .collect()
    )
    if not found:
        return None
    found.sort(key=lambda row: (row["queue"], row["account"] or ""))
    parts = min(parts, len(found))
    names = Counter(row["queue"] for row in found)
    places = [
        Place(number, _name(row, names[row["queue"]] == 1), row["account"], row["queue"])
        for number, row in zip(numbers([row["events"] for row in found], parts), found, strict=True)
    ]
    return Survey(
        min(row["first"] for row in found),
        max(row["last"] for row in found),
        sum(row["events"] for row in found),
        places,
        parts,
        any(row["numbered"] for row in found),
    )


def _name(row: Any, alone: bool) -> str:
    name: str = row["queue"]
    return name if alone else f"{row['account'] or 'unknown'}/{name}"


def share_out(sizes: Sequence[int], parts: int) -> list[int]:
    """A part for each size, the largest first to the part that has least: no part has a large one and much else."""
    chosen = [0] * len(sizes)
    heap = [(0, part) for part in range(parts)]
    for index in sorted(range(len(sizes)), key=lambda index: -sizes[index]):
        filled, part = heapq.heappop(heap)
        chosen[index] = part
        heapq.heappush(heap, (filled + sizes[index], part))
    return chosen


def numbers(sizes: Sequence[int], parts: int) -> list[int]:
    """A number of its own for each size, which is its part modulo `parts`."""
    chosen = [0] * len(sizes)
    following = list(range(parts))
    for index, part in enumerate(share_out(sizes, parts)):
        chosen[index] = following[part]
        following[part] += parts
    return chosen


def places(spark: "SparkSession", found: Survey) -> "DataFrame":
    kinds = [pa.int64(), pa.string(), pa.string(), pa.string()]
    columns = zip(*found.places, strict=True)
    arrays = [pa.array(column, kind) for column, kind in zip(columns, kinds, strict=True)]
    # From Arrow, because Spark would start Python processes to read a list of Python's.
    return spark.createDataFrame(pa.Table.from_arrays(arrays, list(Place._fields)))


def by_queue(events: "DataFrame", places: "DataFrame", parts: int, numbered: bool) -> "DataFrame":
    """The columns that `rockdove.spark.row.rows` reads: one shuffle, so that a queue is in one task, sorted by message.

    The sort key is one number, so that Spark can sort by radix. Messages with the same key are told apart later.
    """
    from pyspark.sql import functions as f

    joined = events.join(
        f.broadcast(places.select("number", f.col("account").alias("owner"), f.col("queue").alias("called"))),
        (f.col("queue") == f.col("called")) & f.col("account").eqNullSafe(f.col("owner")),
    )
    # Two steps, so that the hash is computed once.
    columns = joined.withColumn("hash", f.xxhash64("message_id")).select(*_columns(numbered))
    return columns.repartitionById(parts, (f.shiftright("key", HASH_BITS) % parts).cast("int")).sortWithinPartitions(
        "key"
    )


def _columns(numbered: bool) -> "list[Column]":
    from pyspark.sql import functions as f

    op, received = f.col("op"), f.col("op") == "receive"
    low = f.col("hash").bitwiseAND(f.lit(HASH_MASK)).bitwiseOR(f.lit(1))
    rest = f.shiftright("hash", HASH_BITS - REST_SHIFT).bitwiseAND(f.lit(REST_MASK))
    time = f.when(received, f.coalesce("dequeued_at", "event_time")).otherwise(f.col("event_time"))
    latency = f.when(f.col("latency_us") >= 0, f.least("latency_us", f.lit(SLOWEST_US))).otherwise(-1)
    numbers = {
        "key": f.shiftleft("number", HASH_BITS).bitwiseOR(f.when(f.col("message_id").isNull(), 0).otherwise(low)),
        "kind": f.shiftleft(latency.cast("long"), LATENCY_SHIFT)
        + rest
        + _place(op)
        + f.when(f.col("side") == CLIENT, BY_CLIENT).otherwise(0)
        + f.when(f.col("status").between(200, 299), SUCCESS).otherwise(0)
        + f.when(~f.col("checksum_ok"), BROKEN).otherwise(0),
        "time": f.unix_micros(time),
        "enqueued": _known(f.unix_micros("enqueued_at")),
        "sent": _known(f.unix_micros(f.coalesce("sent_at", "enqueued_at"))),
        "request": f.when(received, f.xxhash64("node", "receiver", "latency_us", time)).otherwise(0),
        "sender": f.when(_is_numbered(), f.xxhash64("sender").bitwiseOR(f.lit(1))).otherwise(0),
        "seq": f.coalesce("seq", f.lit(0)),
    }
    named = f.when(received, f.coalesce("message_id", f.lit(""))).otherwise("").alias("id")
    wanted = [name for name in numbers if numbered or name not in NUMBERED]
    return [*(numbers[name].cast("long").alias(name) for name in wanted), named]


def _is_numbered() -> "Column":
    from pyspark.sql import functions as f

    return f.col("sender").isNotNull() & f.col("seq").isNotNull()


def _place(op: "Column") -> "Column":
    """The place in OPS: comparisons one by one, which Spark compiles to less than `array_position`."""
    from pyspark.sql import functions as f

    place = f.when(op == OPS[0], 0)
    for number, name in enumerate(OPS[1:], 1):
        place = place.when(op == name, number)
    return place


def _known(column: "Column") -> "Column":
    from pyspark.sql import functions as f

    return f.coalesce(column, f.lit(MISSING))
