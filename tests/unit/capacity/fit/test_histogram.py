"""Figures from buckets are those of the times themselves."""

import numpy as np
import pytest

from rockdove.capacity.fit.histogram import Histogram

TIMES = np.random.default_rng(1).gamma(2.0, 0.05, 20_000)


def test_mean_and_variability_are_exact() -> None:
    found = Histogram.of(TIMES)
    assert found.number == len(TIMES)
    assert found.mean == pytest.approx(TIMES.mean(), rel=1e-9)
    assert found.scv == pytest.approx(TIMES.var() / TIMES.mean() ** 2, rel=1e-9)


def test_percentiles_are_as_exact_as_a_bucket() -> None:
    found = Histogram.of(TIMES)
    for share in (0.01, 0.5, 0.95, 0.99, 1.0):
        assert found.quantile(share) == pytest.approx(np.quantile(TIMES, share), rel=0.012)


def test_intervals_have_the_truth_in_95_of_100() -> None:
    rng = np.random.default_rng(2)
    runs = [Histogram.of(rng.exponential(0.1, 400)) for _ in range(300)]
    means = sum(0.1 in run.mean_estimate for run in runs)
    rates = sum(10 in run.mean_estimate.inverse() for run in runs)
    variabilities = sum(1.0 in run.scv_estimate for run in runs)
    assert means == rates
    assert 0.92 <= means / 300 <= 0.98
    assert 0.92 <= variabilities / 300 <= 0.99


@pytest.mark.parametrize("number", [30, 60, 200])
@pytest.mark.parametrize("phases", [0.5, 1, 4])
def test_the_variability_of_few_times_is_within_its_interval(number: int, phases: float) -> None:
    rng = np.random.default_rng(4)
    runs = [Histogram.of(rng.gamma(phases, 0.1 / phases, number)) for _ in range(300)]
    assert sum(1 / phases in run.scv_estimate for run in runs) / 300 >= 0.92


def test_constant_times_have_no_variability() -> None:
    found = Histogram.of([0.25] * 100)
    assert found.scv == pytest.approx(0, abs=1e-12)
    assert found.mean_estimate.low == pytest.approx(0.25)


def test_a_part_taken_off_leaves_the_variance() -> None:
    found = Histogram.of(0.01 + TIMES).less(0.01)
    whole = Histogram.of(TIMES)
    assert found.mean == pytest.approx(whole.mean)
    assert found.variance == pytest.approx(whole.variance)
    assert found.quantile(0.5) == pytest.approx(whole.quantile(0.5), rel=0.02)
    assert Histogram.of([0.01] * 5).less(0.02).mean == 0


def test_less_than_a_microsecond() -> None:
    assert Histogram.of([0.0, 0.0, 0.002]).mean == pytest.approx(0.002 / 3)
