"""Means of runs and their intervals."""

import math
from random import Random

import pytest

from rockdove.capacity.interval import interval


def test_by_hand() -> None:
    found = interval([1, 2, 3, 4])
    assert found.mean == 2.5
    assert found.ci95 == pytest.approx(3.182446 * math.sqrt(5 / 3) / 2)


def test_a_run_without_a_value_is_left_out() -> None:
    assert interval([1, math.nan, 2, 3, 4]) == interval([1, 2, 3, 4])


def test_one_run_says_nothing_about_the_next() -> None:
    assert interval([5]).ci95 == math.inf
    assert math.isnan(interval([]).mean)


def test_what_is_inside() -> None:
    found = interval([1, 2, 3, 4, 5])
    assert (found.low + found.high) / 2 == found.mean == 3
    assert 2 in found
    assert 6 not in found
    assert str(found) == "3 ± 2"


def test_it_covers_the_mean_as_often_as_it_says() -> None:
    random = Random(1)
    covered = sum(0 in interval([random.gauss(0, 1) for _ in range(5)]) for _ in range(1000))
    # Binomial, mean 950, deviation 6.9.
    assert 920 < covered < 980
