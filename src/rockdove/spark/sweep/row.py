"""From runs to what a figure shows: means with their intervals, beside the analytic model."""

import math
from collections.abc import Mapping, Sequence
from typing import Final

from msgspec import Struct

from rockdove.capacity.interval import interval
from rockdove.capacity.vma.experiment import Figure, Point, analytic

# The table of rows, whatever is null in it; reference: docs/reference/simulate.md.
ROWS: Final = (
    "figure string, panel string, metric string, x_name string, x double, n1 long, n2 long, arrival double, "
    "service_rate double, q double, option string, engine string, replications long, mean double, ci95 double, "
    "analytic double"
)


class SweepRow(Struct, frozen=True, kw_only=True):
    """One point of one curve. `ci95` is null with a single run, `mean` when nothing was delivered."""

    figure: str
    panel: str
    metric: str
    x_name: str
    x: float
    n1: int
    n2: int
    arrival: float
    service_rate: float
    q: float
    option: str
    engine: str
    replications: int
    mean: float | None
    ci95: float | None
    analytic: float | None


class Drawn(Struct, frozen=True):
    """A figure and all its rows."""

    figure: Figure
    rows: list[SweepRow]


def rows(point: Point, engine: str, replications: int, values: Mapping[str, Sequence[float]]) -> list[SweepRow]:
    """Of one system, for each panel and metric; `values` are those of its runs."""
    scenario, model = point.scenario, analytic(point.scenario)
    made = []
    for panel, metrics in point.panels:
        for metric in metrics:
            found = interval(values[metric])
            made.append(
                SweepRow(
                    figure=point.figure.value,
                    panel=panel,
                    metric=metric,
                    x_name=point.x_name,
                    x=point.x,
                    n1=scenario.n1,
                    n2=scenario.n2,
                    arrival=scenario.arrival,
                    service_rate=scenario.broker_rate,
                    q=scenario.q,
                    option=scenario.option.value,
                    engine=engine,
                    replications=replications,
                    mean=_known(found.mean),
                    ci95=_known(found.ci95),
                    analytic=model.get(metric),
                )
            )
    return made


def _known(value: float) -> float | None:
    return value if math.isfinite(value) else None
