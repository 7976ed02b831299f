"""Figure 14 of the paper on dequeueing, measured on real services: a line for each policy, a row of panels a store."""

from collections.abc import Sequence
from functools import partial
from typing import TYPE_CHECKING, Any, Final

from rockdove.spark.sweep.picture import COLOURS, svg

if TYPE_CHECKING:
    from matplotlib.axes import Axes

_PANELS: Final = {
    "throughput": "messages received per second",
    "messages_per_cpu_s": "messages per second of CPU",
    "hit_rate": "share of requests with messages",
    "p99": "p99 of delivery, ms",
}


def picture(rows: Sequence[Any]) -> bytes:
    """An SVG file of the rows of ``rockdove bench rds``. Raises `MissingExtra`."""
    stores = list(dict.fromkeys(row.store for row in rows))
    panels = [
        [partial(_draw, rows=[row for row in rows if row.store == store], store=store, name=name) for name in _PANELS]
        for store in stores
    ]
    return svg("rds14", "Fig. 14: dequeue policies on real services", *panels)


def _draw(axes: "Axes", rows: Sequence[Any], store: str, name: str) -> None:
    curves = list(dict.fromkeys((row.policy, row.sleep_s) for row in rows))
    for (policy, sleep_s), colour in zip(curves, COLOURS, strict=False):
        some = [row for row in rows if (row.policy, row.sleep_s) == (policy, sleep_s)]
        label = policy if sleep_s is None else f"{policy}, sleep {sleep_s:g} s"
        values = [row.delivery_ms["p99"] if name == "p99" else getattr(row, name) for row in some]
        axes.plot(
            [row.rate for row in some], values, color=colour, linewidth=1.2, marker="o", markersize=3, label=label
        )
    if name == "p99":
        axes.set_yscale("log")
    else:
        axes.set_ylim(bottom=0)
    axes.set_title(store, fontsize=9)
    axes.set_xlabel("requests per second of a consumer")
    axes.set_ylabel(_PANELS[name])
    axes.grid(alpha=0.25)
    axes.legend(fontsize=7, frameon=False)
