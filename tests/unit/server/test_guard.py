"""Turns of large requests: so many bytes are served at once, and whoever waits is served in the end."""

from collections.abc import Callable

import pytest

from rockdove.server import guard
from rockdove.server.guard import Guard
from rockdove.server.limit import Limits


@pytest.fixture
def made(monkeypatch: pytest.MonkeyPatch) -> Guard:
    """For a hundred bytes at once."""
    monkeypatch.setattr(guard, "SERVED_BYTES", 100)
    return Guard(Limits())


def asker(made: Guard, number: int, begun: list[str], name: str) -> Callable[[], None]:
    def ask() -> None:
        if made.begin(number, ask):
            begun.append(name)

    return ask


def test_so_many_at_once(made: Guard) -> None:
    begun: list[str] = []
    for name in "abcd":
        asker(made, 40, begun, name)()
    assert begun == ["a", "b"]
    made.end(40)
    assert begun == ["a", "b", "c"]
    made.end(40)
    made.end(40)
    made.end(40)
    assert begun == ["a", "b", "c", "d"]
    assert made.begin(100, begun.clear)


def test_one_that_is_larger_than_all_room_begins_alone(made: Guard) -> None:
    begun: list[str] = []
    asker(made, 500, begun, "large")()
    asker(made, 1, begun, "small")()
    assert begun == ["large"]
    made.end(500)
    assert begun == ["large", "small"]


def test_one_that_does_not_fit_does_not_end_the_line(made: Guard) -> None:
    begun: list[str] = []
    for name, number in (("a", 50), ("b", 50), ("large", 90), ("c", 20)):
        asker(made, number, begun, name)()
    assert begun == ["a", "b"]
    made.end(50)
    assert begun == ["a", "b", "c"]
    made.end(50)
    made.end(20)
    assert begun == ["a", "b", "c", "large"]


def test_answers_at_once_do_not_pile_up(made: Guard) -> None:
    """As for thousands of requests that are refused."""
    answered = 0

    def ask() -> None:
        nonlocal answered
        if made.begin(100, ask):
            answered += 1
            made.end(100)

    made.begin(100, ask)
    for _ in range(5_000):
        ask()
    assert answered == 0
    made.end(100)
    assert answered == 5_000


def test_who_has_gone_takes_no_turn(made: Guard) -> None:
    begun: list[str] = []
    made.begin(100, lambda: None)
    made.begin(100, lambda: None)
    asker(made, 100, begun, "next")()
    made.end(100)
    assert begun == ["next"]
