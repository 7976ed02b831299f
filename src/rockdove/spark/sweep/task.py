"""One run of one system, on whichever machine: what executors import."""

import math
from collections.abc import Callable, Iterator, Sequence
from enum import StrEnum
from typing import TYPE_CHECKING, Any, Final

import numpy as np

from rockdove.capacity.vma.experiment import Figure, Point
from rockdove.capacity.vma.scenario import METRICS, Measure, Scenario

if TYPE_CHECKING:
    from pyarrow import RecordBatch

# The table of runs; reference: docs/reference/simulate.md.
RUNS: Final = (
    "figure string, point int, replication int, x_name string, x double, n1 int, n2 int, arrival double, "
    "service_rate double, q double, option string, engine string, "
    + ", ".join(f"{name} double" for name in METRICS)
    + ", delivered long"
)


class Engine(StrEnum):
    """What simulates: the paper's nets, or the loop that does the same much faster."""

    PETRI = "petri"
    COMPILED = "compiled"


def simulator(engine: Engine) -> Callable[[Scenario, np.random.SeedSequence], Measure]:
    if engine is Engine.PETRI:
        from rockdove.capacity.vma.petri import simulate as petri

        return petri
    from rockdove.capacity.vma.compiled import simulate as compiled

    return compiled


def stream(seed: int, figure: Figure, place: int, replication: int) -> np.random.SeedSequence:
    """Random numbers for one run, by what it is and not by where or when it is done."""
    return np.random.SeedSequence(seed, spawn_key=(list(Figure).index(figure), place, replication))


def runs(
    points: Sequence[tuple[int, Point]], engine: Engine, seed: int
) -> "Callable[[Iterator[RecordBatch]], Iterator[RecordBatch]]":
    """For `mapInArrow`: from the numbers of tasks to rows of `RUNS`.

    Neighbours in number are different systems, so that every part of the work takes about as long. `points` come with
    their places in their figures.
    """

    def work(batches: "Iterator[RecordBatch]") -> "Iterator[RecordBatch]":
        import pyarrow as pa

        simulate = simulator(engine)
        for batch in batches:
            rows = []
            for number in batch.column(0).to_pylist():
                replication, at = divmod(number, len(points))
                place, point = points[at]
                measure = simulate(point.scenario, stream(seed, point.figure, place, replication))
                rows.append(_row(point, place, replication, engine, measure))
            if rows:
                yield pa.RecordBatch.from_pylist(rows, schema=schema(RUNS))

    return work


def schema(table: str) -> Any:
    """Arrow's, of columns as Spark writes them."""
    import pyarrow as pa

    kinds = {"string": pa.string(), "int": pa.int32(), "double": pa.float64(), "long": pa.int64()}
    fields = (field.rsplit(" ", 1) for field in table.split(", "))
    return pa.schema([(name, kinds[kind]) for name, kind in fields])


def _row(point: Point, place: int, replication: int, engine: Engine, measure: Measure) -> dict[str, Any]:
    scenario = point.scenario
    figures = {name: getattr(measure, name) for name in METRICS}
    return {
        "figure": point.figure.value,
        "point": place,
        "replication": replication,
        "x_name": point.x_name,
        "x": point.x,
        "n1": scenario.n1,
        "n2": scenario.n2,
        "arrival": scenario.arrival,
        "service_rate": scenario.broker_rate,
        "q": scenario.q,
        "option": scenario.option.value,
        "engine": engine.value,
        **{name: None if math.isnan(value) else value for name, value in figures.items()},
        "delivered": measure.delivered,
    }
