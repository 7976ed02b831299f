"""Spells of work: stretches of time, joined where they touch, and shared out to windows."""

import numpy as np

from rockdove.capacity.compiled import compiled
from rockdove.spark.order import Ints
from rockdove.spark.window import Windows


def merge(begins: Ints, ends: Ints) -> tuple[Ints, Ints]:
    """The same time without overlaps, in order."""
    order = np.argsort(begins, kind="stable")
    return _merged(begins[order], ends[order])


@compiled
def _merged(begins: Ints, ends: Ints) -> tuple[Ints, Ints]:
    number = 0
    for index in range(len(begins)):
        if number and begins[index] <= ends[number - 1]:
            ends[number - 1] = max(ends[number - 1], ends[index])
        else:
            begins[number], ends[number] = begins[index], ends[index]
            number += 1
    return begins[:number], ends[:number]


def spread(begins: Ints, ends: Ints, windows: Windows) -> Ints:
    """How many microseconds of the stretches fall into each window."""
    return _spread(begins, ends, windows.begin, windows.width, windows.number)


@compiled
def _spread(begins: Ints, ends: Ints, first: int, width: int, number: int) -> Ints:
    busy = np.zeros(number, np.int64)
    for index in range(len(begins)):
        at, end = max(begins[index], first), min(ends[index], first + width * number)
        while at < end:
            window = (at - first) // width
            stop = min(end, first + (window + 1) * width)
            busy[window] += stop - at
            at = stop
    return busy
