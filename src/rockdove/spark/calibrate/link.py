"""The link: what a request takes longer for the client than for the service is the way there and back."""

from typing import TYPE_CHECKING

from rockdove.capacity.fit.histogram import Histogram
from rockdove.spark.calibrate.times import histogram
from rockdove.trace.schema import CLIENT, SERVER

if TYPE_CHECKING:
    from pyspark.sql import Column, DataFrame


def link(events: "DataFrame") -> Histogram | None:
    """Times of one crossing, by sends and receives that both sides recorded; None if there are none.

    No clock is compared with another: each side measures how long the request took.
    """
    from pyspark.sql import functions as f

    def latency(side: str) -> "Column":
        return f.max(f.when(f.col("side") == side, f.col("latency_us")))

    def once(side: str) -> "Column":
        return f.count_if(f.col("side") == side) == 1

    both = (
        events.where(f.col("op").isin("send", "receive"))
        .groupBy("queue", "message_id", "op", "attempt")
        .agg(
            latency(CLIENT).alias("asked"),
            latency(SERVER).alias("served"),
            # What was sent again and taken for a copy: nothing tells which of the service's answers the client got.
            (once(CLIENT) & once(SERVER)).alias("paired"),
        )
        .where("paired")
    )
    return histogram(both, (f.col("asked") - f.col("served")) / 2)
