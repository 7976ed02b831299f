"""A mean over independent runs, and how far it may be off."""

import math
from collections.abc import Sequence

import numpy as np
from msgspec import Struct
from scipy.stats import t


class Interval(Struct, frozen=True):
    """The true mean is within `mean` plus or minus `ci95` in 95 of 100 experiments; infinite for a single run."""

    mean: float
    ci95: float


def interval(values: Sequence[float]) -> Interval:
    """By Student's distribution; runs that gave no value (NaN) are left out."""
    known = np.asarray([value for value in values if not math.isnan(value)])
    if len(known) == 0:
        return Interval(math.nan, math.inf)
    if len(known) == 1:
        return Interval(float(known[0]), math.inf)
    half = t.ppf(0.975, len(known) - 1) * known.std(ddof=1) / math.sqrt(len(known))
    return Interval(float(known.mean()), float(half))
