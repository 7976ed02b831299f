"""Times in buckets, counted by Spark: a few thousand numbers, however many events there are."""

from typing import TYPE_CHECKING, Any

from rockdove.capacity.fit.histogram import BELOW, PER_OCTAVE, BucketRow, Histogram

if TYPE_CHECKING:
    from pyspark.sql import Column, DataFrame, Row


def histogram(rows: "DataFrame", micros: "Column", times: "Column | None" = None) -> Histogram | None:
    """Of a column of microseconds, each as often as `times` says; None if there are none. Nulls do not count."""
    return gather(collect(rows, micros, times))


def histogram_and(
    rows: "DataFrame", figure: "Column", micros: "Column", times: "Column | None" = None
) -> tuple[Histogram | None, list[Any]]:
    """Also a figure of each bucket's rows, such as a maximum: one job instead of two."""
    found = _count(rows, micros, times, figure)
    return gather([BucketRow(*row[:-1]) for row in found]), [row[-1] for row in found]


def collect(rows: "DataFrame", micros: "Column", times: "Column | None" = None) -> list[BucketRow]:
    return [BucketRow(*row) for row in _count(rows, micros, times)]


def _count(rows: "DataFrame", micros: "Column", times: "Column | None", *more: "Column") -> "list[Row]":
    from pyspark.sql import functions as f

    # What clocks, or two of them, make negative is nothing.
    known = rows.where(micros.isNotNull()).withColumns(
        {
            "us": f.greatest(micros.cast("double"), f.lit(0.0)),
            "times": (f.lit(1) if times is None else times).cast("long"),
        }
    )
    bucket = f.when(f.col("us") < 1, BELOW).otherwise(f.floor(f.log2("us") * PER_OCTAVE)).cast("int")
    counted = known.groupBy(bucket.alias("bucket")).agg(
        f.sum("times").alias("count"),
        f.sum(f.col("us") * f.col("times")).alias("total"),
        f.sum(f.col("us") * f.col("us") * f.col("times")).alias("squares"),
        *more,
    )
    return counted.collect()


def gather(rows: list[BucketRow]) -> Histogram | None:
    return Histogram.of_rows(rows) if rows else None
