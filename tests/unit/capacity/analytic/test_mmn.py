"""M/M/n beside closed forms, at its edges and beside a simulation of Ciw's."""

import math

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from rockdove.capacity.analytic.mmn import MMn
from rockdove.capacity.error import InvalidScenario, Unstable, smallest_stable


def test_one_thread_is_the_textbook() -> None:
    queue = MMn(8, 10, 1)
    assert queue.delay_probability == pytest.approx(0.8)
    assert queue.mean_number == pytest.approx(4)
    assert queue.mean_waiting == pytest.approx(3.2)
    assert queue.mean_sojourn_s == pytest.approx(0.5)
    assert queue.mean_wait_s == pytest.approx(0.4)
    assert queue.sojourn_percentile_s(0.99) == pytest.approx(math.log(100) / 2)
    assert queue.wait_percentile_s(0.99) == pytest.approx(math.log(80) / 2)
    assert queue.length_probabilities(3) == pytest.approx([0.2, 0.16, 0.128, 0.1024])


def test_two_threads_by_hand() -> None:
    # rho = 1/2: p0 = 1/3, C = 1/3, Lq = 1/3.
    queue = MMn(10, 10, 2)
    assert queue.length_probabilities(2) == pytest.approx([1 / 3, 1 / 3, 1 / 6])
    assert queue.delay_probability == pytest.approx(1 / 3)
    assert queue.mean_waiting == pytest.approx(1 / 3)
    # The rate at which a queue drains is that of a service: 10. The stay is then a mixture with an Erlang time.
    assert queue.sojourn_tail(0.1) == pytest.approx(math.exp(-1) * (1 + 1 / 3))


@given(arrival=st.floats(0.01, 300), rate=st.floats(0.1, 50), more=st.integers(0, 5), share=st.floats(0.01, 0.999))
def test_the_parts_fit_each_other(arrival: float, rate: float, more: int, share: float) -> None:
    queue = MMn(arrival, rate, smallest_stable(arrival, rate) + more)
    assert 0 <= queue.delay_probability < 1
    assert 0 < queue.utilisation < 1
    assert queue.mean_number == pytest.approx(arrival * queue.mean_sojourn_s)
    assert queue.wait_percentile_s(share) <= queue.sojourn_percentile_s(share)
    assert queue.sojourn_tail(queue.sojourn_percentile_s(share)) == pytest.approx(1 - share, rel=1e-6)


@pytest.mark.parametrize(("arrival", "threads"), [(5, 1), (30.3, 4), (1990, 200)])
def test_means_are_those_of_the_length_distribution(arrival: float, threads: int) -> None:
    queue = MMn(arrival, 10, threads)
    shares = queue.length_probabilities(threads + 8000)
    lengths = np.arange(len(shares))
    assert shares.sum() == pytest.approx(1)
    assert shares @ lengths == pytest.approx(queue.mean_number, rel=1e-6)
    assert shares @ np.maximum(lengths - threads, 0) == pytest.approx(queue.mean_waiting, rel=1e-6)
    assert shares[threads:].sum() == pytest.approx(queue.delay_probability)


def test_nearly_full_it_waits_as_long_as_one_fast_thread() -> None:
    queue = MMn(49.9999, 10, 5)
    assert queue.mean_wait_s == pytest.approx(1 / (50 - 49.9999), rel=1e-3)
    assert queue.delay_probability == pytest.approx(1, abs=1e-4)


def test_hardly_used_it_does_not_wait() -> None:
    queue = MMn(1e-9, 10, 200)
    assert queue.delay_probability == 0
    assert queue.wait_percentile_s(0.999) == 0
    assert queue.sojourn_percentile_s(0.5) == pytest.approx(math.log(2) / 10)


@pytest.mark.parametrize(
    ("arrival", "rate", "threads", "smallest"), [(30, 10, 3, 4), (30.3, 10, 1, 4), (0.5, 0.1, 5, 6)]
)
def test_too_much_is_an_error_that_names_the_smallest_stable_number(
    arrival: float, rate: float, threads: int, smallest: int
) -> None:
    with pytest.raises(Unstable, match=f"smallest stable number of threads is {smallest}$") as raised:
        MMn(arrival, rate, threads)
    assert raised.value.smallest == smallest
    MMn(arrival, rate, smallest)


@pytest.mark.parametrize(
    ("arrival", "rate", "threads"), [(0, 1, 1), (1, 0, 1), (1, 2, 0), (math.nan, 1, 1), (1, 1, math.nan), (1, 1, 2.5)]
)
def test_nonsense_is_refused(arrival: float, rate: float, threads: float) -> None:
    with pytest.raises(InvalidScenario):
        MMn(arrival, rate, threads)  # type: ignore[arg-type]


@pytest.mark.parametrize("share", [0, 1, -1, math.nan])
def test_a_percentile_is_between_0_and_1(share: float) -> None:
    with pytest.raises(InvalidScenario, match="percentile"):
        MMn(1, 2, 1).wait_percentile_s(share)
