"""A picture of its own, with a title and panels side by side."""

from collections.abc import Sequence
from html import escape
from typing import Final, NamedTuple

from rockdove.picture.plot import HEIGHT, WIDTH, Line
from rockdove.picture.style import style

_EDGE: Final = 20
_HEAD: Final = 74
_FOOT: Final = 34
# From the foot of one row of panels to the next one, where the panels' titles are.
_BETWEEN: Final = 30


class Panel(NamedTuple):
    """``drawn`` by `rockdove.picture.plot.chart`; ``below``: what its axis is of."""

    title: str
    below: str
    drawn: str
    lines: Sequence[Line]


def sheet(title: str, *rows: Sequence[Panel]) -> str:
    """An SVG file."""
    across = max(len(row) for row in rows)
    wide = across * WIDTH + (across + 1) * _EDGE
    tall = _top(len(rows) - 1) + HEIGHT + _FOOT
    said = escape(title)
    panels = [_placed(panel, column, _top(at)) for at, row in enumerate(rows) for column, panel in enumerate(row)]
    return (
        f'<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 {wide} {tall}" width="{wide}" height="{tall}" '
        "role=\"img\" font-family=\"system-ui, 'Segoe UI', 'DejaVu Sans', sans-serif\">"
        f'<title>{said}</title><style>{style()}</style><rect width="{wide}" height="{tall}" fill="var(--card)"/>'
        f'<text x="{_EDGE}" y="30" font-size="18" font-weight="600" fill="var(--ink)">{said}</text>'
        f"{''.join(panels)}</svg>\n"
    )


def _top(row: int) -> int:
    return _HEAD + row * (HEIGHT + _FOOT + _BETWEEN)


def _placed(panel: Panel, column: int, top: int) -> str:
    left = _EDGE + column * (_EDGE + WIDTH)
    legend = "".join(
        f'<tspan class="c{line.colour}" fill="var(--colour)" dx="14">{escape(line.name)}</tspan>'
        for line in panel.lines
    )
    placed = panel.drawn.replace("<svg ", f'<svg x="{left}" y="{top}" width="{WIDTH}" height="{HEIGHT}" ', 1)
    title = f'<text x="{left}" y="{top - 14}" font-size="13" fill="var(--ink)">{escape(panel.title)}{legend}</text>'
    middle, foot = left + WIDTH / 2, top + HEIGHT + 16
    below = f'<text class="mark" x="{middle}" y="{foot}" text-anchor="middle">{escape(panel.below)}</text>'
    return f"{title}{placed}{below}"
