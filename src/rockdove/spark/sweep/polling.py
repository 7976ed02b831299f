"""The simulations of dequeue policies on Spark: every run of every system is a row that some executor makes."""

import math
from collections.abc import Callable, Iterator, Sequence
from typing import TYPE_CHECKING, Final

import numpy as np

from rockdove.capacity.interval import interval
from rockdove.capacity.polling.experiment import SHOWN, PollingDrawn, PollingFigure, PollingRow, distinct, setups
from rockdove.capacity.polling.setup import Setup
from rockdove.capacity.polling.simulator import simulate
from rockdove.spark.file import parquet
from rockdove.spark.sweep.progress import Progress, keep, parts_of, watched
from rockdove.spark.sweep.task import schema

if TYPE_CHECKING:
    from pyarrow import RecordBatch
    from pyspark.sql import SparkSession

METRICS: Final = ("throughput", "hit_rate", "messages_per_hit")
# The tables of runs and rows; reference: docs/reference/simulate.md.
RUNS: Final = (
    "system int, replication int, policy string, rate double, sleep_s double, "
    + ", ".join(f"{name} double" for name in METRICS)
    + ", visits long"
)
ROWS: Final = (
    "figure string, policy string, rate double, sleep_s double, "
    + ", ".join(f"{name} double" for name in METRICS)
    + ", ci95 double"
)


def sweep(
    spark: "SparkSession",
    figures: Sequence[PollingFigure],
    duration_s: float,
    replications: int,
    seed: int,
    out: str | None = None,
    progress: Progress | None = None,
    parts: int | None = None,
) -> list[PollingDrawn]:
    """The figures' rows; with `out`, also the tables ``rds_runs/`` and ``rds_rows/`` there.

    The result depends on the seed, and not on the number of parts into which the work is cut.
    """
    systems = distinct(figures, duration_s)
    total = len(systems) * replications
    done = spark.range(0, total, 1, parts or parts_of(spark, total)).mapInArrow(runs(systems, seed), RUNS)
    with watched(spark, total, progress):
        if out is not None:
            done.write.mode("overwrite").parquet(f"{out}/rds_runs")
            done = parquet(spark, [f"{out}/rds_runs"], RUNS)
        table = done.select("system", "replication", *METRICS).toArrow()
    columns = {name: table[name].to_numpy() for name in table.column_names}
    order = np.lexsort((columns["replication"], columns["system"]))
    values = {name: columns[name][order].reshape(-1, replications) for name in METRICS}
    places = {setup: place for place, setup in enumerate(systems)}
    drawn = [
        PollingDrawn(
            figure,
            [
                _row(figure, setup, {name: values[name][places[setup]] for name in METRICS})
                for setup in setups(figure, duration_s)
            ],
        )
        for figure in figures
    ]
    if out is not None:
        keep(spark, [row for figure in drawn for row in figure.rows], ROWS, f"{out}/rds_rows")
    return drawn


def runs(systems: Sequence[Setup], seed: int) -> "Callable[[Iterator[RecordBatch]], Iterator[RecordBatch]]":
    """For `mapInArrow`: from the numbers of tasks to rows of `RUNS`. Neighbours in number are different systems."""

    def work(batches: "Iterator[RecordBatch]") -> "Iterator[RecordBatch]":
        import pyarrow as pa

        for batch in batches:
            rows = []
            for number in batch.column(0).to_pylist():
                replication, place = divmod(number, len(systems))
                setup = systems[place]
                outcome = simulate(setup, stream(seed, setup, replication))
                metrics = {name: getattr(outcome, name) for name in METRICS}
                rows.append(
                    {
                        "system": place,
                        "replication": replication,
                        "policy": setup.policy.value,
                        "rate": setup.rate,
                        "sleep_s": setup.sleep_s,
                        **{name: None if math.isnan(value) else value for name, value in metrics.items()},
                        "visits": outcome.visits,
                    }
                )
            if rows:
                yield pa.RecordBatch.from_pylist(rows, schema=schema(RUNS))

    return work


def stream(seed: int, setup: Setup, replication: int) -> str:
    """Random numbers for one run, by what it is and not by where, when or for which figure it is done."""
    return f"{seed} {setup} {replication}"


def _row(figure: PollingFigure, setup: Setup, values: dict[str, np.ndarray]) -> PollingRow:
    found = {name: interval(list(each)) for name, each in values.items()}
    means = {name: _known(each.mean) for name, each in found.items()}
    return PollingRow(
        figure=figure.value,
        policy=setup.policy.value,
        rate=setup.rate,
        sleep_s=setup.sleep_s,
        **means,
        ci95=_known(found[SHOWN[figure]].ci95),
    )


def _known(value: float) -> float | None:
    return value if math.isfinite(value) else None
