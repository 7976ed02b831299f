"""The simulations of elastic queues on Spark: every system is a row that some executor makes."""

from collections.abc import Callable, Iterator, Sequence
from typing import TYPE_CHECKING, Final

import msgspec

from rockdove.capacity.scaling.experiment import ElasticDrawn, ElasticFigure, ElasticRun, Point, points, run
from rockdove.spark.file import parquet
from rockdove.spark.sweep.progress import Progress, keep, parts_of, watched
from rockdove.spark.sweep.task import schema

if TYPE_CHECKING:
    from pyarrow import RecordBatch
    from pyspark.sql import SparkSession

# The tables of runs and samples; reference: docs/reference/simulate.md.
RUNS: Final = (
    "system int, policy string, slots int, pool int, ramp double, npp int, spikes int, spike_height double, "
    "spike_area double, machine_seconds double, machines_max int, seconds_above_max double, production string, "
    "startup_s double, mean_s double, p99_s double, wrong int, samples string"
)
ROWS: Final = f"figure string, {RUNS.removeprefix('system int, ').removesuffix(', samples string')}"


def sweep(
    spark: "SparkSession",
    figures: Sequence[ElasticFigure],
    seed: int,
    out: str | None = None,
    progress: Progress | None = None,
    parts: int | None = None,
) -> list[ElasticDrawn]:
    """The figures' runs; with `out`, also the tables ``elastic_runs/`` and ``elastic_rows/`` there."""
    systems = list(dict.fromkeys(point for figure in figures for point in points(figure, seed)))
    total = len(systems)
    done = spark.range(0, total, 1, parts or parts_of(spark, total)).mapInArrow(runs(systems), RUNS)
    with watched(spark, total, progress):
        if out is not None:
            done.write.mode("overwrite").parquet(f"{out}/elastic_runs")
            done = parquet(spark, [f"{out}/elastic_runs"], RUNS)
        table = done.toArrow()
    by_system = {row.pop("system"): row for row in table.to_pylist()}
    found = {point: _run(by_system[place]) for place, point in enumerate(systems)}
    drawn = [ElasticDrawn(figure, [found[point] for point in points(figure, seed)]) for figure in figures]
    if out is not None:
        rows = [{"figure": each.figure.value, **msgspec.to_builtins(one)} for each in drawn for one in each.runs]
        keep(spark, rows, ROWS, f"{out}/elastic_rows")
    return drawn


def _run(row: dict[str, object]) -> ElasticRun:
    samples = msgspec.json.decode(str(row["samples"]))
    return msgspec.convert({**row, "samples": samples}, ElasticRun)


def runs(systems: Sequence[Point]) -> "Callable[[Iterator[RecordBatch]], Iterator[RecordBatch]]":
    """For `mapInArrow`: from the numbers of systems to rows of `RUNS`."""

    def work(batches: "Iterator[RecordBatch]") -> "Iterator[RecordBatch]":
        import pyarrow as pa

        for batch in batches:
            rows = []
            for place in batch.column(0).to_pylist():
                done = msgspec.to_builtins(run(systems[place]))
                samples = msgspec.json.encode(done.pop("samples")).decode()
                rows.append({"system": place, **done, "samples": samples})
            if rows:
                yield pa.RecordBatch.from_pylist(rows, schema=schema(RUNS))

    return work
