"""How far a sequence is out of order: its longest increasing subsequence, and how far members are from their places.

`extend` and `displaced` take a sequence piece by piece, so that a stream can be measured, too.
"""

from typing import TypeAlias

import numpy as np
from numpy.typing import NDArray

from rockdove.capacity.compiled import compiled

Ints: TypeAlias = NDArray[np.int64]


@compiled
def extend(tails: Ints, size: int, values: Ints) -> int:
    """Take the next `values` of a sequence; gives the length of its longest increasing subsequence so far.

    ``tails[k]`` is the smallest value that ends an increasing subsequence of length k + 1 (patience sorting); `size` of
    them are in use. There must be room for as many as values were taken in all. O(log size) for a value out of order,
    O(1) for one in order.
    """
    for value in values:
        if size == 0 or value > tails[size - 1]:
            tails[size] = value
            size += 1
            continue
        low, high = 0, size - 1
        while low < high:
            middle = (low + high) >> 1
            if tails[middle] < value:
                low = middle + 1
            else:
                high = middle
        tails[low] = value
    return size


@compiled
def displaced(places: Ints, first: int) -> int:
    """The sum of the distances from where values stand (`first`, first + 1, ...) to their `places`."""
    total = 0
    for index in range(len(places)):
        total += abs(places[index] - first - index)
    return total


@compiled
def displaced_in_blocks(places: Ints, begins: Ints) -> Ints:
    """The same for each of the blocks that `places` is cut into; a block ends where the next begins."""
    totals = np.zeros(len(begins), np.int64)
    for block in range(len(begins)):
        end = begins[block + 1] if block + 1 < len(begins) else len(places)
        totals[block] = displaced(places[begins[block] : end], begins[block])
    return totals


@compiled
def longest(values: Ints) -> int:
    """The length of the longest increasing subsequence of a sequence that is there as a whole."""
    return extend(np.empty(len(values), np.int64), 0, values)


@compiled
def longest_of_blocks(values: Ints, begins: Ints) -> Ints:
    """The same for each of the blocks that `values` is cut into; a block ends where the next begins."""
    lengths = np.zeros(len(begins), np.int64)
    tails = np.empty(len(values), np.int64)
    for block in range(len(begins)):
        end = begins[block + 1] if block + 1 < len(begins) else len(values)
        lengths[block] = extend(tails, 0, values[begins[block] : end])
    return lengths


def begins_of(values: Ints) -> Ints:
    """Where each stretch of equal values begins."""
    return np.flatnonzero(np.r_[True, values[1:] != values[:-1]][: len(values)]).astype(np.int64, copy=False)


def ranks_as_received(
    sent: Ints, high: Ints, low: Ints, received: Ints, queue: Ints | None = None
) -> tuple[Ints, Ints]:
    """The places in the order of sending, in the order of receiving; and which message is at each.

    Messages are sent in the order of `sent`, then of their ids (`high`, `low`). Those received at the same moment have
    no order among themselves, and are taken as in order. With several queues, which have all their messages side by
    side, each has the places that its messages stand at.
    """
    order = _sorted(sent, queue)
    times = sent[order]
    if np.any(times[1:] == times[:-1]):
        of_queue = () if queue is None else (queue,)
        order = np.lexsort((low.view(np.uint64), high.view(np.uint64), sent, *of_queue))
    ranks = _sorted(received[order], queue)
    return ranks, order[ranks]


def _sorted(values: Ints, queue: Ints | None) -> Ints:
    order = np.argsort(values, kind="stable") if queue is None else np.lexsort((values, queue))
    return order.astype(np.int64, copy=False)


def ranks_by_sender(sender: Ints, seq: Ints, received: Ints) -> tuple[Ints, Ints, Ints]:
    """The same for each sender by its own numbers: the places, one sender after the other, and where each begins.

    The third tells which message is one of each sender's.
    """
    order = np.lexsort((seq, sender))
    senders = sender[order]
    begins = begins_of(senders)
    ranks = np.lexsort((received[order], senders)).astype(np.int64, copy=False)
    return ranks, begins, order[begins]
