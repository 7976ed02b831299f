"""Figures as pictures in the paper's form: the analytic model as symbols, simulations as lines with their intervals."""

import io
import warnings
from collections.abc import Callable, Sequence
from functools import partial
from itertools import groupby
from typing import TYPE_CHECKING, Any, Final, Literal

from rockdove.capacity.vma.experiment import Figure
from rockdove.capacity.vma.scenario import Option
from rockdove.core.errors import MissingExtra
from rockdove.spark.sweep.row import Drawn, SweepRow

if TYPE_CHECKING:
    from matplotlib.axes import Axes

INSTALL: Final = "pip install 'rockdove[spark]'"
_TITLES: Final = {
    Figure.FIG11: "Fig. 11: mean delivery time over the number of threads",
    Figure.FIG12: "Fig. 12: mean number of messages waiting",
    Figure.FIG13: "Fig. 13: utilisation over the number of threads",
    Figure.FIG14: "Fig. 14: over the mean service time (arrival 30/s, q = 0.99)",
    Figure.FIG15: "Fig. 15: over the arrival rate (service rate 10/s, q = 0.88)",
}
_AXES: Final = {
    "n": "threads of senders, and of the broker",
    "n1": "threads of senders",
    "n2": "threads of the broker",
    "service_ms": "mean service time, ms",
    "arrival": "arrivals per second",
}
_METRICS: Final = {
    "delivery_s": "delivery time, s",
    "waiting": "messages waiting",
    "busy_sender": "senders: busy threads",
    "busy_broker": "broker: busy threads",
    "active_sender": "senders: any busy",
    "active_broker": "broker: any busy",
}
_OPTIONS: Final[dict[str, str]] = {Option.IN_ORDER: "in order", Option.OUT_OF_ORDER: "out of order"}
# Told apart also by those who see no difference between red and green.
COLOURS: Final = ("#0072b2", "#d55e00", "#009e73", "#cc79a7", "#56b4e9", "#e69f00", "#117733", "#882255")
_LINES: Final[dict[str, Literal["--", "-"]]] = {Option.IN_ORDER: "--", Option.OUT_OF_ORDER: "-"}
# Panels of one curve for each system and option.
_SINGLE: Final = ("delivery_s", "waiting")
# What is on the axis where several systems are compared.
_SEVERAL: Final = ("service_ms", "arrival")
# Curves that reach instability are cut there, or they would flatten the rest: so much of what is stable is inside.
_INSIDE: Final = 0.95
_MARGIN: Final = 1.1


def picture(drawn: Drawn) -> bytes:
    """An SVG file. Raises `MissingExtra`."""
    panels = [(panel, list(rows)) for panel, rows in groupby(sorted(drawn.rows, key=_panel), key=_panel)]
    draw = [partial(_draw, panel=panel, rows=rows) for panel, rows in panels]
    return svg(drawn.figure.value, _TITLES[drawn.figure], draw)


def svg(name: str, title: str, *rows: "Sequence[Callable[[Axes], None]]") -> bytes:
    """A sheet with rows of panels side by side, each drawn by its function. Raises `MissingExtra`."""
    try:
        from matplotlib import rc_context
        from matplotlib.figure import Figure as Sheet
    except ImportError as error:
        raise MissingExtra(f"pictures need {error.name}; install it with: {INSTALL}") from None
    # Without a fixed salt and date, every file would differ from the last.
    style: Any = {
        "svg.hashsalt": name,
        "font.size": 9,
        "axes.spines.top": False,
        "axes.spines.right": False,
    }
    with rc_context(style):
        across = len(rows[0])
        sheet = Sheet(figsize=(5.2 * across, 4.4 * len(rows)), layout="constrained")
        sheet.suptitle(title)
        for places, panels in zip(sheet.subplots(len(rows), across, squeeze=False), rows, strict=True):
            for axes, draw in zip(places, panels, strict=True):
                draw(axes)
        file = io.BytesIO()
        with warnings.catch_warnings():
            # Said on a machine that is busy. Nobody can do anything about it, and the place is found all the same.
            warnings.filterwarnings("ignore", message='Creating legend with loc="best" can be slow')
            sheet.savefig(file, format="svg", metadata={"Date": None})
    return file.getvalue()


def _panel(row: SweepRow) -> str:
    return row.panel


def _draw(axes: "Axes", panel: str, rows: Sequence[SweepRow]) -> None:
    rows = _legible(rows)
    metrics = sorted({row.metric for row in rows})
    curves = [(name, list(group)) for name, group in groupby(sorted(rows, key=_place), key=_name)]
    kinds = list(dict.fromkeys(kind for kind, _ in (name for name, _ in curves)))
    for (kind, option), curve in curves:
        _curve(axes, curve, COLOURS[kinds.index(kind) % len(COLOURS)], option)
    axes.set_xlabel(_AXES[rows[0].x_name])
    axes.set_ylabel(_METRICS[metrics[0]] if len(metrics) == 1 else "share")
    top = _top(rows) if len(metrics) == 1 else 1.03
    axes.set_ylim(0, top)
    axes.set_title(f"({panel}){_fixed(rows)}{_above(rows, top)}", fontsize=9)
    axes.grid(alpha=0.25)
    axes.legend(handles=_legend(kinds, {option for (_, option), _ in curves}), fontsize=7, frameon=False)


def _legible(rows: Sequence[SweepRow]) -> Sequence[SweepRow]:
    """Utilisation of four systems, of two hops each and by two measures, is more than an eye can follow."""
    if rows[0].x_name not in _SEVERAL or rows[0].metric in _SINGLE:
        return rows
    return [row for row in rows if row.metric.startswith("busy_")]


def _top(rows: Sequence[SweepRow]) -> float | None:
    """Where the axis ends; None if all is to be seen."""
    if rows[0].x_name not in _SEVERAL:
        return None
    stable = {_system(row) for row in rows if row.analytic is not None}
    seen = [value for row in rows if _system(row) in stable for value in (row.mean, row.analytic) if value]
    top = _MARGIN * sorted(seen)[int(_INSIDE * (len(seen) - 1))] if seen else 0.0
    return top if top and _number_above(rows, top) else None


def _system(row: SweepRow) -> tuple[float, int, int, float]:
    return row.x, row.n1, row.n2, row.q


def _number_above(rows: Sequence[SweepRow], top: float) -> int:
    return sum(value > top for row in rows for value in (row.mean, row.analytic) if value is not None)


def _above(rows: Sequence[SweepRow], top: float | None) -> str:
    number = 0 if top is None else _number_above(rows, top)
    return f" {number} {'point is' if number == 1 else 'points are'} further up" if number else ""


def _kind(row: SweepRow) -> str:
    """What tells curves apart beside the option."""
    system = f"n = {row.n1}" if row.x_name in _SEVERAL else f"q = {row.q:g}" if row.x_name in ("n1", "n2") else ""
    metric = "" if row.metric in _SINGLE else _METRICS[row.metric]
    return ", ".join(filter(None, [system, metric]))


def _name(row: SweepRow) -> tuple[str, str]:
    return _kind(row), row.option


def _place(row: SweepRow) -> tuple[str, str, float]:
    return _kind(row), row.option, row.x


def _curve(axes: "Axes", rows: Sequence[SweepRow], colour: str, option: str) -> None:
    line = [row for row in rows if row.mean is not None]
    means, spans = [row.mean or 0.0 for row in line], [row.ci95 or 0.0 for row in line]
    xs = [row.x for row in line]
    axes.errorbar(xs, means, spans, color=colour, linestyle=_LINES[option], capsize=2, linewidth=1.2)
    known = [(row.x, row.analytic) for row in rows if row.analytic is not None]
    if known and option == Option.OUT_OF_ORDER:
        axes.plot(*zip(*known, strict=True), "o", color=colour, markerfacecolor="none", markersize=6)


def _legend(kinds: Sequence[str], options: set[str]) -> list[Any]:
    from matplotlib.lines import Line2D

    grey = "#555555"
    named = [
        Line2D([], [], color=COLOURS[place % len(COLOURS)], label=kind) for place, kind in enumerate(kinds) if kind
    ]
    only = grey if named else COLOURS[0]
    styles = [
        Line2D([], [], color=only, linestyle=_LINES[option], label=_OPTIONS[option]) for option in sorted(options)
    ]
    analytic = Line2D([], [], color=only, marker="o", markerfacecolor="none", linestyle="", label="analytic")
    return [*named, *styles, analytic]


def _fixed(rows: Sequence[SweepRow]) -> str:
    """What is the same for all of a panel, and is said nowhere else."""
    row = rows[0]
    if row.x_name in _SEVERAL and row.metric not in _SINGLE:
        return " busy threads: the options hardly differ"
    parts = {"n": f" q = {row.q:g}", "n2": f" senders: {row.n1} threads", "n1": f" broker: {row.n2} threads"}
    return parts.get(row.x_name, "")
