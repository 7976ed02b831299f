"""Counts by state against a plain list, as time passes."""

from hypothesis import given
from hypothesis import strategies as st

from rockdove.core.clock import SECOND_US
from rockdove.store.base import Counts
from rockdove.store.common.tally import Tally

START_US = 1_700_000_000 * SECOND_US
# In tenths of a second, so that many fall into one second.
TENTH_US = SECOND_US // 10

steps = st.lists(
    st.one_of(
        st.tuples(st.just("add"), st.integers(0, 80), st.booleans()),
        st.tuples(st.just("drop"), st.integers(0, 1000), st.booleans()),
        st.tuples(st.just("wait"), st.integers(0, 25), st.booleans()),
    ),
    max_size=60,
)


def plain_counts(held: list[tuple[int, bool]], now_us: int) -> Counts:
    in_flight = sum(t > now_us and received for t, received in held)
    delayed = sum(t > now_us and not received for t, received in held)
    return Counts(len(held) - in_flight - delayed, in_flight, delayed)


def passing(held: list[tuple[int, bool]], now_us: int) -> tuple[int, int]:
    """What the index tells of the second that is passing."""
    end_us = (now_us // SECOND_US + 1) * SECOND_US
    late = [received for t, received in held if now_us < t < end_us]
    return sum(late), len(late) - sum(late)


@given(steps)
def test_counts_are_exact_at_every_moment(steps: list[tuple[str, int, bool]]) -> None:
    now_us, tally, held = START_US, Tally(START_US), list[tuple[int, bool]]()
    for step, number, received in steps:
        if step == "wait":
            now_us += number * TENTH_US
        elif step == "add":
            held.append((now_us + number * TENTH_US, received))
            tally.add(*held[-1])
        elif held:
            tally.drop(*held.pop(number % len(held)))
        counts = tally.counts(now_us, passing(held, now_us))
        assert counts == plain_counts(held, now_us)
        assert tally.in_flight_at_most() >= counts.in_flight


def test_the_past_costs_no_memory() -> None:
    tally = Tally(START_US)
    for second in range(10_000):
        tally.add(START_US + second * SECOND_US, received=False)
        tally.counts(START_US + second * SECOND_US, (0, 0))
    assert tally.counts(START_US + 10_000 * SECOND_US, (0, 0)) == Counts(10_000, 0, 0)
    assert len(tally._delayed) <= 1
