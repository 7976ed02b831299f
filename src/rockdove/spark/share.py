"""Nearest-rank percentiles, and fixed buckets for figures of many queues, which add up."""

import numpy as np

from rockdove.spark.order import Ints

SHARES = (0.50, 0.95, 0.99)

# Bits kept of a value: buckets are exact below 2**BITS, and at most 2**(1 - BITS) wide beyond, relative to the value.
FINE = 16
COARSE = 6


def rank(number: Ints, share: float) -> Ints:
    """The index of a percentile among so many sorted values."""
    # Rounding keeps 0.95 * 20 from becoming 19.000000000000004.
    return np.maximum(np.ceil(np.round(number * share, 6)).astype(np.int64) - 1, 0)


def bucket(values: Ints, bits: int) -> Ints:
    """The lower ends of the values' buckets; `values` are not negative."""
    length = np.frexp(values.astype(np.float64))[1]
    shift = np.maximum(length - bits, 0)
    lower: Ints = values >> shift << shift
    return lower


def percentile(values: Ints, counts: Ints, share: float) -> int | None:
    """Of values that are there so many times, in any order; None if there is none."""
    total = int(counts.sum())
    if total == 0:
        return None
    order = np.argsort(values, kind="stable")
    ends = np.cumsum(counts[order])
    return int(values[order][np.searchsorted(ends, rank(np.array(total), share), side="right")])
