"""What a trace tells of one queue, spell by spell: what came, how long it waited, and how long the work took."""

from typing import TYPE_CHECKING

from msgspec import Struct

from rockdove.spark.file import literal

if TYPE_CHECKING:
    from pyspark.sql import SparkSession

_SECOND_US = 1_000_000


class Spell(Struct, frozen=True, kw_only=True):
    """Of a length that all have. Times of delivery are those of messages that were sent in it, to the first receive."""

    start_s: float
    sent: int
    deleted: int
    receives: int
    again: int
    delivered: int
    delivery_s: float | None
    delivery_p99_s: float | None


class Work(Struct, frozen=True):
    """From a receive to the delete: the mean, and the squared coefficient of variation."""

    service_s: float
    scv: float


def circle(spark: "SparkSession", trace: str, queue: str, length_s: float) -> tuple[list[Spell], Work | None]:
    """By the server's events. Spells without any are left out; no work is known if nothing was deleted."""
    from pyspark.sql import functions as f

    reader = spark.read.option("recursiveFileLookup", "true").option("pathGlobFilter", "*.parquet")
    events = reader.parquet(literal(trace)).where(
        (f.col("queue") == queue) & (f.col("side") == "server") & (f.col("status") == 200)
    )
    op = f.col("op")
    first = (op == "receive") & (f.col("attempt") == 1)
    work_us = f.unix_micros("event_time") - f.unix_micros("dequeued_at")
    # The moment in which a message was sent is that of its delivery, too.
    time_us = f.unix_micros(f.when(first, f.col("enqueued_at")).otherwise(f.col("event_time")))
    length_us = round(length_s * _SECOND_US)
    counted = (
        events.withColumn("start", time_us - f.pmod(time_us, f.lit(length_us)))
        .withColumn("waited", f.when(first, f.unix_micros("dequeued_at") - f.unix_micros("enqueued_at")))
        .groupBy("start")
        .agg(
            f.count_if(op == "send").alias("sent"),
            f.count_if(op == "delete").alias("deleted"),
            f.count_if(op == "receive").alias("receives"),
            f.count_if((op == "receive") & (f.col("attempt") > 1)).alias("again"),
            f.count("waited").alias("delivered"),
            f.avg("waited").alias("waited"),
            f.percentile_approx("waited", 0.99).alias("p99"),
        )
        .orderBy("start")
    )
    spells = [
        Spell(
            start_s=row["start"] / _SECOND_US,
            sent=row["sent"],
            deleted=row["deleted"],
            receives=row["receives"],
            again=row["again"],
            delivered=row["delivered"],
            delivery_s=_seconds(row["waited"]),
            delivery_p99_s=_seconds(row["p99"]),
        )
        for row in counted.collect()
    ]
    deletes = events.where((op == "delete") & f.col("dequeued_at").isNotNull())
    (row,) = deletes.agg(f.avg(work_us).alias("mean"), f.var_pop(work_us).alias("variance")).collect()
    if not row["mean"]:
        return spells, None
    return spells, Work(row["mean"] / _SECOND_US, row["variance"] / row["mean"] ** 2)


def _seconds(us: float | None) -> float | None:
    return None if us is None else us / _SECOND_US
