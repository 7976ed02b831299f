"""From counts to figures, in SQL: the same for a queue, for a window and for everything."""

from typing import TYPE_CHECKING, Final

from rockdove.spark.queue import PERCENTILES

if TYPE_CHECKING:
    from pyspark.sql import Column

# The columns of the tables, in order; reference: docs/reference/analysis.md.
COUNTED: Final = (
    "sent",
    "received",
    "deleted",
    "expired",
    "dead_lettered",
    "redriven",
    "purged",
    "duplicates",
    "lost",
    "damaged",
    "failed",
    "misses",
    "hits",
    "waiting",
    "in_flight",
)
RATES: Final = (
    "duplication_rate",
    "loss_rate",
    "out_of_order_rate",
    "displacement",
    "send_rate",
    "receive_delete_rate",
    *(name.replace("_us", "_ms") for name in PERCENTILES),
    "miss_ratio",
    "messages_per_hit",
    "utilisation",
)


def figures(length_us: "Column", queues: "Column") -> "list[Column]":
    """Columns from the sums that `rockdove.spark.queue` makes; nothing divided by nothing is null.

    `length_us` is the time that they cover, `queues` the number of queues that they are of.
    """
    from pyspark.sql import functions as f

    duplicates = f.col("receives") - f.col("received")
    length_us = length_us.cast("double")
    length_s = length_us / 1e6
    made = {
        "duplicates": duplicates,
        "duplication_rate": f.try_divide(duplicates, f.col("sent")),
        "loss_rate": f.try_divide(f.col("lost") + f.col("damaged"), f.col("sent")),
        "out_of_order_rate": f.try_divide("out_of_order", "ordered"),
        "displacement": f.try_divide("displaced", "ordered"),
        "send_rate": f.try_divide(f.col("sent"), length_s),
        "receive_delete_rate": f.try_divide(f.col("deleted"), length_s),
        "miss_ratio": f.try_divide(f.col("misses"), f.col("misses") + f.col("hits")),
        "messages_per_hit": f.try_divide("receives", "hits"),
        "utilisation": f.try_divide(f.col("busy_us"), length_us * queues),
        **{name.replace("_us", "_ms"): f.col(name) / 1e3 for name in PERCENTILES},
    }
    return [made.get(name, f.col(name)).alias(name) for name in (*COUNTED, *RATES)]
