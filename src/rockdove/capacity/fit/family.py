"""Which distribution measured service times have: exponential, Erlang's with k phases, or none of these."""

import math
from typing import Final

import numpy as np
from msgspec import Struct
from scipy.special import gammainc

from rockdove.capacity.fit.histogram import Histogram

EXPONENTIAL: Final = "exponential"
ERLANG: Final = "erlang"
GENERAL: Final = "general"
# So far a distribution may be off and is still said to fit: what this is about changes delivery times by a few percent.
# A test alone would find every large trace to be like nothing. See docs/decisions/55-near-enough.md.
NEAR: Final = 0.05
# More phases are nearly a constant: what is that regular is told by its scv.
_MOST_PHASES: Final = 100
# Of the Kolmogorov-Smirnov statistic times the root of the number, where the mean was estimated: Stephens, 1974, 1 %.
_CHANCE: Final = 1.308


class Fit(Struct, frozen=True):
    """The family, its phases if it is Erlang's, and how far each family is off."""

    family: str
    phases: int | None
    # Kolmogorov-Smirnov distances: the greatest difference of the distribution functions.
    distances: dict[str, float]


def fit(times: Histogram) -> Fit:
    """The nearest family with the measured mean, if it is near enough; general otherwise."""
    phases = min(_phases(times.scv), key=lambda number: distance(times, number))
    distances = {EXPONENTIAL: distance(times, 1), ERLANG: distance(times, phases)}
    nearest = min(distances, key=lambda name: distances[name])
    if distances[nearest] > limit(times.number):
        return Fit(GENERAL, None, distances)
    return Fit(nearest, phases if nearest == ERLANG else None, distances)


def distance(times: Histogram, phases: int) -> float:
    """Kolmogorov's and Smirnov's, at both edges of each bucket, from Erlang's distribution with the same mean."""
    after = np.cumsum(times.count) / times.number
    # Where no times are, the distribution goes on: it is furthest ahead just before the next bucket.
    before = after - times.count / times.number
    above = after - gammainc(phases, phases * times.edge / times.mean)
    below = gammainc(phases, phases * times.start / times.mean) - before
    return float(max(np.abs(above).max(), below.max()))


def limit(number: int, near: float = NEAR) -> float:
    """The distance up to which a distribution fits: what chance explains with so many times, or no matter."""
    root = math.sqrt(number)
    return max(near, _CHANCE / (root + 0.26 + 0.5 / root) + 0.2 / number)


def _phases(scv: float) -> range:
    """Those that have about this scv, 1/k."""
    about = min(max(round(1 / scv), 2), _MOST_PHASES) if scv > 0 else _MOST_PHASES
    return range(max(about - 1, 2), min(about + 1, _MOST_PHASES) + 1)
