"""Traces as Spark reads them: pruned to what the figures need, numbered, and brought together by queue."""

from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from typing import TYPE_CHECKING, Final

import pyarrow as pa

from rockdove.spark.box import BOXED, Batches, boxed
from rockdove.spark.file import Counts, parquet, scanned
from rockdove.spark.known import is_known
from rockdove.spark.measure import measurer
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
from rockdove.spark.session import kept, mapped
from rockdove.spark.survey import TASKS_A_CORE, Seen, Survey, owners, surveyed
from rockdove.spark.window import Windows
from rockdove.trace.schema import CLIENT, OPS, schema

if TYPE_CHECKING:
    from pyspark.sql import Column, DataFrame, SparkSession


class Scan:
    """Reads traces with Spark, from any file system that it knows."""

    has_few_rows: Final = False

    def __init__(self, spark: "SparkSession", paths: Sequence[str]) -> None:
        self._spark = spark
        self._paths = paths
        self._events = read(spark, paths)

    def survey(self, thorough: bool = False) -> Survey | None:
        """``thorough``: of what `measured` can read, with all its columns."""
        from pyspark.sql import functions as f

        # A figure of all columns is asked for, so that all are read.
        whole = [f.bit_xor(f.hash(*self._events.columns))] if thorough else []
        rows = (
            self._events.groupBy("account", "queue")
            .agg(
                f.count("*").alias("events"),
                f.unix_micros(f.min("event_time")).alias("first"),
                f.unix_micros(f.max("event_time")).alias("last"),
                f.bool_or(_is_numbered()).alias("numbered"),
                *whole,
            )
            .collect()
        )
        parts = self._spark.sparkContext.defaultParallelism * TASKS_A_CORE
        return surveyed([Seen(*row[:5]) for row in rows], parts, any(row["numbered"] for row in rows))

    @contextmanager
    def measured(self, found: Survey, windows: Windows) -> "Iterator[DataFrame]":
        def measure(batches: Batches) -> Iterator[pa.RecordBatch]:
            return boxed(measurer(windows)(batches))

        with kept(mapped(by_queue(self._spark, self._events, found), measure, BOXED)) as boxes:
            yield boxes

    def counts(self) -> Counts:
        return scanned(self._spark, self._paths, self._events.schema)


def read(spark: "SparkSession", paths: Sequence[str]) -> "DataFrame":
    """All events in files; a column that a file does not have is null."""
    from pyspark.sql.pandas.types import from_arrow_schema

    return parquet(spark, paths, from_arrow_schema(schema())).where(is_known())


def by_queue(spark: "SparkSession", events: "DataFrame", found: Survey) -> "DataFrame":
    """The columns that `rockdove.spark.row.rows` reads: one shuffle, so that a queue is in one task, sorted by message.

    The sort key is one number, so that Spark can sort by radix. Messages with the same key are told apart later.
    """
    from pyspark.sql import functions as f

    pairs = owners(found)
    accounts, queues = (pa.array(names, pa.string()) for names in zip(*pairs, strict=True))
    # From Arrow, because Spark would start Python processes to read a list of Python's.
    numbers = spark.createDataFrame(pa.table({"number": list(pairs.values()), "owner": accounts, "called": queues}))
    joined = events.join(
        f.broadcast(numbers), (f.col("queue") == f.col("called")) & f.col("account").eqNullSafe(f.col("owner"))
    )
    # Two steps, so that the hash is computed once.
    columns = joined.withColumn("hash", f.xxhash64("message_id")).select(*_columns(found.numbered))
    part = (f.shiftright("key", HASH_BITS) % found.parts).cast("int")
    return columns.repartitionById(found.parts, part).sortWithinPartitions("key")


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
