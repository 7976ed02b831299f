"""Flow control: the paper's formula, and what it leaves open."""

import pytest
from hypothesis import given
from hypothesis import strategies as st

from rockdove.capacity.scaling.measured import Member
from rockdove.capacity.scaling.share import lowered, shares

MEMBERS = st.lists(
    st.builds(
        Member,
        number=st.just(0),
        load=st.floats(0, 1e6),
        consumed=st.floats(0, 1e6),
        is_up=st.booleans(),
    ),
    min_size=1,
    max_size=20,
).map(lambda members: [Member(at, each.load, 0, each.consumed, 0, each.is_up) for at, each in enumerate(members)])


def test_it_is_the_papers_formula() -> None:
    members = [Member(0, 30, consumed=60), Member(1, 10, consumed=40)]
    # (60 - 10) / 100 and (40 + 10) / 100.
    assert shares(members) == [0.5, 0.5]
    assert shares([Member(0, 0, consumed=60), Member(1, 0, consumed=40)]) == [0.6, 0.4]


def test_what_is_cut_off_is_shared_by_the_others() -> None:
    members = [Member(0, 300, consumed=10), Member(1, 0, consumed=10), Member(2, 0, consumed=10)]
    assert shares(members) == [0.0, 0.5, 0.5]


def test_if_nothing_was_consumed_those_with_less_get_more() -> None:
    assert shares([Member(0, 0), Member(1, 0)]) == [0.5, 0.5]
    first, second = shares([Member(0, 12), Member(1, 8)])
    assert first < second
    assert shares([Member(0, 100), Member(1, 0)])[0] < 0.02


def test_a_new_one_begins_with_what_others_hold_too_much_of() -> None:
    old, new = shares([Member(0, 200, consumed=500), Member(1, 0)])
    # Before both are divided by their sum: (500 - 100) / 500, and 100 / 500.
    assert (old, new) == pytest.approx((0.8, 0.2))


def test_who_is_not_up_gets_nothing() -> None:
    assert shares([Member(0, 0, consumed=5, is_up=False), Member(1, 0, consumed=5)]) == [0.0, 1.0]
    assert shares([Member(0, 0, is_up=False), Member(1, 0, is_up=False)]) == [0.5, 0.5]


@given(MEMBERS)
def test_parts_are_a_whole(members: list[Member]) -> None:
    parts = shares(members)
    assert sum(parts) == pytest.approx(1)
    assert all(part >= 0 for part in parts)
    if any(member.is_up for member in members):
        assert all(member.is_up or part == 0 for member, part in zip(members, parts, strict=True))


@given(MEMBERS, st.data(), st.floats(0, 1))
def test_what_one_loses_goes_to_the_others(members: list[Member], data: st.DataObject, most: float) -> None:
    parts = shares(members)
    at = data.draw(st.integers(0, len(parts) - 1))
    after = lowered(parts, at, most)
    assert sum(after) == pytest.approx(1)
    if len(parts) > 1:
        assert after[at] <= most + 1e-12
