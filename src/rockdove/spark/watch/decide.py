"""Which events count: by which side, and which of a message's is the first. All in SQL."""

from typing import TYPE_CHECKING, Final

if TYPE_CHECKING:
    from pyspark.sql import DataFrame

# What both sides may have recorded, and what has a response time.
ASKED: Final = ("send", "receive", "delete", "change_visibility")


def decide(kept: "DataFrame", remembered: "DataFrame | None") -> "DataFrame":
    """Adds to events `counts`, `first` and `hash`, the message's `waited`, and the server's idea of `enqueued`.

    `remembered` has `hash` and `by_client` of messages that were received in windows closed before: a receive of these
    is not the first, and the side that counted then counts on.
    """
    from pyspark.sql import Window
    from pyspark.sql import functions as f

    op, client, good = f.col("op"), f.col("client"), f.col("good")
    # Events of no message must not all come together in one partition.
    of_message = Window.partitionBy("account", "queue", "who")
    of_op = Window.partitionBy("account", "queue", "who", "op")
    in_turn = Window.partitionBy("account", "queue", "who", "op", "counts").orderBy("time")

    # Without the account, which may become known only later.
    known = _look_up(settle(kept).withColumn("hash", f.xxhash64("queue", "message")), remembered)
    # One shuffle: all that follows is within a queue.
    known = known.repartition("account", "queue")
    by_client = f.coalesce(f.col("by_client"), f.max(client & good).over(of_op))
    counted = known.withColumn("who", f.coalesce("message", f.col("time").cast("string"))).withColumn(
        "counts", good & f.col("message").isNotNull() & (~op.isin(*ASKED) | (client == by_client))
    )
    first = f.col("counts") & (f.row_number().over(in_turn) == 1) & f.col("by_client").isNull()
    sent = f.min(f.when((op == "send") & f.col("counts"), f.col("born"))).over(of_message)
    enqueued = f.coalesce(
        f.min(f.when(~client, f.col("enqueued"))).over(of_message), f.min("enqueued").over(of_message)
    )
    found = counted.select(
        *("account", "queue", "message", "op", "client", "good", "time", "latency", "work", "request", "start"),
        *("hash", "counts"),
        first.alias("first"),
        f.coalesce("born", sent).alias("begun"),
        enqueued.alias("enqueued"),
    )
    waited = f.greatest(f.col("time") - f.col("begun"), f.lit(0))
    return found.withColumn("waited", f.when(f.col("first") & (op == "receive"), waited)).drop("begun")


def settle(kept: "DataFrame") -> "DataFrame":
    """Events without an account are of the account that has a queue of that name, if only one is known to have it.

    Known is what was kept: both sides tell of the same at about the same time, and there is nothing more to remember.
    """
    from pyspark.sql import functions as f

    account = f.col("account")
    owners = (
        kept.where(account != "")
        .groupBy("queue")
        .agg(f.min("account").alias("owner"), f.max("account").alias("other"))
        .where("owner = other")
        .select(f.col("queue").alias("called"), "owner")
    )
    joined = kept.join(f.broadcast(owners), f.col("queue") == f.col("called"), "left")
    owner = f.when(account == "", f.coalesce("owner", account)).otherwise(account)
    return joined.withColumn("account", owner).drop("called", "owner")


def _look_up(kept: "DataFrame", remembered: "DataFrame | None") -> "DataFrame":
    from pyspark.sql import functions as f

    if remembered is None:
        return kept.withColumn("by_client", f.lit(None).cast("boolean"))
    known = remembered.select(f.col("hash").alias("known"), "by_client")
    is_same = (f.col("hash") == f.col("known")) & (f.col("op") == "receive") & f.col("message").isNotNull()
    return kept.join(known, is_same, "left").drop("known")


def first_receives(decided: "DataFrame", after_us: int | None, until_us: int, window_us: int) -> "DataFrame":
    """What is to be remembered of windows that end after one time, and up to another."""
    from pyspark.sql import functions as f

    end = f.col("start") + window_us
    chosen = decided.where("first").where((f.col("op") == "receive") & (end <= until_us))
    if after_us is not None:
        chosen = chosen.where(end > after_us)
    return chosen.select("hash", f.col("client").alias("by_client"), "time")
