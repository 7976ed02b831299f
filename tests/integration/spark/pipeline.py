"""The program of `tests.support.driver`: queries of a plan, one after the other.

`pipeline.py PLAN` with ``{"master": ..., "settings": {...}, "queries": [...]}`` in JSON. A query has ``from`` and
``to``, formats with their options. It is over what is there when it begins, or goes on until the file ``until`` is
there. It may have ``hold``, a folder: see `held`.
"""

import json
import os
import sys
import time
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import TYPE_CHECKING, Any

import pyarrow as pa
from pyspark import TaskContext

from rockdove.spark import register
from rockdove.spark.session import session

if TYPE_CHECKING:
    from pyspark.sql import DataFrame, SparkSession

Rows = Iterator[pa.RecordBatch]


def main(plan: dict[str, Any]) -> None:
    with session(plan["master"], plan["settings"]) as spark:
        # Where Spark finds it by itself this does no harm; executors of a cluster have it from here.
        register(spark)
        for query in plan["queries"]:
            run(spark, query)


def run(spark: "SparkSession", query: dict[str, Any]) -> None:
    table = read(spark, query["from"])
    if query.get("hold"):
        table = table.mapInArrow(held(query["hold"]), table.schema)
    options = dict(query["to"])
    writer = table.writeStream.format(options.pop("format")).options(**options)
    if query.get("until") is None:
        writer.trigger(availableNow=True).start().awaitTermination()
        return
    running = writer.start()
    while not Path(query["until"]).exists():
        running.awaitTermination(1)
    running.processAllAvailable()
    running.stop()


def read(spark: "SparkSession", source: dict[str, str]) -> "DataFrame":
    options = dict(source)
    format_ = options.pop("format")
    table = spark.readStream.format(format_).options(**options).load()
    return table.withColumnRenamed("value", "body") if format_ == "text" else table


def held(folder: str) -> Callable[[Rows], Rows]:
    """The first attempt at partition 0 of each batch stops in its midst until another attempt has read all.

    Others go on from there when it has got so far. ``BATCH-PARTITION-ATTEMPT.held`` tells which executor it is in, and
    what it has read; ``.done`` what an attempt has read when it is through.
    """

    def pass_on(batches: Rows) -> Rows:
        context = TaskContext.get()
        assert context is not None
        partition, attempt = context.partitionId(), context.attemptNumber()
        name = f"{context.getLocalProperty('streaming.sql.batchId')}-{partition}"

        def tell(what: str, found: dict[str, Any]) -> None:
            draft = Path(folder) / f"{name}-{attempt}.{os.getpid()}"
            draft.write_text(json.dumps(found))
            draft.rename(draft.with_suffix(f".{what}"))

        def wait(others: str) -> None:
            end = time.monotonic() + 600
            while not list(Path(folder).glob(f"{name}-{others}")):
                assert time.monotonic() < end, f"{name}-{attempt} waits for {others}"
                time.sleep(0.02)

        ids: list[str] = []
        for place, rows in enumerate(batches):
            ids += rows["message_id"].to_pylist()
            yield rows
            if place == 1 and partition == 0:
                if attempt == 0:
                    daemon = Path(f"/proc/{os.getppid()}/stat").read_text()
                    tell("held", {"executor": int(daemon.rpartition(")")[2].split()[1]), "ids": ids})
                wait("[1-9].done" if attempt == 0 else "0.held")
        tell("done", {"ids": ids})

    return pass_on


if __name__ == "__main__":
    main(json.loads(sys.argv[1]))
