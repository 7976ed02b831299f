"""Means of runs and their intervals."""

import math

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
