"""What all sweeps share: how the work is cut, how far it is, and how rows are kept."""

import threading
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from typing import TYPE_CHECKING, Any, Final

from msgspec import Struct, to_builtins

from rockdove.spark.sweep.task import schema

if TYPE_CHECKING:
    from pyspark.sql import SparkSession

# Told how many runs of how many are done.
Progress = Callable[[int, int], None]
# Tasks of Spark for each core: enough that the last one does not keep the others waiting long.
_PARTS: Final = 8
_LOOK_S: Final = 0.3


def parts_of(spark: "SparkSession", total: int) -> int:
    """Into how many tasks so many runs are cut."""
    return min(total, spark.sparkContext.defaultParallelism * _PARTS)


def keep(spark: "SparkSession", rows: Sequence[Struct | dict[str, Any]], table: str, path: str) -> None:
    """Write rows as one Parquet file; ``table`` has their columns."""
    import pyarrow as pa

    made = [to_builtins(row) for row in rows]
    frame = spark.createDataFrame(pa.Table.from_pylist(made, schema=schema(table)))
    frame.coalesce(1).write.mode("overwrite").parquet(path)


@contextmanager
def watched(spark: "SparkSession", total: int, progress: Progress | None) -> Iterator[None]:
    """Asks Spark now and then how much is done."""
    if progress is None:
        yield
        return
    over = threading.Event()
    watcher = threading.Thread(target=_watch, args=(spark, total, progress, over), daemon=True)
    watcher.start()
    try:
        yield
    finally:
        over.set()
        watcher.join()
    progress(total, total)


def _watch(spark: "SparkSession", total: int, progress: Progress, over: threading.Event) -> None:
    tracker = spark.sparkContext.statusTracker()
    while not over.wait(_LOOK_S):
        stages = [tracker.getStageInfo(stage) for stage in tracker.getActiveStageIds()]
        known = [stage for stage in stages if stage is not None]
        if known:
            parts = sum(stage.numTasks for stage in known)
            done = sum(stage.numCompletedTasks for stage in known)
            progress(total * done // max(parts, 1), total)
