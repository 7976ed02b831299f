"""Queues of slots for compiled loops: a first slot, a last one, and an array that says who follows whom.

The ends are numbers that go in and come out, so that they stay in registers.
"""

from typing import Any, Final

import numpy as np

from rockdove.capacity.compiled import compiled

Array = np.ndarray[Any, Any]

NONE: Final = -1


@compiled
def append(first: int, last: int, follower: Array, slot: int) -> tuple[int, int]:
    """The new ends."""
    follower[slot] = NONE
    if first == NONE:
        return slot, slot
    follower[last] = slot
    return first, slot


@compiled
def prepend(first: int, last: int, follower: Array, slot: int) -> tuple[int, int]:
    """The new ends."""
    follower[slot] = first
    if first == NONE:
        return slot, slot
    return slot, last
