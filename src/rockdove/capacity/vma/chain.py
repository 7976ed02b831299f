"""Queues of slots for compiled loops: an array holds the first and the last, another who follows whom."""

from typing import Any, Final

import numpy as np

from rockdove.capacity.compiled import compiled

Array = np.ndarray[Any, Any]

NONE: Final = -1


@compiled
def append(ends: Array, follower: Array, slot: int) -> None:
    follower[slot] = NONE
    if ends[0] == NONE:
        ends[0] = slot
    else:
        follower[ends[1]] = slot
    ends[1] = slot


@compiled
def prepend(ends: Array, follower: Array, slot: int) -> None:
    follower[slot] = ends[0]
    if ends[0] == NONE:
        ends[1] = slot
    ends[0] = slot


@compiled
def take(ends: Array, follower: Array) -> int:
    """The first, which must be there."""
    slot = ends[0]
    ends[0] = follower[slot]
    return int(slot)
