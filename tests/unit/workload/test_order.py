"""Out of order and displacement, by the paper's two examples and by definition."""

from itertools import combinations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from rockdove.workload.journal import Got, Sent
from rockdove.workload.order import arrival, displacement, longest_increasing, out_of_order, ranks


@pytest.mark.parametrize(
    ("received", "moved", "mean"),
    [
        ((1, 2, 3, 4, 5), 0.0, 0.0),
        # The two worked examples of the BDQS paper.
        ((2, 1, 3, 4, 5), 0.2, 0.4),
        ((2, 3, 4, 5, 1), 0.2, 1.6),
        ((5, 4, 3, 2, 1), 0.8, 2.4),
    ],
)
def test_examples(received: tuple[int, ...], moved: float, mean: float) -> None:
    places = [number - 1 for number in received]
    assert out_of_order(places) / len(places) == moved
    assert displacement(places) / len(places) == mean


@given(st.permutations(range(7)))
def test_no_longer_subsequence_increases(order: list[int]) -> None:
    length = longest_increasing(order)
    increasing = [len(some) for size in range(8) for some in combinations(order, size) if list(some) == sorted(some)]
    assert length == max(increasing)


def got(sender: int, seq: int, *, at: int, sent_ms: int = 0, id: str = "") -> Got:
    return Got(0, sender, seq, id or f"{seq:04}", sent_ms, at, 10)


def sent(sender: int, seq: int, *, at: int) -> Sent:
    return Sent(0, sender, seq, at - 10, at, 10)


def test_a_message_counts_where_it_came_first() -> None:
    came = [got(0, 1, at=30), got(0, 0, at=10), got(0, 1, at=20), got(0, 0, at=40)]
    assert [one.seq for one in arrival(came)] == [0, 1]


def test_damaged_messages_have_no_place() -> None:
    assert arrival([got(-1, -1, at=10)]) == []


def test_the_time_of_the_service_tells_the_order() -> None:
    came = [
        got(0, 1, at=1, sent_ms=20, id="a"),
        got(1, 0, at=2, sent_ms=10, id="b"),
        got(0, 0, at=3, sent_ms=5, id="c"),
    ]
    assert ranks(came, []) == [2, 1, 0]


def test_within_a_millisecond_ids_tell_if_they_grow() -> None:
    came = [got(1, 0, at=1, id="0003"), got(0, 0, at=2, id="0001"), got(0, 1, at=3, id="0002")]
    answers = [sent(1, 0, at=5), sent(0, 0, at=6), sent(0, 1, at=7)]
    assert ranks(came, answers) == [2, 0, 1]


def test_within_a_millisecond_random_ids_do_not_tell() -> None:
    came = [got(1, 0, at=1, id="f00d"), got(0, 0, at=2, id="beef"), got(0, 1, at=3, id="0bad")]
    answers = [sent(1, 0, at=5), sent(0, 0, at=6), sent(0, 1, at=7)]
    assert ranks(came, answers) == [0, 1, 2]
