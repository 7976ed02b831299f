"""Means, quantiles and intervals, against values worked out by hand."""

import math
from random import Random

import pytest

from rockdove.capacity.petri import Sample, batch_means, interval
from rockdove.capacity.petri.statistic import Level


def test_sample() -> None:
    sample = Sample([2, 4, 4, 4, 5, 5, 7, 9])
    assert (sample.count, sample.mean) == (8, 5)
    assert sample.deviation == pytest.approx(math.sqrt(32 / 7))
    assert [sample.quantile(share) for share in (0, 0.125, 0.5, 0.9, 1)] == [2, 2, 4, 9, 9]
    assert math.isnan(Sample().mean)
    assert math.isnan(Sample([1]).deviation)
    assert math.isnan(Sample().quantile(0.5))


def test_level() -> None:
    level = Level()
    level.note(0, 2)
    level.note(3, 5)
    assert level.mean(4) == pytest.approx((2 * 3 + 5) / 4)
    level.restart(4)
    assert math.isnan(level.mean(4))
    assert level.mean(6) == 5


def test_interval() -> None:
    # Student's t for 4 degrees of freedom and 95 % is 2.776.
    found = interval([1, 2, 3, 4, 5])
    assert found.mean == 3
    assert found.half_width == pytest.approx(2.7764 * math.sqrt(2.5 / 5), rel=1e-4)
    assert 2 in found
    assert 6 not in found
    assert str(found) == "3 ± 2"
    assert interval([1]).half_width == math.inf


def test_an_interval_covers_the_mean_as_often_as_it_says() -> None:
    random = Random(1)
    covered = sum(0 in interval([random.gauss(0, 1) for _ in range(5)], 0.9) for _ in range(1000))
    # Binomial, mean 900, deviation 9.5.
    assert 860 < covered < 940


def test_batch_means() -> None:
    assert batch_means([1, 2, 3, 4, 5, 6], 3) == [1.5, 3.5, 5.5]
    assert batch_means([1, 2], 5) == [1, 2]
