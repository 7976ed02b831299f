"""A mean over independent runs, and how far it may be off."""

import math
from collections.abc import Sequence

import numpy as np
from msgspec import Struct
from scipy.special import stdtrit


class Interval(Struct, frozen=True):
    """The true mean is within `mean` plus or minus `ci95` in 95 of 100 experiments; infinite for a single run."""

    mean: float
    ci95: float

    @property
    def low(self) -> float:
        return self.mean - self.ci95

    @property
    def high(self) -> float:
        return self.mean + self.ci95

    def __contains__(self, value: float) -> bool:
        return self.low <= value <= self.high

    def __str__(self) -> str:
        return f"{self.mean:.4g} ± {self.ci95:.2g}"


def interval(values: Sequence[float]) -> Interval:
    """By Student's distribution; runs that gave no value (NaN) are left out."""
    known = np.asarray([value for value in values if not math.isnan(value)])
    if len(known) == 0:
        return Interval(math.nan, math.inf)
    if len(known) == 1:
        return Interval(float(known[0]), math.inf)
    half = stdtrit(len(known) - 1, 0.975) * known.std(ddof=1) / math.sqrt(len(known))
    return Interval(float(known.mean()), float(half))
