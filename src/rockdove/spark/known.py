"""Which rows of a trace are events that can be counted."""

from typing import TYPE_CHECKING, Final

from rockdove.trace.schema import OPS

if TYPE_CHECKING:
    from pyspark.sql import Column

# Times from 1970 up to here count, in microseconds since 1970: the year 2262, the last that nanoseconds can tell.
END_US: Final = 9_214_646_400_000_000
TIMES: Final = ("event_time", "sent_at", "enqueued_at", "dequeued_at")
# What is said of rows that are not.
NO_EVENT: Final = "no events: without a queue or a known op, or with a time before 1970 or after 2261"


def is_known() -> "Column":
    """Never null."""
    from pyspark.sql import functions as f

    known = (
        f.col("event_time").isNotNull() & f.col("queue").isNotNull() & f.coalesce(f.col("op").isin(*OPS), f.lit(False))
    )
    for name in TIMES:
        known &= f.coalesce(f.unix_micros(name).between(0, END_US - 1), f.lit(True))
    return known
