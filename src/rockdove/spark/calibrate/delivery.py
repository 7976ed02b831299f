"""Deliveries: what became of each receive, by what followed in the life of its message."""

from typing import TYPE_CHECKING, Final, NamedTuple

if TYPE_CHECKING:
    from pyspark.sql import Column, DataFrame

_OPS: Final = ("receive", "delete", "change_visibility")


class Fates(NamedTuple):
    """Deliveries, how many of them failed, and the shortest time after which one that timed out was received again."""

    deliveries: int
    failures: int
    again_us: int | None


def deliveries(events: "DataFrame") -> "DataFrame":
    """A row for each receive of a message that had not been deleted; times are microseconds.

    `received`; `deleted`, null unless it was before the message was received `again`; `begun`, when its worker turned
    to it: a worker that received several messages at once does one after the other; `timed_out`, whether it came
    again without its visibility having been changed.
    """
    from pyspark.sql import Window
    from pyspark.sql import functions as f

    op = f.col("op")
    rank = f.when(op == "receive", 0).otherwise(1)
    life = Window.partitionBy("queue", "message_id").orderBy("time", rank)
    ahead = life.rowsBetween(1, Window.unboundedFollowing)
    behind = life.rowsBetween(Window.unboundedPreceding, -1)

    def following(what: str) -> "Column":
        return f.min(f.when(op == what, f.col("time"))).over(ahead)

    columns = ("queue", "node", "receiver", "latency_us", "op", "message_id", "time")
    over = f.max(f.when(op == "delete", f.col("time"))).over(behind)
    with_next = (
        events.where(op.isin(*_OPS))
        .select(*columns)
        .withColumns(
            {
                "again": following("receive"),
                "gone": following("delete"),
                "changed": following("change_visibility"),
                "over": over,
            }
        )
        .where((op == "receive") & f.col("over").isNull())
    )
    again, gone, changed = f.col("again"), f.col("gone"), f.col("changed")
    in_time = again.isNull() | (gone <= again)
    answer = Window.partitionBy("queue", "node", "receiver", "latency_us", "time").orderBy(f.asc_nulls_last("deleted"))
    return with_next.withColumn("deleted", f.when(in_time, gone)).select(
        f.col("time").alias("received"),
        "deleted",
        "again",
        f.greatest("time", f.lag("deleted").over(answer)).alias("begun"),
        (again.isNotNull() & (changed.isNull() | (changed > again))).alias("timed_out"),
    )


def fates(found: "DataFrame", until_us: int) -> Fates:
    """Of receives up to a moment: what was received later may still be deleted after the trace's end."""
    from pyspark.sql import functions as f

    failed = f.col("deleted").isNull()
    again_us = f.when(failed & f.col("timed_out"), f.col("again") - f.col("received"))
    row = found.agg(
        f.count_if(f.col("received") <= until_us),
        f.count_if(failed & (f.col("received") <= until_us)),
        f.min(again_us),
    ).collect()[0]
    return Fates(*row)
