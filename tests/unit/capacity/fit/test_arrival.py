"""Whether arrivals are a Poisson process, and their rate."""

import numpy as np
import pytest
from numpy.typing import NDArray

from rockdove.capacity.error import Untold
from rockdove.capacity.fit.arrival import Poisson, poisson, rate
from rockdove.capacity.fit.dispersion import chance, dispersion, windows
from rockdove.capacity.fit.histogram import Histogram
from rockdove.capacity.fit.share import share

RNG = np.random.default_rng(3)


def found_in(gaps: NDArray[np.float64]) -> Poisson:
    times = np.cumsum(gaps)
    counts = np.histogram(times, windows(len(times)))[0]
    numbers, often = np.unique(counts, return_counts=True)
    return poisson(Histogram.of(gaps[1:]), dict(zip(numbers.tolist(), often.tolist(), strict=True)))


def test_a_poisson_process(rng: np.random.Generator) -> None:
    found = [found_in(rng.exponential(0.025, 1_500)) for _ in range(100)]
    assert sum(one.fits for one in found) >= 95
    assert sum(1.0 in one.dispersion for one in found) >= 88


@pytest.mark.parametrize("number", [30, 60, 200])
def test_short_traces_are_refused_as_seldom_as_long_ones(number: int, rng: np.random.Generator) -> None:
    """Each test refuses at most one of 100 Poisson processes; some more of 800 would be chance."""
    found = [found_in(rng.exponential(0.025, number)) for _ in range(800)]
    assert sum(one.dispersion_p < 0.01 for one in found) <= 8 + 8
    assert sum(one.distance > one.distance_limit for one in found) <= 8 + 8
    assert sum(not one.fits for one in found) <= 16 + 8


@pytest.mark.parametrize("number", [30, 60])
def test_what_is_none_is_seen_in_short_traces(number: int, rng: np.random.Generator) -> None:
    assert not found_in(np.full(number, 0.025)).fits
    batches = np.where(np.arange(number) % 5 == 0, rng.exponential(0.125, number), 1e-6)
    assert not found_in(batches).fits


def test_windows_with_the_same_number_have_no_interval() -> None:
    assert (dispersion({3: 10}).value, dispersion({3: 10}).low, dispersion({3: 10}).high) == (0, None, None)
    assert chance({3: 10}) < 0.01
    # Two windows say nothing: one time in seven they have the same number.
    assert chance({15: 2}) > 0.2


def test_all_at_one_moment_is_no_rate() -> None:
    with pytest.raises(Untold, match="all 40 messages were sent at one moment"):
        poisson(Histogram.of([0.0] * 39), {0: 9, 40: 1})


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
