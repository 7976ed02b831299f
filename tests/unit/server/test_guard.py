"""Turns of large requests: some are read, and served, at once; whoever waits has its turn in the order of asking."""

import asyncio
from collections.abc import Callable, Iterator
from functools import partial

import pytest

from rockdove.server import guard
from rockdove.server.guard import Guard
from rockdove.server.limit import Limits


class Turns:
    """A guard for a hundred bytes at once, and its event loop."""

    def __init__(self, loop: asyncio.AbstractEventLoop) -> None:
        self.guard = Guard(Limits())
        self._loop = loop
        self.begun: list[str] = []
        self.defects: list[object] = []
        loop.set_exception_handler(lambda loop, context: self.defects.append(context["exception"]))

    def rounds(self, number: int = 20) -> None:
        for _ in range(number):
            self._loop.run_until_complete(asyncio.sleep(0))

    def ask(self, number: int, name: str) -> None:
        if self.begin(number, lambda granted: self.begun.append(name)):
            self.begun.append(name)

    def begin(self, number: int, granted: Callable[[int], None]) -> bool:
        async def begin() -> bool:
            return self.guard.begin(number, granted)

        return self._loop.run_until_complete(begin())

    def end(self, number: int) -> None:
        async def end() -> None:
            self.guard.end(number)

        self._loop.run_until_complete(end())
        self.rounds()

    def read(self, number: int, name: str) -> None:
        async def read() -> None:
            if self.guard.may_read(number, partial(self.begun.append, name)):
                self.begun.append(name)

        self._loop.run_until_complete(read())


@pytest.fixture
def loop() -> Iterator[asyncio.AbstractEventLoop]:
    made = asyncio.new_event_loop()
    yield made
    made.close()


@pytest.fixture
def made(loop: asyncio.AbstractEventLoop, monkeypatch: pytest.MonkeyPatch) -> Turns:
    monkeypatch.setattr(guard, "SERVED_BYTES", 100)
    monkeypatch.setattr(guard, "READ_BYTES", 100)
    return Turns(loop)


def test_so_many_at_once(made: Turns) -> None:
    for name in "abcd":
        made.ask(40, name)
    assert made.begun == ["a", "b"]
    made.end(40)
    assert made.begun == ["a", "b", "c"]
    for _ in range(3):
        made.end(40)
    assert made.begun == ["a", "b", "c", "d"]
    made.ask(100, "e")
    assert made.begun[-1] == "e"


def test_in_one_round_of_the_event_loop_few_bytes_begin(
    loop: asyncio.AbstractEventLoop, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Also if each has its answer at once: to decode them costs time."""
    monkeypatch.setattr(guard, "BEGUN_BYTES", 100)
    watch = Guard(Limits())
    begun: list[int] = []

    def serve(number: int) -> None:
        begun.append(number)
        watch.end(number)

    async def flood() -> None:
        for _ in range(10):
            if watch.begin(60, serve):
                serve(60)
        assert begun == [60]
        while len(begun) < 10:
            before = len(begun)
            await asyncio.sleep(0)
            assert len(begun) <= before + 1

    loop.run_until_complete(flood())


def test_one_that_is_larger_than_all_room_begins_alone(made: Turns) -> None:
    made.ask(500, "large")
    made.ask(1, "small")
    assert made.begun == ["large"]
    made.end(500)
    assert made.begun == ["large", "small"]


def test_nobody_overtakes_one_that_waits(made: Turns) -> None:
    for name, number in (("a", 50), ("b", 50), ("large", 90), ("small", 10)):
        made.ask(number, name)
    made.end(50)
    made.ask(10, "late")
    assert made.begun == ["a", "b"]
    made.end(50)
    assert made.begun == ["a", "b", "large", "small"]
    made.end(90)
    assert made.begun[-1] == "late"


def test_each_is_asked_once_and_some_in_each_round(made: Turns) -> None:
    """Also if they have their answers at once, as those that are refused."""
    granted = 0

    def take(number: int) -> None:
        nonlocal granted
        granted += 1
        made.guard.end(number)

    assert made.begin(100, take)
    for _ in range(5_000):
        assert not made.begin(60, take)
    assert granted == 0
    made.end(100)
    assert 0 < granted < 1_000, "others have had turns, too"
    made.rounds(2_000)
    assert granted == 5_000
    assert made.begin(100, take)


def test_a_defect_of_one_does_not_end_the_turns(made: Turns) -> None:
    def fail(number: int) -> None:
        raise ValueError("a defect")

    made.begin(100, fail)
    made.begin(100, fail)
    made.ask(100, "next")
    made.end(100)
    assert [str(defect) for defect in made.defects] == ["a defect"]
    made.end(100)
    assert made.begun == ["next"]


def test_of_many_that_come_at_once_some_are_read_in_each_round(made: Turns) -> None:
    async def come() -> None:
        for name in "abcdef":
            if made.guard.may_read(60, partial(made.begun.append, name)):
                made.begun.append(name)

    made._loop.run_until_complete(come())
    assert made.begun[:2] == ["a", "b"]
    assert len(made.begun) < 6
    made.rounds()
    assert made.begun == [*"abcdef"]
    made.read(60, "later")
    assert made.begun[-1] == "later", "nobody waits any more"
