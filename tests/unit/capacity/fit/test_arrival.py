"""Whether arrivals are a Poisson process, and their rate."""

import numpy as np
import pytest
from numpy.typing import NDArray

from rockdove.capacity.fit.arrival import IN_A_WINDOW, Poisson, poisson, rate
from rockdove.capacity.fit.histogram import Histogram
from rockdove.capacity.fit.share import share

RNG = np.random.default_rng(3)


def found_in(gaps: NDArray[np.float64]) -> Poisson:
    times = np.cumsum(gaps)
    windows = len(times) // IN_A_WINDOW
    counts = np.histogram(times, windows)[0]
    numbers, often = np.unique(counts, return_counts=True)
    return poisson(Histogram.of(gaps), dict(zip(numbers.tolist(), often.tolist(), strict=True)))


def test_a_poisson_process(rng: np.random.Generator) -> None:
    found = [found_in(rng.exponential(0.025, 1_500)) for _ in range(100)]
    assert sum(one.fits for one in found) >= 95
    assert sum(1.0 in one.dispersion for one in found) >= 88


def test_its_rate(rng: np.random.Generator) -> None:
    hits = 0
    for _ in range(200):
        gaps = rng.exponential(0.025, 400)
        hits += 40 in rate(Histogram.of(gaps), found_in(gaps))
    assert 0.91 <= hits / 200 <= 0.99


@pytest.mark.parametrize(
    "gaps",
    [
        np.full(1_500, 0.025),
        RNG.gamma(4, 0.025 / 4, 1_500),
        np.where(RNG.random(1_500) < 0.9, 0.0, RNG.exponential(0.25, 1_500)),
        # Exponential between arrivals, but of a rate that comes and goes.
        np.concatenate([RNG.exponential(0.025 * (1 + 0.8 * (-1) ** n), 50) for n in range(30)]),
    ],
    ids=["regular", "erlang", "batches", "waves"],
)
def test_what_is_none(gaps: NDArray[np.float64]) -> None:
    assert not found_in(gaps).fits


def test_dependence_is_seen_by_the_dispersion_alone(rng: np.random.Generator) -> None:
    """The same times between arrivals, the short ones together: they are as exponential as before."""
    gaps = rng.exponential(0.025, 2_000)
    found = found_in(np.concatenate([np.sort(part) for part in np.split(gaps, 10)]))
    assert found.distance <= found.distance_limit
    assert found.dispersion.value > 2
    assert not found.fits


def test_a_large_trace_may_be_off_by_what_does_not_matter(rng: np.random.Generator) -> None:
    gaps = 0.0006 + rng.exponential(0.0244, 200_000)
    found = found_in(gaps)
    assert found.dispersion_p < 0.05
    assert found.fits


def test_a_share_has_bounds_where_nothing_failed() -> None:
    found = share(100, 100)
    assert (found.value, found.high) == (1.0, 1.0)
    assert found.low == pytest.approx(0.025 ** (1 / 100))
    assert share(0, 10).low == 0
    low, high = share(5, 10).low, share(5, 10).high
    assert low is not None
    assert high is not None
    assert low + high == pytest.approx(1)
