"""An elastic queue on a real service, as the paper draws its own: production and load, and workers and machines."""

from collections.abc import Sequence
from functools import partial
from typing import TYPE_CHECKING, Any, Protocol

from rockdove.spark.sweep.picture import COLOURS, svg

if TYPE_CHECKING:
    from matplotlib.axes import Axes


class Row(Protocol):
    """See `rockdove.cli.bench.elastic.ElasticRow`."""

    policy: str
    max_load_set: float
    samples: list[Any]
    windows: list[Any]


def picture(rows: Sequence[Any]) -> bytes:
    """An SVG file. Raises `MissingExtra`."""
    loads = [partial(_draw_load, row=row) for row in rows]
    workers = [partial(_draw_workers, row=row) for row in rows]
    return svg("elastic", "An elastic queue: production, load and workers", loads, workers)


def _draw_load(axes: "Axes", row: Row) -> None:
    seconds = [each.t for each in row.windows]
    axes.plot(seconds, [each.sent for each in row.windows], color=COLOURS[0], label="production, messages/s")
    axes.plot(seconds, [each.deleted for each in row.windows], color=COLOURS[4], label="done, messages/s")
    axes.plot(seconds, [each.waiting for each in row.windows], color=COLOURS[5], label="waiting, messages")
    times = [each.t for each in row.samples]
    axes.plot(times, [each.max_load for each in row.samples], color=COLOURS[1], label="greatest load, messages")
    axes.axhline(row.max_load_set, color=COLOURS[1], linestyle=":", linewidth=1, label="maxLoad")
    axes.set_title(row.policy, fontsize=9)
    _frame(axes, "")


def _draw_workers(axes: "Axes", row: Row) -> None:
    times = [each.t for each in row.samples]
    axes.step(times, [each.workers for each in row.samples], color=COLOURS[2], where="post", label="workers")
    axes.step(times, [each.machines for each in row.samples], color=COLOURS[3], where="post", label="machines")
    _frame(axes, "seconds")


def _frame(axes: "Axes", across: str) -> None:
    axes.set_ylim(bottom=0)
    axes.set_xlabel(across)
    axes.grid(alpha=0.25)
    axes.legend(fontsize=7, frameon=False)
