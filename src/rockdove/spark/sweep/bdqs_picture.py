"""Figures 4 to 8 of the BDQS paper, measured on real services: a line for each series."""

from collections.abc import Callable, Sequence
from functools import partial
from typing import TYPE_CHECKING, Any, Final, NamedTuple

from rockdove.spark.sweep.picture import COLOURS, svg

if TYPE_CHECKING:
    from matplotlib.axes import Axes

Value = Callable[[Any], Any]


class _Panel(NamedTuple):
    """What is up, with its name, and what is across; of the latter, ``place`` tells where a row is."""

    up: str
    value: Value
    across: str
    place: Value = lambda row: row.x


class _Sheet(NamedTuple):
    """``powers``: what is across is on a scale of powers."""

    title: str
    panels: Sequence[_Panel]
    powers: bool = False


_SENDS: Final = ("sends per second", lambda row: row.send_rate)
_RECEIVES: Final = ("receives with their deletes per second", lambda row: row.receive_delete_rate)


def _order(across: str) -> list[_Panel]:
    return [
        _Panel("duplicates, share of messages", lambda row: row.duplication_rate, across),
        _Panel("out of order, share of messages", lambda row: row.out_of_order_rate, across),
        _Panel("displacement, messages", lambda row: row.displacement, across),
    ]


def _rates(across: str) -> list[_Panel]:
    return [_Panel(*rate, across) for rate in (_SENDS, _RECEIVES)]


_TO_FAILURE = "mean time to failure, s"
_SHEETS: Final[dict[str, _Sheet]] = {
    "fig4": _Sheet("rates against queues", _rates("queues")),
    "fig5": _Sheet(
        "response times against rates",
        [
            _Panel("send p50, ms", lambda row: row.send_ms["p50"], *_SENDS),
            _Panel("send p95, ms", lambda row: row.send_ms["p95"], *_SENDS),
            _Panel("receive p50, ms", lambda row: row.receive_ms["p50"], *_RECEIVES),
            _Panel("receive p95, ms", lambda row: row.receive_ms["p95"], *_RECEIVES),
        ],
    ),
    "fig6": _Sheet("order and duplicates against receivers", _order("receivers of a queue")),
    "fig7": _Sheet("order and duplicates against faults", _order("probability of each fault"), powers=True),
    "fig8": _Sheet(
        "order, duplicates and rates against killed servers",
        [*_order(_TO_FAILURE), *_rates(_TO_FAILURE)],
        powers=True,
    ),
}


def picture(figure: str, rows: Sequence[Any]) -> bytes:
    """An SVG file of the rows of ``rockdove bench``. Raises `MissingExtra`."""
    sheet = _SHEETS[figure]
    # Claims are compared side by side, where there are several.
    groups = list(dict.fromkeys(row.series.partition(", K")[0] for row in rows)) if figure == "fig6" else [""]
    drawn = [
        [
            partial(
                _draw,
                rows=[row for row in rows if row.series.startswith(group)],
                group=group,
                panel=panel,
                powers=sheet.powers,
            )
            for panel in sheet.panels
        ]
        for group in groups
    ]
    return svg(f"bdqs-{figure}", f"Fig. {figure[3:]}: {sheet.title}", *drawn)


def _draw(axes: "Axes", rows: Sequence[Any], group: str, panel: _Panel, powers: bool) -> None:
    for series, colour in zip(dict.fromkeys(row.series for row in rows), COLOURS, strict=False):
        some = [row for row in rows if row.series == series]
        label = series.removeprefix(f"{group}, ") if group else series
        places, values = list(map(panel.place, some)), list(map(panel.value, some))
        axes.plot(places, values, color=colour, linewidth=1.2, marker="o", markersize=3, label=label)
    if powers:
        axes.set_xscale("log")
        ticks = sorted({panel.place(row) for row in rows})
        axes.set_xticks(ticks, [f"{tick:g}" for tick in ticks])
        axes.minorticks_off()
    axes.set_ylim(bottom=0)
    axes.set_title(group, fontsize=9)
    axes.set_xlabel(panel.across)
    axes.set_ylabel(panel.up)
    axes.grid(alpha=0.25)
    axes.legend(fontsize=7, frameon=False)
