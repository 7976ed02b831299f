"""Means and quantiles, against values worked out by hand."""

import math

import pytest

from rockdove.capacity.petri import Sample, batch_means
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


def test_batch_means() -> None:
    assert batch_means([1, 2, 3, 4, 5, 6], 3) == [1.5, 3.5, 5.5]
    assert batch_means([1, 2], 5) == [1, 2]
