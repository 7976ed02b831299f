"""Pictures as SVG: lines over time or over anything else, and a map of queues over time."""

from collections.abc import Callable, Sequence
from html import escape
from typing import Any, Final, NamedTuple

from rockdove.picture.scale import Scale, clock, linear, powers

WIDTH, HEIGHT = 560, 250
_LEFT, _RIGHT, _TOP, _BOTTOM = 58, 14, 14, 28
# More points than this cannot be told apart.
_POINTS: Final = 480

Word = Callable[[Any], str]


class Line(NamedTuple):
    """`values` may have gaps. `colour` is one of the page's, by number."""

    name: str
    values: Sequence[float | None]
    colour: int
    filled: bool = False


class Point(NamedTuple):
    """A place on the picture that has a name, above it or below it."""

    across: float
    up: float
    text: str
    colour: int
    below: bool = False


def chart(
    times: Sequence[float],
    lines: Sequence[Line],
    word: Word,
    log: bool = False,
    least: float = 1,
    marks: Callable[[float, float], Sequence[tuple[float, str]]] = clock,
    points: Sequence[Point] = (),
) -> str:
    """Lines over time (seconds since 1970), or over what `marks` are of; the words of a mark come from `word`."""
    times, lines = thin(times, lines)
    known = [value for line in lines for value in line.values if value is not None]
    if not known:
        return '<p class="none">nothing to draw</p>'
    across = Scale(times[0], times[-1] if times[-1] > times[0] else times[0] + 1)
    up = powers(known) if log else linear(known, least)
    parts = [_marks(up, word), _across(across, marks)]
    parts += [_draw(line, times, across, up) for line in lines]
    parts += [_point(point, across, up) for point in points]
    parts.append(_hints(times, lines, across, word))
    return f'<svg viewBox="0 0 {WIDTH} {HEIGHT}" role="img">{"".join(parts)}</svg>'


def thin(times: Sequence[float], lines: Sequence[Line]) -> tuple[Sequence[float], Sequence[Line]]:
    """Of neighbours that cannot be told apart the largest stays: a peak must be seen."""
    stride = -(-len(times) // _POINTS)
    if stride <= 1:
        return times, lines

    def most(values: Sequence[float | None]) -> float | None:
        return max((value for value in values if value is not None), default=None)

    places = range(0, len(times), stride)
    kept = [line._replace(values=[most(line.values[at : at + stride]) for at in places]) for line in lines]
    return [times[at] for at in places], kept


def _x(scale: Scale, value: float) -> float:
    return _LEFT + scale.place(value) * (WIDTH - _LEFT - _RIGHT)


def _y(scale: Scale, value: float) -> float:
    return HEIGHT - _BOTTOM - scale.place(value) * (HEIGHT - _TOP - _BOTTOM)


def _marks(up: Scale, word: Word) -> str:
    parts = []
    for mark in up.marks():
        y = _y(up, mark)
        parts.append(f'<line class="grid" x1="{_LEFT}" x2="{WIDTH - _RIGHT}" y1="{y:.1f}" y2="{y:.1f}"/>')
        parts.append(
            f'<text class="mark" x="{_LEFT - 8}" y="{y + 4:.1f}" text-anchor="end">{escape(word(mark))}</text>'
        )
    return "".join(parts)


def _across(
    across: Scale,
    marks: Callable[[float, float], Sequence[tuple[float, str]]] = clock,
    bottom: float = HEIGHT - _BOTTOM,
    left: float = _LEFT,
    right: float = WIDTH - _RIGHT,
) -> str:
    parts = []
    for moment, text in marks(across.low, across.high):
        x = left + across.place(moment) * (right - left)
        parts.append(f'<line class="tick" x1="{x:.1f}" x2="{x:.1f}" y1="{bottom:.1f}" y2="{bottom + 4:.1f}"/>')
        anchor = "end" if x > right - 20 else "middle"
        parts.append(f'<text class="mark" x="{x:.1f}" y="{bottom + 18:.1f}" text-anchor="{anchor}">{text}</text>')
    return "".join(parts)


def _draw(line: Line, times: Sequence[float], across: Scale, up: Scale) -> str:
    runs: list[list[tuple[float, float]]] = [[]]
    for time, value in zip(times, line.values, strict=True):
        if value is None:
            runs.append([])
        else:
            runs[-1].append((_x(across, time), _y(up, value)))
    return "".join(_run(run, line) for run in runs if run)


def _run(run: list[tuple[float, float]], line: Line) -> str:
    if len(run) == 1:
        (x, y), *_ = run
        return f'<circle class="c{line.colour} dot" cx="{x:.1f}" cy="{y:.1f}" r="2.5"/>'
    path = "M" + "L".join(f"{x:.1f},{y:.1f}" for x, y in run)
    drawn = f'<path class="c{line.colour} line" d="{path}"/>'
    if not line.filled:
        return drawn
    floor = HEIGHT - _BOTTOM
    return f'<path class="c{line.colour} area" d="{path}L{run[-1][0]:.1f},{floor}L{run[0][0]:.1f},{floor}Z"/>{drawn}'


def _point(point: Point, across: Scale, up: Scale) -> str:
    x, y = _x(across, point.across), _y(up, point.up)
    # Beside the point, on the side where there is room.
    beside, anchor = (x + 9, "start") if x < WIDTH * 0.62 else (x - 9, "end")
    level = y + 19 if point.below else y - 9
    text = f'<text class="name" x="{beside:.1f}" y="{level:.1f}" text-anchor="{anchor}">{escape(point.text)}</text>'
    return f'<circle class="c{point.colour} dot" cx="{x:.1f}" cy="{y:.1f}" r="5"/>{text}'


def _hints(times: Sequence[float], lines: Sequence[Line], across: Scale, word: Word) -> str:
    """Strips that show the values under the pointer."""
    wide = (WIDTH - _LEFT - _RIGHT) / max(len(times) - 1, 1)
    parts = []
    for place, time in enumerate(times):
        said = [f"{line.name}: {word(line.values[place])}" for line in lines]
        x = _x(across, time) - wide / 2
        box = f'x="{x:.1f}" y="{_TOP}" width="{wide:.2f}" height="{HEIGHT - _TOP - _BOTTOM}"'
        parts.append(f'<rect class="hint" {box}><title>{escape(chr(10).join(said))}</title></rect>')
    return "".join(parts)


def heat(names: Sequence[str], times: Sequence[float], rows: Sequence[Sequence[float | None]], word: Word) -> str:
    """A row of cells for each name, the darker the more; a cell says its value.

    `times` are those at which cells begin, equally far from each other.
    """
    wide, tall, left, most = 1140, 18, 190, max((v for row in rows for v in row if v is not None), default=0)
    stride = -(-len(times) // 160)
    places = range(0, len(times), stride)
    cell = (wide - left) / len(places)
    parts = []
    for line, (name, row) in enumerate(zip(names, rows, strict=True)):
        y = line * (tall + 2)
        text = name if len(name) <= 26 else f"{name[:25]}…"
        parts.append(f'<text class="mark" x="{left - 8}" y="{y + 13}" text-anchor="end">{escape(text)}</text>')
        for column, at in enumerate(places):
            value = max((v for v in row[at : at + stride] if v is not None), default=None)
            if not value or not most:
                continue
            # The square root keeps small numbers visible beside large ones.
            shade = 0.08 + 0.92 * (value / most) ** 0.5
            box = f'x="{left + column * cell:.1f}" y="{y}" width="{cell + 0.3:.1f}" height="{tall}"'
            said = f"<title>{escape(name)}: {word(value)}</title>"
            parts.append(f'<rect class="heat" {box} opacity="{shade:.2f}">{said}</rect>')
    bottom = len(names) * (tall + 2)
    length = (times[-1] - times[0]) / (len(times) - 1) if len(times) > 1 else 1
    across = Scale(times[0], times[0] + length * stride * len(places))
    parts.append(_across(across, clock, bottom, left, wide))
    return f'<svg viewBox="0 0 {wide} {bottom + 26}" role="img">{"".join(parts)}</svg>'
