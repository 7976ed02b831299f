"""A binary heap of (time, number) in two arrays, the earliest first, for compiled loops."""

from typing import Any

import numpy as np

from rockdove.capacity.compiled import compiled

Array = np.ndarray[Any, Any]


@compiled
def push(times: Array, items: Array, size: int, time: float, item: int) -> None:
    """The arrays must have room at `size`; the caller adds 1 to it."""
    place = size
    while place > 0:
        parent = (place - 1) >> 1
        if times[parent] <= time:
            break
        times[place], items[place] = times[parent], items[parent]
        place = parent
    times[place], items[place] = time, item


@compiled
def replace(times: Array, items: Array, size: int, time: float, item: int) -> None:
    """The first goes, the given one comes: cheaper than one after the other."""
    place = 0
    child = 1
    while child < size:
        if child + 1 < size and times[child + 1] < times[child]:
            child += 1
        if time <= times[child]:
            break
        times[place], items[place] = times[child], items[child]
        place = child
        child = 2 * place + 1
    times[place], items[place] = time, item


@compiled
def pop(times: Array, items: Array, size: int) -> None:
    """The first goes; the caller takes 1 from `size`."""
    last = size - 1
    replace(times, items, last, times[last], items[last])
