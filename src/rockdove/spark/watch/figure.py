"""The figures of each queue and window, in SQL but for the longest increasing subsequence."""

from typing import TYPE_CHECKING, Final

from rockdove.spark.share import COARSE, SHARES
from rockdove.spark.watch.decide import ASKED
from rockdove.spark.watch.event import LATE
from rockdove.spark.watch.sequence import OUT_OF_ORDER, PLACES, out_of_order

if TYPE_CHECKING:
    from pyspark.sql import Column, DataFrame

KEY: Final = ("account", "queue", "start")
KINDS: Final = ("response", "delivery")
# Counts: they add up over windows and queues, and so do buckets.
COUNTS: Final = (
    *("sent", "received", "duplicates", "deleted", "expired", "dead_lettered", "redriven"),
    *("failed", "misses", "hits", "late", "ordered", "out_of_order", "displaced", "worked", "work_us"),
)
_LONGEST_US: Final = (1 << 43) - 1


def figures(decided: "DataFrame", window_us: int) -> "DataFrame":
    """A row for each queue and window among events that `decide` has been through."""
    from pyspark.sql import functions as f
    from pyspark.sql.types import LongType, StructField, StructType

    joined = _counts(decided)
    for more in (_order(decided), _buckets(decided)):
        joined = joined.join(more, list(KEY), "left")
    columns = [name for name in joined.columns if name != PLACES]
    flat = joined.fillna(0, ["ordered", "displaced"]).select(
        *columns, f.coalesce(PLACES, f.array().cast("array<long>")).alias(PLACES)
    )
    schema = StructType([StructField(OUT_OF_ORDER, LongType()) if at.name == PLACES else at for at in flat.schema])
    counted = flat.mapInArrow(out_of_order, schema)
    window_s = f.lit(window_us / 1e6)
    return counted.select(
        f.timestamp_micros("start").alias("window_start"),
        f.timestamp_micros(f.col("start") + window_us).alias("window_end"),
        f.nullif(f.col("account"), f.lit("")).alias("account"),
        "queue",
        *COUNTS,
        (f.col("sent") / window_s).alias("arrival_rate"),
        (f.col("deleted") / window_s).alias("service_rate"),
        f.try_divide("misses", f.col("misses") + f.col("hits")).alias("miss_ratio"),
        f.try_divide("duplicates", "sent").alias("duplication_rate"),
        f.try_divide("out_of_order", "ordered").alias("out_of_order_rate"),
        f.try_divide("displaced", "ordered").alias("displacement"),
        (f.try_divide("work_us", "worked") / 1000).alias("work_ms"),
        *(f.col(f"{kind}_p{round(at * 100)}_ms") for kind in KINDS for at in SHARES),
        *(
            f.coalesce(f.col(f"{kind}_buckets"), f.array().cast("array<struct<from_us:bigint,count:bigint>>")).alias(
                f"{kind}_buckets"
            )
            for kind in KINDS
        ),
    )


def _counts(decided: "DataFrame") -> "DataFrame":
    from pyspark.sql import functions as f

    op, first, counts, client = f.col("op"), f.col("first"), f.col("counts"), f.col("client")
    asks, failed = op.isin("receive", "miss"), ~f.col("good") & (op != LATE)
    missed = (op == "miss") & f.col("good")
    by_client = {"misses": f.max(client & asks), "failed": f.max(client & failed)}
    of_side = {"misses": missed, "failed": failed}

    def number(condition: "Column") -> "Column":
        return f.count_if(condition)

    def by_side(name: str) -> "Column":
        mine = of_side[name]
        return f.when(by_client[name], number(mine & client)).otherwise(number(mine & ~client))

    # Whichever side counts the deletes: only the server knows when a message was received.
    worked = (op == "delete") & f.col("good") & f.col("work").isNotNull()
    receives, received = number((op == "receive") & counts), number((op == "receive") & first)
    columns = {
        "sent": number((op == "send") & first),
        "received": received,
        "duplicates": receives - received,
        "deleted": number((op == "delete") & first),
        "expired": number((op == "expire") & first),
        "dead_lettered": number((op == "dead_letter") & first),
        "redriven": number((op == "redrive") & first),
        "failed": by_side("failed"),
        "misses": by_side("misses"),
        "hits": f.size(f.collect_set(f.when((op == "receive") & counts, f.col("request")))).cast("long"),
        "late": number(op == LATE),
        "worked": number(worked),
        "work_us": f.coalesce(f.sum(f.when(worked, f.col("work"))), f.lit(0)),
    }
    return decided.groupBy(*KEY).agg(*(column.alias(name) for name, column in columns.items()))


def _order(decided: "DataFrame") -> "DataFrame":
    """Of the messages first received in a window: the places they have among each other, as sent and as received."""
    from pyspark.sql import Window
    from pyspark.sql import functions as f

    as_sent = Window.partitionBy(*KEY).orderBy("enqueued", "message")
    # Those received at the same moment have no order among themselves, and are taken as in order.
    as_received = Window.partitionBy(*KEY).orderBy("time", "right")
    received = (
        decided.where("first")
        .where((f.col("op") == "receive") & f.col("enqueued").isNotNull())
        .select(*KEY, "enqueued", "message", "time")
        .withColumn("right", f.row_number().over(as_sent) - 1)
        .withColumn("place", f.row_number().over(as_received) - 1)
    )
    in_turn = f.array_sort(f.collect_list(f.struct("place", "right")))
    return received.groupBy(*KEY).agg(
        f.count("*").alias("ordered"),
        f.sum(f.abs(f.col("right") - f.col("place"))).alias("displaced"),
        in_turn.getField("right").cast("array<long>").alias(PLACES),
    )


def _buckets(decided: "DataFrame") -> "DataFrame":
    """Latencies in fixed buckets, and percentiles by nearest rank among these."""
    from pyspark.sql import Window
    from pyspark.sql import functions as f

    timed = f.col("counts") & f.col("op").isin(*ASKED) & (f.col("latency") >= 0)
    values = f.array(
        f.struct(f.lit("response").alias("kind"), f.when(timed, f.col("latency")).alias("us")),
        f.struct(f.lit("delivery").alias("kind"), f.col("waited").alias("us")),
    )
    single = decided.select(*KEY, f.inline(values)).where("us is not null")
    counted = single.groupBy(*KEY, "kind", _bucket(f.col("us")).alias("from_us")).agg(f.count("*").alias("count"))
    whole = Window.partitionBy(*KEY, "kind")
    ranked = counted.withColumn("upto", f.sum("count").over(whole.orderBy("from_us"))).withColumn(
        "all", f.sum("count").over(whole)
    )
    columns = []
    for kind in KINDS:
        mine = f.col("kind") == kind
        for at in SHARES:
            # Rounding keeps 0.95 * 20 from becoming 19.000000000000004.
            is_there = mine & (f.col("upto") >= f.ceil(f.round(f.col("all") * at, 6)))
            found = f.min(f.when(is_there, f.col("from_us"))) / 1000
            columns.append(found.alias(f"{kind}_p{round(at * 100)}_ms"))
        pairs = f.collect_list(f.when(mine, f.struct("from_us", "count")))
        columns.append(f.array_sort(pairs).alias(f"{kind}_buckets"))
    return ranked.groupBy(*KEY).agg(*columns)


def _bucket(us: "Column") -> "Column":
    """The lower end of a value's bucket, as `rockdove.spark.share.bucket` has it."""
    from pyspark.sql import functions as f

    value = f.least(us, f.lit(_LONGEST_US))
    length = f.when(value > 0, f.floor(f.log2(value)).cast("int") + 1).otherwise(0)
    shift = f.greatest(length - COARSE, f.lit(0))
    shifted = f.call_function("shiftright", value, shift)
    return f.call_function("shiftleft", shifted, shift)
