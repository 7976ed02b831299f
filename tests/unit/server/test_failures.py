"""Bad signatures by address: twenty a minute, in a sliding window, for a bounded number of addresses."""

import pytest

from rockdove.server import failures
from rockdove.server.failures import MOST_FAILURES, WINDOW_S, Failures


class Ticker:
    """A clock that never goes back, moved by hand."""

    def __init__(self) -> None:
        self.now = 1_000.0

    def __call__(self) -> float:
        return self.now


def test_twenty_in_a_minute_and_then_no_more() -> None:
    clock = Ticker()
    counted = Failures(clock)
    for second in range(20):
        clock.now = 1_000 + second
        assert counted.add("10.0.0.1")
    assert not counted.add("10.0.0.1")
    assert counted.add("10.0.0.2")
    # The first of them is a minute old: there is room for one, not for two.
    clock.now = 1_060
    assert counted.add("10.0.0.1")
    assert not counted.add("10.0.0.1")
    # What was refused was not counted: nobody is kept out for ever.
    clock.now = 1_079
    assert [counted.add("10.0.0.1") for _ in range(20)] == [True] * 19 + [False]


def test_an_ipv6_subscriber_is_one_address() -> None:
    counted = Failures(Ticker())
    assert all(counted.add(f"2001:db8:0:1::{number:x}") for number in range(20))
    assert not counted.add("2001:db8:0:1:ffff::1")
    assert counted.add("2001:db8:0:2::1")


def test_what_is_no_address_is_taken_as_it_is() -> None:
    counted = Failures(Ticker())
    assert all(counted.add("") for _ in range(20))
    assert not counted.add("")


def test_the_number_of_addresses_is_bounded(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(failures, "MOST_ADDRESSES", 10)
    counted = Failures(Ticker())
    for _ in range(21):
        counted.add("10.0.0.1")
    for number in range(100):
        counted.add(f"10.1.0.{number}")
        # One who goes on is not forgotten.
        assert not counted.add("10.0.0.1")
    assert len(counted) == 10


def test_who_begins_later_is_told_what_others_have_seen() -> None:
    now = 100.0
    first, second = Failures(lambda: now), Failures(lambda: now)
    for _ in range(MOST_FAILURES):
        now += 0.1
        first.add("192.0.2.1")
    second.add("192.0.2.1")
    second.take(first.recent())
    assert not second.add("192.0.2.1")
    now += WINDOW_S
    assert second.add("192.0.2.1")


def test_others_have_numbers_of_their_own_and_are_told_how_long_to_wait() -> None:
    clock = Ticker()
    counted = Failures(clock, most=2, window_s=300)
    assert (counted.room("ann"), counted.wait_s("ann")) == (2, 0)
    counted.add("ann")
    clock.now += 100
    counted.add("ann")
    assert (counted.room("ann"), counted.wait_s("ann")) == (0, 200)
    assert counted.room("bob") == 2
    clock.now += 200
    assert (counted.room("ann"), counted.wait_s("ann")) == (1, 0)
