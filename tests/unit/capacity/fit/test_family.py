"""Which distribution times have."""

import numpy as np
import pytest
from scipy.stats import kstest

from rockdove.capacity.fit.family import distance, fit
from rockdove.capacity.fit.histogram import Histogram

RNG = np.random.default_rng(5)


def test_exponential_times(rng: np.random.Generator) -> None:
    found = fit(Histogram.of(rng.exponential(0.1, 2_000)))
    assert (found.family, found.phases) == ("exponential", None)
    assert found.distances["exponential"] < 0.03 < found.distances["erlang"]


@pytest.mark.parametrize("phases", [2, 3, 9, 40])
def test_erlang_times(phases: int, rng: np.random.Generator) -> None:
    found = fit(Histogram.of(rng.gamma(phases, 0.1 / phases, 5_000)))
    assert found.family == "erlang"
    assert found.phases == pytest.approx(phases, rel=0.1)


@pytest.mark.parametrize(
    "times",
    [
        np.concatenate([RNG.exponential(0.01, 1_000), RNG.exponential(1, 1_000)]),
        np.full(1_000, 0.1),
        RNG.choice([0.05, 0.5], 1_000) + RNG.exponential(0.001, 1_000),
    ],
    ids=["heavy", "constant", "two humps"],
)
def test_other_times(times: np.ndarray) -> None:
    assert fit(Histogram.of(times)).family == "general"


def test_the_distance_of_times_with_gaps_is_not_too_small(rng: np.random.Generator) -> None:
    """Of 50 times that are the same, the distribution is furthest ahead just before them."""
    assert distance(Histogram.of([0.08] * 50), 1) == pytest.approx(1 - np.exp(-1), abs=0.01)
    times = rng.exponential(0.1, 30)
    true = kstest(times, "expon", args=(0, times.mean())).statistic
    assert distance(Histogram.of(times), 1) == pytest.approx(true, abs=0.01)


def test_a_network_that_adds_a_little_changes_nothing(rng: np.random.Generator) -> None:
    assert fit(Histogram.of(0.003 + rng.exponential(0.1, 100_000))).family == "exponential"


def test_few_times_are_given_the_benefit_of_the_doubt(rng: np.random.Generator) -> None:
    families = [fit(Histogram.of(rng.exponential(0.1, 40))).family for _ in range(50)]
    assert families.count("general") <= 2
