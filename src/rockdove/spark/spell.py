"""Spells of work: stretches of time, joined where they touch, in which messages of a queue were worked on."""

from typing import NamedTuple

import numpy as np

from rockdove.capacity.compiled import compiled
from rockdove.spark.order import Ints
from rockdove.spark.window import Windows


class Spells(NamedTuple):
    """Of which queue each is, and from when to when."""

    queue: Ints
    begin: Ints
    end: Ints


def merge(spells: Spells, windows: Windows) -> Spells:
    """The same time without overlaps, in order, and nothing that is in no window. The queues are in order already."""
    queue, begin, end = spells
    is_one = len(queue) == 0 or queue[0] == queue[-1]
    order = np.argsort(begin, kind="stable") if is_one else np.lexsort((begin, queue))
    last = windows.begin + windows.width * windows.number
    return Spells(*_merged(queue, np.clip(begin[order], windows.begin, last), np.clip(end[order], windows.begin, last)))


@compiled
def _merged(queue: Ints, begin: Ints, end: Ints) -> tuple[Ints, Ints, Ints]:
    of = np.empty(len(queue), np.int64)
    number = 0
    for index in range(len(begin)):
        if number and of[number - 1] == queue[index] and begin[index] <= end[number - 1]:
            end[number - 1] = max(end[number - 1], end[index])
        else:
            of[number], begin[number], end[number] = queue[index], begin[index], end[index]
            number += 1
    return of[:number], begin[:number], end[:number]
