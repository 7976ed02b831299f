"""From cells to lines: each queue's windows in order, with those in which nothing happened but messages were there."""

from collections.abc import Iterator
from typing import Final, NamedTuple

import numpy as np

from rockdove.capacity.compiled import compiled
from rockdove.spark.order import Ints
from rockdove.spark.spell import Spells
from rockdove.spark.window import Windows

# Lines that are made at a time.
AT_ONCE: Final = 1 << 16
# The state of a walk: the queue and the window that come next, levels, and the next spell.
_QUEUE, _WINDOW, _WAITING, _IN_FLIGHT, _SPELL = range(5)


class Shown(NamedTuple):
    """For each queue: its first cell, and the first and the last window that are of interest."""

    cell: Ints
    first: Ints
    last: Ints


class Lines(NamedTuple):
    """``cell`` is one past the last where there is none."""

    queue: Ints
    window: Ints
    cell: Ints
    waiting: Ints
    in_flight: Ints
    busy: Ints


class Walk:
    """Gives lines, some at a time. `waiting` and `in_flight` are what they change by in each cell."""

    def __init__(
        self, windows: Windows, shown: Shown, window: Ints, waiting: Ints, in_flight: Ints, spells: Spells
    ) -> None:
        self._windows = windows
        self._shown = shown
        self._window = window
        self._levels = (waiting, in_flight)
        self._spells = spells

    def __iter__(self) -> Iterator[Lines]:
        windows, state = self._windows, np.zeros(5, np.int64)
        slots, busy = np.full(windows.number, -1, np.int64), np.zeros(windows.number, np.int64)
        while state[_QUEUE] < len(self._shown.cell):
            lines = Lines(*(np.empty(AT_ONCE, np.int64) for _ in Lines._fields))
            number = _walk(
                state, windows.begin, windows.width, slots, busy, self._shown, self._window, *self._levels,
                self._spells, lines,
            )  # fmt: skip
            if number:
                yield Lines(*(column[:number] for column in lines))


@compiled
def _walk(
    state: Ints,
    begin: int,
    width: int,
    slots: Ints,
    busy: Ints,
    shown: Shown,
    window_of: Ints,
    waiting: Ints,
    in_flight: Ints,
    spells: Spells,
    lines: Lines,
) -> int:
    """Fill `lines` from where the state is, and give how many there are."""
    number, most, cells = 0, len(lines.queue), len(window_of)
    while state[_QUEUE] < len(shown.cell):
        queue = state[_QUEUE]
        end = shown.cell[queue + 1] if queue + 1 < len(shown.cell) else cells
        if state[_WINDOW] == 0:
            for cell in range(shown.cell[queue], end):
                slots[window_of[cell]] = cell
            while state[_SPELL] < len(spells.queue) and spells.queue[state[_SPELL]] == queue:
                _spread(spells.begin[state[_SPELL]], spells.end[state[_SPELL]], begin, width, busy)
                state[_SPELL] += 1
        last = shown.last[queue]
        for window in range(state[_WINDOW], last + 1):
            cell = slots[window]
            if cell >= 0:
                state[_WAITING] += waiting[cell]
                state[_IN_FLIGHT] += in_flight[cell]
            is_something = cell >= 0 or busy[window] != 0 or state[_WAITING] != 0 or state[_IN_FLIGHT] != 0
            if is_something and window >= shown.first[queue]:
                lines.queue[number], lines.window[number] = queue, window
                lines.cell[number] = cell if cell >= 0 else cells
                lines.waiting[number], lines.in_flight[number] = state[_WAITING], state[_IN_FLIGHT]
                lines.busy[number] = busy[window]
                number += 1
            busy[window] = 0
            if number == most:
                state[_WINDOW] = window + 1
                return number
        for cell in range(shown.cell[queue], end):
            # Also where a clock was ahead of all events.
            slots[window_of[cell]] = -1
        state[_QUEUE] += 1
        state[_WINDOW], state[_WAITING], state[_IN_FLIGHT] = 0, 0, 0
    return number


@compiled
def _spread(at: int, end: int, begin: int, width: int, busy: Ints) -> None:
    """Share a stretch of time out to the windows that it falls into."""
    while at < end:
        window = (at - begin) // width
        stop = min(end, begin + (window + 1) * width)
        busy[window] += stop - at
        at = stop


@compiled
def sum_by(places: Ints, values: Ints, number: int) -> Ints:
    """The sum of the values of each place; there may be more values than places."""
    sums = np.zeros(number, np.int64)
    for index in range(len(places)):
        sums[places[index]] += values[index]
    return sums
