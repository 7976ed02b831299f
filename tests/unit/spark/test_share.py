"""Percentiles and buckets."""

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from rockdove.spark import share


@pytest.mark.parametrize(
    ("number", "at", "rank"), [(1, 0.5, 0), (2, 0.5, 0), (3, 0.5, 1), (20, 0.95, 18), (21, 0.95, 19), (100, 0.99, 98)]
)
def test_nearest_rank(number: int, at: float, rank: int) -> None:
    assert share.rank(np.array([number]), at).tolist() == [rank]


@given(st.lists(st.integers(0, 2**43 - 1), min_size=1), st.sampled_from([share.FINE, share.COARSE]))
def test_a_bucket_begins_at_most_its_width_below_its_values(values: list[int], bits: int) -> None:
    lower = share.bucket(np.array(values), bits).tolist()
    for value, low in zip(values, lower, strict=True):
        assert low <= value
        assert value - low <= value * 2.0 ** (1 - bits)
        assert value >= 2**bits or low == value


def test_a_percentile_of_counted_values() -> None:
    values, times = np.array([30, 10, 20]), np.array([1, 2, 1])
    assert [share.percentile(values, times, at) for at in (0.5, 0.75, 0.99)] == [10, 20, 30]
    assert share.percentile(np.zeros(0, np.int64), np.zeros(0, np.int64), 0.5) is None
