"""Figures 9 to 12 of the paper on dequeueing, as pictures in its form: a line for each policy."""

from collections.abc import Sequence
from functools import partial
from typing import TYPE_CHECKING, Final

from rockdove.capacity.polling.experiment import RATE, SHOWN, PollingDrawn, PollingFigure, PollingRow
from rockdove.core.dequeue import PolicyName
from rockdove.spark.sweep.picture import COLOURS, svg

if TYPE_CHECKING:
    from matplotlib.axes import Axes

_TITLES: Final = {
    PollingFigure.RDS9: "Fig. 9: throughput over the rate of requests",
    PollingFigure.RDS10: "Fig. 10: visits that find messages",
    PollingFigure.RDS11: "Fig. 11: messages of a visit that finds some",
    PollingFigure.RDS12: f"Fig. 12: throughput over the sleep of rds ({RATE:g} requests/s)",
}
_METRICS: Final = {
    "throughput": "messages received per second",
    "hit_rate": "share of visits",
    "messages_per_hit": "messages per hit",
}


def picture(drawn: PollingDrawn) -> bytes:
    """An SVG file. Raises `MissingExtra`."""
    return svg(drawn.figure.value, _TITLES[drawn.figure], [partial(_draw, drawn=drawn)])


def _draw(axes: "Axes", drawn: PollingDrawn) -> None:
    over_sleep = drawn.figure is PollingFigure.RDS12
    for policy, colour in zip(PolicyName, COLOURS, strict=False):
        rows = [row for row in drawn.rows if row.policy == policy]
        if over_sleep and policy is not PolicyName.RDS:
            # It has no sleep: a line at its height.
            axes.axhline(_value(drawn.figure, rows[0]), color=colour, linestyle="--", linewidth=1.2, label=policy.value)
        else:
            _curve(axes, drawn.figure, rows, colour, policy.value)
    if over_sleep:
        axes.set_xscale("log")
    axes.set_xlabel("sleep, s" if over_sleep else "requests per second of a consumer")
    axes.set_ylabel(_METRICS[SHOWN[drawn.figure]])
    axes.set_ylim(bottom=0)
    axes.grid(alpha=0.25)
    axes.legend(fontsize=7, frameon=False)


def _curve(axes: "Axes", figure: PollingFigure, rows: Sequence[PollingRow], colour: str, label: str) -> None:
    xs = [row.sleep_s if figure is PollingFigure.RDS12 else row.rate for row in rows]
    values, spans = [_value(figure, row) for row in rows], [row.ci95 or 0.0 for row in rows]
    axes.errorbar(xs, values, spans, color=colour, capsize=2, linewidth=1.2, marker="o", markersize=3, label=label)


def _value(figure: PollingFigure, row: PollingRow) -> float:
    value: float | None = getattr(row, SHOWN[figure])
    return value or 0.0
