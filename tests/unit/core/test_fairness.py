"""Noisy groups: at least thirty in flight, and more than a tenth of all."""

from hypothesis import given
from hypothesis import strategies as st

from rockdove.core.fairness import Shares


def test_thirty_in_flight_of_few_is_noisy_and_twenty_nine_is_not() -> None:
    shares = Shares()
    for id in range(29):
        shares.hold(id, "noisy", 100)
    assert shares.noisy(0) == set()
    shares.hold(29, "noisy", 100)
    assert shares.noisy(0) == {"noisy"}
    shares.drop(0)
    assert shares.noisy(0) == set()


def test_a_tenth_of_all_is_not_more_than_a_tenth() -> None:
    shares = Shares()
    for id in range(300):
        shares.hold(id, f"group-{id % 10}", 100)
    assert shares.noisy(0) == set()
    shares.hold(300, "group-3", 100)
    assert shares.noisy(0) == {"group-3"}


def test_visibility_timeouts_end_it() -> None:
    shares = Shares()
    for id in range(40):
        shares.hold(id, "noisy", 100 + id)
    assert shares.noisy(100 + 9) == {"noisy"}
    assert shares.noisy(100 + 10) == set()


@given(st.lists(st.tuples(st.integers(0, 60), st.sampled_from("ab"), st.integers(0, 20), st.booleans()), max_size=200))
def test_as_a_plain_count_has_it(steps: list[tuple[int, str, int, bool]]) -> None:
    shares, held = Shares(), dict[int, tuple[str, int]]()
    for now_us, (id, group, until, keep) in enumerate(steps):
        if keep:
            shares.hold(id, group, now_us + until)
            held[id] = (group, now_us + until)
        else:
            shares.drop(id)
            held.pop(id, None)
        held = {id: hold for id, hold in held.items() if hold[1] > now_us}
        counts = {name: sum(group == name for group, _ in held.values()) for name in "ab"}
        expected = {name for name, count in counts.items() if count >= 30 and count > len(held) / 10}
        assert shares.noisy(now_us) == expected
