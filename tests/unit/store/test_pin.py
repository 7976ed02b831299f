"""How often something is under way with an entry."""

from rockdove.store.common.pin import Pins


def test_pinned_until_dropped_as_often_as_added() -> None:
    pins = Pins()
    pins.add([1, 2])
    pins.add([1])
    pins.drop([1, 2])
    assert list(pins) == [1]
    pins.drop([1])
    assert not pins


def test_twice_in_one_call_counts_twice() -> None:
    pins = Pins()
    pins.add([3, 3])
    pins.drop([3])
    assert 3 in pins


def test_what_is_not_pinned_can_be_dropped() -> None:
    pins = Pins()
    pins.drop([4])
    assert not pins
