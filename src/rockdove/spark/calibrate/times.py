"""Times in buckets, counted by Spark: a few thousand numbers, however many events there are."""

from typing import TYPE_CHECKING

from rockdove.capacity.fit.histogram import BELOW, PER_OCTAVE, BucketRow, Histogram

if TYPE_CHECKING:
    from pyspark.sql import Column, DataFrame


def histogram(rows: "DataFrame", micros: "Column", times: "Column | None" = None) -> Histogram | None:
    """Of a column of microseconds, each as often as `times` says; None if there are none. Nulls do not count."""
    return gather(collect(rows, micros, times))


def collect(rows: "DataFrame", micros: "Column", times: "Column | None" = None) -> list[BucketRow]:
    from pyspark.sql import functions as f

    # What clocks, or two of them, make negative is nothing.
    known = rows.where(micros.isNotNull()).select(
        f.greatest(micros.cast("double"), f.lit(0.0)).alias("us"),
        (f.lit(1) if times is None else times).cast("long").alias("times"),
    )
    bucket = f.when(f.col("us") < 1, BELOW).otherwise(f.floor(f.log2("us") * PER_OCTAVE)).cast("int")
    counted = known.groupBy(bucket.alias("bucket")).agg(
        f.sum("times").alias("count"),
        f.sum(f.col("us") * f.col("times")).alias("total"),
        f.sum(f.col("us") * f.col("us") * f.col("times")).alias("squares"),
    )
    return [BucketRow(*row) for row in counted.collect()]


def gather(rows: list[BucketRow]) -> Histogram | None:
    return Histogram.of_rows(rows) if rows else None
