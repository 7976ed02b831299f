"""The experiments on Spark: every run of every system is a row that some executor makes."""

from collections.abc import Sequence
from typing import TYPE_CHECKING, Any

import numpy as np

from rockdove.capacity.vma.experiment import Figure, Point, Run, points
from rockdove.capacity.vma.scenario import METRICS
from rockdove.spark.file import parquet
from rockdove.spark.sweep.progress import Progress, keep, parts_of, watched
from rockdove.spark.sweep.row import ROWS, Drawn, rows
from rockdove.spark.sweep.task import RUNS, Engine
from rockdove.spark.sweep.task import runs as work

if TYPE_CHECKING:
    from pyspark.sql import DataFrame, SparkSession


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
    parts = parts or parts_of(spark, total)
    done = spark.range(0, total, 1, parts).mapInArrow(work(grid, engine, seed), RUNS)
    with watched(spark, total, progress):
        table = _table(spark, done, out)
    order = np.lexsort((table["replication"], table["point"], table["figure"]))
    sorted_table = {name: values[order] for name, values in table.items()}
    drawn = [Drawn(figure, _figure(figure, grid, engine, replications, sorted_table)) for figure in figures]
    if out is not None:
        keep(spark, [row for figure in drawn for row in figure.rows], ROWS, f"{out}/rows")
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
