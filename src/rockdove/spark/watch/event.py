"""A trace as a stream of events, with what the figures need and nothing else."""

from typing import TYPE_CHECKING, Final

from rockdove.spark.file import literal
from rockdove.spark.known import is_known
from rockdove.trace.schema import CLIENT, schema

if TYPE_CHECKING:
    from pyspark.sql import Column, DataFrame, SparkSession

# Files of one batch: many enough to catch up, few enough that the driver can hold the rows of their windows.
FILES: Final = 50
# The op of an event that came after its window was closed.
LATE: Final = "late"
# What is kept of an event until its window is closed. Times are microseconds since 1970.
KEPT: Final = (
    "account",
    "queue",
    "message",
    "op",
    "client",
    "good",
    "time",
    "enqueued",
    "born",
    "latency",
    "work",
    "request",
    "start",
)


def stream(spark: "SparkSession", trace: str, window_us: int, files: int = FILES) -> "DataFrame":
    """Events as they come, the oldest files first."""
    from pyspark.sql.pandas.types import from_arrow_schema

    events = (
        spark.readStream.schema(from_arrow_schema(schema()))
        .option("recursiveFileLookup", "true")
        .option("pathGlobFilter", "*.parquet")
        .option("maxFilesPerTrigger", str(files))
        .parquet(literal(trace))
    )
    return events.select(*_columns(window_us))


def _columns(window_us: int) -> "list[Column]":
    from pyspark.sql import functions as f

    received = f.col("op") == "receive"
    known = is_known()
    client = f.coalesce(f.col("side") == CLIENT, f.lit(False))
    time = f.when(received, f.coalesce("dequeued_at", "event_time")).otherwise(f.col("event_time"))
    time = f.when(known, f.unix_micros(time))
    columns = {
        # Null would not be equal to itself; there is no account without a name.
        "account": f.coalesce("account", f.lit("")),
        "queue": f.col("queue"),
        "message": f.col("message_id"),
        "op": f.col("op"),
        "client": client,
        "good": f.coalesce(f.col("status").between(200, 299), f.lit(False)),
        "time": time,
        "enqueued": f.unix_micros("enqueued_at"),
        "born": f.unix_micros(f.coalesce("sent_at", "enqueued_at")),
        "latency": f.col("latency_us"),
        # From the receive to the delete, by one clock: the server's.
        "work": f.when(
            (f.col("op") == "delete") & ~client & f.col("dequeued_at").isNotNull(),
            f.greatest(time - f.unix_micros("dequeued_at"), f.lit(0)),
        ),
        "request": f.when(received, f.xxhash64("node", "receiver", "latency_us", time)),
        "start": time - f.pmod(time, f.lit(window_us)),
        # An event cannot be younger than its file: a clock that is ahead must not close everybody's windows.
        "seen": f.least(time, f.unix_micros("_metadata.file_modification_time")),
        "known": known,
        "file": f.regexp_replace("_metadata.file_path", "^file:/+", "file:/"),
    }
    return [column.alias(name) for name, column in columns.items()]


def is_late(closed_us: int | None, window_us: int) -> "Column":
    from pyspark.sql import functions as f

    return f.lit(False) if closed_us is None else f.col("start") + window_us <= closed_us


def admitted(batch: "DataFrame", closed_us: int | None, window_us: int) -> "DataFrame":
    """The known events of a batch. Those whose windows are closed count as late, in the first window that is not."""
    from pyspark.sql import functions as f

    known = batch.where("known").select(*KEPT)
    if closed_us is None:
        return known
    late = is_late(closed_us, window_us)
    kept = {name: f.when(~late, f.col(name)) for name in KEPT if name not in ("account", "queue")}
    kept |= {
        "op": f.when(late, f.lit(LATE)).otherwise(f.col("op")),
        "client": f.col("client") & ~late,
        "good": f.col("good") & ~late,
        "time": f.when(late, f.lit(closed_us)).otherwise(f.col("time")),
        "start": f.when(late, f.lit(closed_us - closed_us % window_us)).otherwise(f.col("start")),
    }
    return known.select(*(kept[name].alias(name) if name in kept else f.col(name) for name in KEPT))
