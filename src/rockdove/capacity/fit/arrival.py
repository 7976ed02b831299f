"""How messages arrive: their rate, how variable it is, and whether a Poisson process does that.

Two tests, because each misses what the other sees: the times between arrivals must be exponential (Kolmogorov and
Smirnov, with the mean estimated), and they must not depend on each other, or the numbers of arrivals in windows would
be more, or less, variable than their mean (the index of dispersion).
"""

import math
from collections.abc import Mapping
from typing import Final

from msgspec import Struct
from scipy.special import gammaincinv, ndtri

from rockdove.capacity.error import Untold
from rockdove.capacity.estimate import Estimate
from rockdove.capacity.fit.dispersion import chance, dispersion
from rockdove.capacity.fit.family import distance, limit
from rockdove.capacity.fit.histogram import Histogram

# Differences that do not matter, however many arrivals prove that there is one.
NEAR_GAPS: Final = 0.03
NEAR_DISPERSION: Final = 0.1
# Of each test: so seldom it refuses what is a Poisson process.
_SURE: Final = 0.01


class Poisson(Struct, frozen=True):
    """What the tests found: `fits` if both do."""

    fits: bool
    # Variance of the numbers of arrivals in windows, divided by their mean; 1 for a Poisson process.
    dispersion: Estimate
    dispersion_p: float
    # Kolmogorov-Smirnov distance of the times between arrivals from exponential ones, and up to what it fits.
    distance: float
    distance_limit: float


def poisson(gaps: Histogram, windows: Mapping[int, int]) -> Poisson:
    """`gaps` are the times between arrivals, `windows` how many windows had how many arrivals. Raises `Untold`."""
    if not gaps.mean:
        raise Untold(f"arrivals: all {gaps.number + 1} messages were sent at one moment, which tells no rate")
    index, likely = dispersion(windows), chance(windows)
    found, most = distance(gaps, 1), limit(gaps.number, NEAR_GAPS)
    regular = likely >= _SURE or abs(index.value - 1) <= NEAR_DISPERSION
    return Poisson(regular and found <= most, index, likely, found, most)


def rate(gaps: Histogram, found: Poisson) -> Estimate:
    """Arrivals a second: exact bounds for a Poisson process, else by the index of dispersion."""
    number = gaps.number
    value = 1 / gaps.mean
    if found.fits:
        low, high = float(gammaincinv(number, 0.025)), float(gammaincinv(number + 1, 0.975))
        return Estimate(value, value * low / number, value * high / number)
    half = float(ndtri(0.975)) * value * math.sqrt(max(found.dispersion.value, gaps.scv) / number)
    return Estimate(value, max(value - half, 0.0), value + half)
