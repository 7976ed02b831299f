"""Turns of large requests: so many bytes are served at once, and whoever waits is served in the order of asking."""

import pytest

from rockdove.server import guard
from rockdove.server.guard import Guard
from rockdove.server.limit import Limits


@pytest.fixture
def made(monkeypatch: pytest.MonkeyPatch) -> Guard:
    """For a hundred bytes at once."""
    monkeypatch.setattr(guard, "SERVED_BYTES", 100)
    return Guard(Limits())


def ask(made: Guard, number: int, begun: list[str], name: str) -> None:
    if made.begin(number, lambda granted: begun.append(name)):
        begun.append(name)


def test_so_many_at_once(made: Guard) -> None:
    begun: list[str] = []
    for name in "abcd":
        ask(made, 40, begun, name)
    assert begun == ["a", "b"]
    made.end(40)
    assert begun == ["a", "b", "c"]
    for _ in range(3):
        made.end(40)
    assert begun == ["a", "b", "c", "d"]
    ask(made, 100, begun, "e")
    assert begun[-1] == "e"


def test_one_that_is_larger_than_all_room_begins_alone(made: Guard) -> None:
    begun: list[str] = []
    ask(made, 500, begun, "large")
    ask(made, 1, begun, "small")
    assert begun == ["large"]
    made.end(500)
    assert begun == ["large", "small"]


def test_nobody_overtakes_one_that_waits(made: Guard) -> None:
    begun: list[str] = []
    for name, number in (("a", 50), ("b", 50), ("large", 90), ("small", 10)):
        ask(made, number, begun, name)
    made.end(50)
    ask(made, 10, begun, "late")
    assert begun == ["a", "b"]
    made.end(50)
    assert begun == ["a", "b", "large", "small"]
    made.end(90)
    assert begun[-1] == "late"


def test_each_is_asked_once_however_many_wait(made: Guard) -> None:
    """Also if they have their answers at once, as those that are refused."""
    granted = 0

    def take(number: int) -> None:
        nonlocal granted
        granted += 1
        made.end(number)

    assert made.begin(100, take)
    for _ in range(5_000):
        assert not made.begin(60, take)
    assert granted == 0
    made.end(100)
    assert granted == 5_000
    assert made.begin(100, take)


def test_a_defect_of_one_does_not_end_the_turns(made: Guard) -> None:
    def fail(number: int) -> None:
        raise ValueError("a defect")

    begun: list[str] = []
    made.begin(100, fail)
    made.begin(100, fail)
    ask(made, 100, begun, "next")
    with pytest.raises(ValueError, match="a defect"):
        made.end(100)
    made.end(100)
    assert begun == ["next"]
