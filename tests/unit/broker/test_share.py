"""Shares of new messages, by weights and states."""

from collections import Counter

import pytest
from hypothesis import given
from hypothesis import strategies as st

from rockdove.broker.share import Rotation
from rockdove.core.queue import PhysicalRecord, PhysicalState

UP, DOWN, DRAINING, LEAVING = PhysicalState


def parts(*given: float | tuple[float, PhysicalState]) -> list[PhysicalRecord]:
    pairs = [each if isinstance(each, tuple) else (each, UP) for each in given]
    return [PhysicalRecord(number, "p", weight, state) for number, (weight, state) in enumerate(pairs)]


def turns(number: int, *given: float | tuple[float, PhysicalState]) -> list[int]:
    rotation = Rotation(parts(*given))
    return [rotation.next() for _ in range(number)]


def test_equal_weights_are_round_robin() -> None:
    assert turns(7, 1, 1, 1) == [0, 1, 2, 0, 1, 2, 0]


def test_each_has_its_share_and_none_has_its_turns_in_a_row() -> None:
    assert turns(7, 5, 1, 1) == [0, 0, 1, 0, 2, 0, 0]


def test_without_a_weight_nothing_comes() -> None:
    assert set(turns(10, 1, 0, 2)) == {0, 2}


def test_what_is_down_draining_or_leaving_gets_nothing() -> None:
    assert set(turns(10, 1, (9, DOWN), (9, DRAINING), 3, (9, LEAVING))) == {0, 3}
    assert Rotation(parts((1, DOWN), (1, LEAVING))).is_empty


def test_rather_somewhere_than_nowhere() -> None:
    assert set(turns(10, 0, 0, (1, DOWN))) == {0, 1}
    assert set(turns(10, (0, DRAINING), (1, DOWN))) == {0}
    assert Rotation(parts((1, DOWN), (1, DOWN))).is_empty


@given(st.lists(st.floats(0.01, 100), min_size=1, max_size=8), st.integers(1, 300))
def test_no_stretch_of_turns_is_far_off(weights: list[float], number: int) -> None:
    got, total = Counter(turns(number, *weights)), sum(weights)
    for at, weight in enumerate(weights):
        assert got[at] == pytest.approx(number * weight / total, abs=len(weights))


@pytest.mark.parametrize("weights", [(1_000_000, 1, 1), (1, 1, 1)])
def test_one_that_cannot_be_reached_has_no_turn(weights: tuple[float, ...]) -> None:
    rotation = Rotation(parts(*((weight, UP) for weight in weights)))
    turns = [rotation.next_of(lambda at: at > 0) for _ in range(10)]
    assert turns.count(1) == turns.count(2) == 5


def test_shares_are_as_before_when_it_can_be_reached_again() -> None:
    rotation = Rotation(parts((6, UP), (1, UP), (3, UP)))
    for _ in range(25):
        rotation.next_of(lambda at: at > 0)
    turns = [rotation.next() for _ in range(100)]
    assert [turns.count(at) for at in range(3)] == pytest.approx([60, 10, 30], abs=1)


def test_those_without_a_weight_take_over_when_no_other_can_be_reached() -> None:
    rotation = Rotation(parts((1, UP), (1, UP), (0, UP)))
    assert rotation.next_of(lambda at: at == 2) == 2
    assert rotation.next_of(lambda at: False) is None
