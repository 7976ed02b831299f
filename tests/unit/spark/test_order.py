"""Order: the longest increasing subsequence and displacement, as the papers count them."""

import itertools
from bisect import bisect_left

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from rockdove.spark.order import displaced, extend, longest, longest_of_blocks, ranks_as_received, ranks_by_sender


@pytest.mark.parametrize(
    ("received", "rate", "displacement"), [((2, 1, 3, 4, 5), 0.2, 0.4), ((2, 3, 4, 5, 1), 0.2, 1.6)]
)
def test_the_worked_examples_of_the_paper(received: tuple[int, ...], rate: float, displacement: float) -> None:
    places = np.array(received) - 1
    assert (5 - longest(places)) / 5 == pytest.approx(rate)
    assert displaced(places, 0) / 5 == pytest.approx(displacement)


@pytest.mark.parametrize("order", list(itertools.permutations(range(5))))
def test_all_orders_of_five(order: tuple[int, ...]) -> None:
    best = max(
        size
        for size in range(6)
        for chosen in itertools.combinations(order, size)
        if all(a < b for a, b in itertools.pairwise(chosen))
    )
    assert longest(np.array(order)) == best


@given(st.lists(st.integers(-(2**62), 2**62)), st.integers(1, 7))
def test_piece_by_piece_is_the_same_as_at_once(values: list[int], size: int) -> None:
    tails: list[int] = []
    for value in values:
        place = bisect_left(tails, value)
        tails[place : place + 1] = [value]
    kept, length = np.empty(len(values), np.int64), 0
    for begin in range(0, len(values), size):
        length = extend(kept, length, np.array(values[begin : begin + size], np.int64))
    assert length == len(tails)
    assert kept[:length].tolist() == tails


def test_blocks_are_measured_apart() -> None:
    values = np.array([3, 2, 1, 1, 2, 3, 9])
    assert longest_of_blocks(values, np.array([0, 3, 6])).tolist() == [1, 3, 1]


def test_messages_sent_at_the_same_time_are_in_the_order_of_their_ids() -> None:
    sent, high = np.array([7, 7, 7]), np.array([5, -1, 5])
    low, received = np.array([9, 0, 3]), np.array([1, 2, 3])
    # Ids are compared without a sign: -1 is the largest.
    assert ranks_as_received(sent, high, low, received)[0].tolist() == [1, 2, 0]


def test_messages_received_at_the_same_time_are_in_order() -> None:
    zeros = np.zeros(3, np.int64)
    assert ranks_as_received(np.array([3, 1, 2]), zeros, zeros, zeros)[0].tolist() == [0, 1, 2]


def test_each_sender_has_an_order_of_its_own() -> None:
    sender, seq = np.array([8, 4, 8, 4]), np.array([1, 0, 0, 1])
    ranks, begins, ones = ranks_by_sender(sender, seq, np.array([1, 2, 3, 4]))
    assert (ranks.tolist(), begins.tolist()) == ([0, 1, 3, 2], [0, 2])
    assert sender[ones].tolist() == [4, 8]
    assert longest_of_blocks(ranks, begins).tolist() == [2, 1]
    assert displaced(ranks, 0) == 2
