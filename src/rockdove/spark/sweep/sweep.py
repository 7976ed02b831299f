"""The experiments on Spark: every run of every system is a row that some executor makes."""

import threading
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from typing import TYPE_CHECKING, Any, Final

import numpy as np

from rockdove.capacity.vma.experiment import Figure, Point, Run, points
from rockdove.capacity.vma.scenario import METRICS
from rockdove.spark.file import parquet
from rockdove.spark.sweep.row import ROWS, Drawn, rows
from rockdove.spark.sweep.task import RUNS, Engine, schema
from rockdove.spark.sweep.task import runs as work

if TYPE_CHECKING:
    from pyspark.sql import DataFrame, SparkSession

# Told how many runs of how many are done.
Progress = Callable[[int, int], None]
# Tasks of Spark for each core: enough that the last one does not keep the others waiting long.
_PARTS: Final = 8
_LOOK_S: Final = 0.3


def sweep(
    spark: "SparkSession",
    figures: Sequence[Figure],
    run: Run,
    replications: int,
    engine: Engine,
    seed: int,
    out: str | None = None,
    progress: Progress | None = None,
    parts: int | None = None,
) -> list[Drawn]:
    """The figures' rows; with `out`, also the tables ``runs/`` and ``rows/`` there.

    The result depends on the seed, and not on the number of parts into which the work is cut.
    """
    grid = [(place, point) for figure in figures for place, point in enumerate(points(figure, run))]
    total = len(grid) * replications
    parts = parts or min(total, spark.sparkContext.defaultParallelism * _PARTS)
    done = spark.range(0, total, 1, parts).mapInArrow(work(grid, engine, seed), RUNS)
    with _watched(spark, total, progress):
        table = _table(spark, done, out)
    order = np.lexsort((table["replication"], table["point"], table["figure"]))
    sorted_table = {name: values[order] for name, values in table.items()}
    drawn = [Drawn(figure, _figure(figure, grid, engine, replications, sorted_table)) for figure in figures]
    if out is not None:
        _keep(spark, drawn, f"{out}/rows")
    return drawn


def _table(spark: "SparkSession", done: "DataFrame", out: str | None) -> dict[str, Any]:
    """What the runs gave, as columns; written first, if it is to be kept, so that nothing is done twice."""
    if out is not None:
        done.write.mode("overwrite").parquet(f"{out}/runs")
        done = parquet(spark, [f"{out}/runs"], RUNS)
    arrow = done.select("figure", "point", "replication", *METRICS).toArrow()
    return {name: arrow[name].to_numpy() for name in arrow.column_names}


def _figure(
    figure: Figure, grid: Sequence[tuple[int, Point]], engine: Engine, replications: int, table: dict[str, Any]
) -> list[Any]:
    mine = table["figure"] == figure.value
    values = {name: table[name][mine].reshape(-1, replications) for name in METRICS}
    found = []
    for place, point in grid:
        if point.figure is figure:
            found += rows(point, engine.value, replications, {name: values[name][place] for name in METRICS})
    return found


def _keep(spark: "SparkSession", drawn: Sequence[Drawn], path: str) -> None:
    import msgspec
    import pyarrow as pa

    made = [msgspec.to_builtins(row) for figure in drawn for row in figure.rows]
    table = spark.createDataFrame(pa.Table.from_pylist(made, schema=schema(ROWS)))
    table.coalesce(1).write.mode("overwrite").parquet(path)


@contextmanager
def _watched(spark: "SparkSession", total: int, progress: Progress | None) -> Iterator[None]:
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
