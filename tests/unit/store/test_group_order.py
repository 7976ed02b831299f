"""Whose turn it is among the groups of a fair queue."""

import pytest

from rockdove.store.sqlite import group_order
from rockdove.store.sqlite.group_order import GroupOrder


@pytest.fixture
def turns(monkeypatch: pytest.MonkeyPatch) -> GroupOrder:
    """With room for ten groups."""
    monkeypatch.setattr(group_order, "MOST_GROUPS", 10)
    return GroupOrder()


def drain(turns: GroupOrder) -> list[tuple[int, str]]:
    found = []
    while (first := turns.first()) is not None:
        found.append((first[0][0], first[1]))
        turns.drop(first[1])
    return found


def test_the_earliest_first(turns: GroupOrder) -> None:
    for t, group in ((3, "a"), (1, "b"), (2, "c")):
        turns.tell((t, 1), group)
    turns.take_news()
    assert drain(turns) == [(1, "b"), (2, "c"), (3, "a")]


def test_of_one_time_the_first_id_first(turns: GroupOrder) -> None:
    for id, group in ((3, "a"), (1, "b"), (2, "c")):
        turns.put((5, id), group)
    assert drain(turns) == [(5, "b"), (5, "c"), (5, "a")]


def test_news_never_make_a_group_later(turns: GroupOrder) -> None:
    turns.put((2, 1), "a")
    turns.lower((5, 1), "a")
    assert turns.first() == ((2, 1), "a")
    turns.lower((1, 1), "a")
    assert turns.first() == ((1, 1), "a")
    turns.put((7, 1), "a")
    assert drain(turns) == [(7, "a")]


def test_all_before_the_horizon_are_remembered_and_none_after_it(turns: GroupOrder) -> None:
    for t in range(11, 0, -1):
        turns.put((t, 1), f"group {t}")
    assert turns.horizon == (6, 1)
    turns.put((6, 1), "at the horizon")
    turns.put((0, 1), "before it")
    turns.put((9, 1), "group 1")
    assert drain(turns) == [(0, "before it"), *((t, f"group {t}") for t in range(2, 6))]


def test_few_left_before_the_horizon(turns: GroupOrder) -> None:
    for t in range(1, 12):
        turns.put((t, 1), f"group {t}")
    turns.look_further(100)
    assert not turns.lost
    for t in range(1, 5):
        turns.drop(f"group {t}")
    turns.look_further(5)
    assert not turns.lost, "nothing is visible at the horizon yet"
    turns.look_further(6)
    assert turns.lost
    turns.begin()
    turns.lower((7, 1), "group 7")
    assert drain(turns) == [(5, "group 5"), (7, "group 7")]


def test_news_that_nobody_takes_are_looked_for_later(turns: GroupOrder) -> None:
    for t in range(10):
        turns.tell((t, 1), "a")
    assert not turns.lost
    turns.tell((10, 1), "b")
    assert turns.lost
    turns.take_news()
    assert len(turns) == 1
