"""The index of dispersion: whether numbers of arrivals in windows vary as those of a Poisson process do.

If it is one, arrivals between the first and the last are anywhere with the same probability. So, given their number,
the numbers in windows are multinomial, whatever the rate is, and what chance does to the index can be drawn.
"""

from collections.abc import Mapping
from functools import lru_cache
from typing import Final

import numpy as np
from numpy.typing import NDArray
from scipy.special import chdtr, chdtri

from rockdove.capacity.estimate import Estimate

# Arrivals that a window has on average.
_IN_A_WINDOW: Final = 20
# With fewer, the index takes few values and proves nothing; short traces have less in a window instead.
_FEWEST: Final = 10
# Up to here by drawing. With more windows of 20 arrivals chi square is as good.
_DRAWN: Final = 50
_DRAWS: Final = 20_000


def windows(arrivals: int) -> int:
    """Into how many windows so many arrivals are cut."""
    return max(arrivals // _IN_A_WINDOW, _FEWEST)


def dispersion(counts: Mapping[int, int]) -> Estimate:
    """Of how many windows had how many arrivals: variance divided by mean.

    The interval is by chi square; there is none if all windows have the same number.
    """
    number, mean = _number(counts), _arrivals(counts) / _number(counts)
    spread = sum((arrivals - mean) ** 2 * times for arrivals, times in counts.items()) / (number - 1) / mean
    if not spread:
        return Estimate(0.0)
    squares = (number - 1) * spread
    return Estimate(spread, squares / float(chdtri(number - 1, 0.025)), squares / float(chdtri(number - 1, 0.975)))


def chance(counts: Mapping[int, int]) -> float:
    """How likely a Poisson process is to have an index so far from 1, above or below; both tails count."""
    number, arrivals = _number(counts), _arrivals(counts)
    squares = sum(count**2 * times for count, times in counts.items())
    if number <= _DRAWN:
        drawn = _drawn(arrivals, number)
        # Drawn ones that are as far count, and so does what was seen: thus it is never too small.
        below = (1 + int(np.searchsorted(drawn, squares, "right"))) / (1 + _DRAWS)
        above = (1 + _DRAWS - int(np.searchsorted(drawn, squares, "left"))) / (1 + _DRAWS)
    else:
        mean = arrivals / number
        below = float(chdtr(number - 1, squares / mean - arrivals))
        above = 1 - below
    return min(2 * min(below, above), 1.0)


def _number(counts: Mapping[int, int]) -> int:
    return sum(counts.values())


def _arrivals(counts: Mapping[int, int]) -> int:
    return sum(arrivals * times for arrivals, times in counts.items())


@lru_cache(maxsize=16)
def _drawn(arrivals: int, number: int) -> NDArray[np.int64]:
    """Sums of squares, ascending. The first arrival is where the first window begins, the last where the last ends."""
    counts = np.random.default_rng(1).multinomial(max(arrivals - 2, 0), np.full(number, 1 / number), _DRAWS)
    counts[:, 0] += 1
    counts[:, -1] += 1
    return np.sort((counts**2).sum(axis=1))
