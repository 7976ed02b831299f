"""The events that a calibration needs, each once: of a queue that both sides recorded, the service's count."""

from collections.abc import Sequence
from typing import TYPE_CHECKING, Final

from rockdove.trace.schema import CLIENT, SERVER

if TYPE_CHECKING:
    from pyspark.sql import Column, DataFrame

OPS: Final = ("send", "receive", "delete", "change_visibility")


def succeeded(events: "DataFrame", queues: Sequence[str] = ()) -> "DataFrame":
    """What went well, with a message; all queues, or those that are named."""
    from pyspark.sql import functions as f

    chosen = events.where(f.col("op").isin(*OPS) & f.col("status").between(200, 299) & f.col("message_id").isNotNull())
    return chosen.where(f.col("queue").isin(*queues)) if queues else chosen


def one_side(events: "DataFrame") -> "DataFrame":
    """Adds `time`, in microseconds.

    The service sees every delivery, also one whose answer got lost, and has one clock: its events count where there are
    any of the queue, else the clients'.
    """
    from pyspark.sql import functions as f

    served = f.max(f.col("side") == SERVER).alias("served")
    sides = f.broadcast(events.groupBy("queue").agg(served))
    chosen = events.join(sides, "queue").where((f.col("side") == SERVER) == f.col("served"))
    return chosen.withColumn("time", f.unix_micros(_moment()))


def requests(events: "DataFrame") -> "DataFrame":
    """Requests to send, `latency_us` each and the `messages` that they had: the clients', or else the service's.

    All messages of a batch were sent at one moment.
    """
    from pyspark.sql import functions as f

    sends = events.where((f.col("op") == "send") & f.col("latency_us").isNotNull())
    asked = f.max(f.col("side") == CLIENT).alias("asked")
    sides = f.broadcast(sends.groupBy("queue").agg(asked))
    chosen = sends.join(sides, "queue").where((f.col("side") == CLIENT) == f.col("asked"))
    moment = f.coalesce(f.unix_micros("sent_at").cast("string"), f.col("message_id"))
    return chosen.groupBy("queue", "node", "sender", moment.alias("moment")).agg(
        f.max("latency_us").alias("latency_us"),
        f.count("*").alias("messages"),
        f.first("asked").alias("asked"),
    )


def _moment() -> "Column":
    from pyspark.sql import functions as f

    op = f.col("op")
    return (
        f.when(op == "receive", f.coalesce("dequeued_at", "event_time"))
        .when(op == "send", f.coalesce("enqueued_at", "sent_at", "event_time"))
        .otherwise(f.col("event_time"))
    )
