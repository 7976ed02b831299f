"""The controller of front-ends over a fleet that is made up, and what it is made of."""

import asyncio
import functools
import os
import signal
import sys
from collections.abc import Awaitable, Callable, Sequence
from pathlib import Path
from typing import Any

import pytest

from rockdove.capacity.scaling.front_ends import Bounds
from rockdove.capacity.scaling.step import Act
from rockdove.elastic.front_end.base import FrontEndError
from rockdove.elastic.front_end.controller import END_S, FrontEnds
from rockdove.elastic.front_end.hold import command
from rockdove.elastic.front_end.local import LocalFleet
from rockdove.elastic.front_end.nginx import Nginx, configuration
from rockdove.elastic.front_end.page import Reading, parse
from rockdove.elastic.front_end.state import Round
from rockdove.elastic.provision.base import Seen
from rockdove.elastic.worker.report import read
from tests.support.patience import wait_until
from tests.support.process import Process

BOUNDS = Bounds(least=1, most=3, low_s=0.05, high_s=0.2, safety_s=10, patience_s=5)
PERIOD_S = 1.0


def in_loop(test: Callable[..., Awaitable[None]]) -> Callable[..., None]:
    @functools.wraps(test)
    def run(*words: Any, **names: Any) -> None:
        async def whole() -> None:
            await test(*words, **names)

        asyncio.run(whole())

    return run


class FakeFleet:
    """Front-ends that do what a test says. They listen as soon as they are started."""

    def __init__(self) -> None:
        self.pids: dict[int, int] = {}
        self.said: list[tuple[str, int]] = []
        # What those that are missing here say is that they are ready.
        self.ready: dict[int, bool | None] = {}
        self.requests, self.seconds = 0, 0.0
        self.listens = True
        self._next_pid = 100

    def add(self, number: int) -> None:
        self._next_pid += 1
        self.pids[number] = self._next_pid

    async def start(self, number: int) -> None:
        assert number not in self.pids
        self.said.append(("start", number))
        self.add(number)

    async def drain(self, number: int) -> None:
        self.said.append(("drain", number))

    async def stop(self, number: int) -> None:
        self.said.append(("stop", number))
        del self.pids[number]

    async def list(self) -> list[Seen]:
        return [Seen(number, "1", f"{pid} 0.5", False) for number, pid in sorted(self.pids.items())]

    def address(self, seen: Seen) -> str | None:
        return url(seen.number) if self.listens else None

    def last_words(self, number: int) -> str:
        return "no more of it"

    async def is_ready(self, url: str) -> bool | None:
        return self.ready.get(number_of(url), True)

    async def read(self, url: str) -> Reading | None:
        return Reading(self.requests, self.seconds, 1, 0)


class FakeDispatcher:
    """Each time it is told of others, all processes before are still at work until a test says that they are not."""

    def __init__(self) -> None:
        self.routes: list[list[int]] = []
        self.busy: set[int] = set()
        self.trouble: str | None = None
        self.has_stopped = False

    async def route(self, urls: Sequence[str]) -> frozenset[int]:
        if self.trouble is not None:
            raise FrontEndError(self.trouble)
        numbers = [number_of(url) for url in urls]
        if self.routes and self.routes[-1] == numbers:
            return frozenset()
        self.routes.append(numbers)
        self.busy.add(len(self.routes))
        return frozenset(range(1, len(self.routes)))

    def still(self, processes: frozenset[int]) -> bool:
        return bool(processes & self.busy)

    async def stop(self) -> None:
        self.has_stopped = True


def url(number: int) -> str:
    return f"http://127.0.0.1:{9_000 + number}"


def number_of(url: str) -> int:
    return int(url.rpartition(":")[2]) - 9_000


class Bench:
    """A controller, and time that passes when a test says so."""

    def __init__(self, bounds: Bounds = BOUNDS, check: Callable[[str], None] = lambda url: None) -> None:
        self.fleet, self.dispatcher = FakeFleet(), FakeDispatcher()
        self.told: list[Round] = []
        self.now_s = 1_000.0
        self.controller = FrontEnds(
            self.fleet, self.dispatcher, bounds, PERIOD_S, self.told.append, check, lambda: self.now_s
        )

    async def periods(self, number: int, mean_s: float = 0.1, requests: int = 1_000) -> None:
        for _ in range(number):
            self.now_s += PERIOD_S
            self.fleet.requests += requests
            self.fleet.seconds += requests * mean_s
            await self.controller.look()

    def states(self) -> dict[int, str]:
        return {each.number: each.state for each in self.told[-1].front_ends}

    def acts(self) -> list[Act]:
        return [each.act for each in self.told[-1].decisions]


async def grown(bench: Bench, number: int) -> None:
    """Until so many are up."""
    bench.controller._bounds = Bounds(least=number, most=3, safety_s=10, patience_s=5)
    await bench.periods(3)
    bench.controller._bounds = BOUNDS
    assert bench.dispatcher.routes[-1] == list(range(1, number + 1))


@in_loop
async def test_the_first_is_given_requests_once_it_is_ready() -> None:
    bench = Bench()
    bench.fleet.ready[1] = False
    await bench.periods(2)
    assert bench.fleet.said == [("start", 1)]
    assert bench.dispatcher.routes == []
    assert bench.states() == {1: "starting"}
    del bench.fleet.ready[1]
    await bench.periods(1)
    assert bench.dispatcher.routes == [[1]]
    assert bench.states() == {1: "up"}


@in_loop
async def test_one_that_goes_ends_after_all_that_was_under_way() -> None:
    bench = Bench()
    await grown(bench, 2)
    await bench.periods(15, requests=0)
    assert bench.dispatcher.routes[-1] == [1]
    assert bench.states() == {1: "up", 2: "draining"}
    assert ("drain", 2) not in bench.fleet.said
    # The dispatcher's processes that may have given it requests, not the ones after them.
    bench.dispatcher.busy = {len(bench.dispatcher.routes)}
    await bench.periods(1, requests=0)
    assert bench.fleet.said[-1] == ("drain", 2)
    assert bench.states() == {1: "up", 2: "draining"} or bench.states() == {1: "up", 2: "ending"}
    del bench.fleet.pids[2]
    await bench.periods(1, requests=0)
    assert bench.states() == {1: "up"}
    # It was to go: nothing is said of a death.
    assert Act.REMOVE not in bench.acts()


@in_loop
async def test_one_that_is_told_to_end_and_does_not_is_killed() -> None:
    bench = Bench()
    await grown(bench, 2)
    bench.dispatcher.busy = set()
    await bench.periods(15, requests=0)
    while ("drain", 2) not in bench.fleet.said:
        bench.dispatcher.busy = set()
        await bench.periods(1, requests=0)
    bench.now_s += END_S
    await bench.periods(1, requests=0)
    assert bench.fleet.said[-1] == ("stop", 2)


@in_loop
async def test_one_that_dies_is_forgotten_and_replaced_at_once() -> None:
    bench = Bench()
    await grown(bench, 2)
    del bench.fleet.pids[1]
    # Before the period is over.
    await bench.controller.look()
    assert bench.dispatcher.routes[-1] == [2]
    assert bench.fleet.said[-1] == ("start", 1)
    assert bench.told[-1].decisions[-2].reason == "front-end 1 has died, and said: no more of it"
    await bench.controller.look()
    assert sorted(bench.dispatcher.routes[-1]) == [1, 2]


@in_loop
async def test_another_process_of_the_same_number_is_another_front_end() -> None:
    bench = Bench()
    await grown(bench, 2)
    bench.fleet.add(1)
    bench.fleet.ready[1] = False
    await bench.controller.look()
    assert bench.dispatcher.routes[-1] == [2]


@in_loop
async def test_one_that_hangs_is_killed_and_replaced() -> None:
    bench = Bench()
    await grown(bench, 2)
    bench.fleet.ready[2] = None
    await bench.periods(3)
    assert bench.states()[2] == "silent"
    assert bench.dispatcher.routes[-1] == [1, 2]
    await bench.periods(5)
    assert ("stop", 2) in bench.fleet.said
    assert [1] in bench.dispatcher.routes
    assert any("has not answered for 6 s" in each.reason for each in bench.told[-1].decisions)


@in_loop
async def test_if_the_store_is_in_trouble_all_stay() -> None:
    bench = Bench()
    await grown(bench, 2)
    bench.fleet.ready = {1: False, 2: False}
    await bench.periods(8)
    assert bench.dispatcher.routes[-1] == [1, 2]
    assert bench.states() == {1: "up", 2: "up"}


@in_loop
async def test_one_more_when_answers_take_long() -> None:
    bench = Bench()
    await grown(bench, 1)
    await bench.periods(12, mean_s=0.19)
    assert bench.told[-1].wanted == 1
    await bench.periods(2, mean_s=0.9)
    assert Act.ADD in bench.acts()
    assert bench.told[-1].wanted == 2
    assert bench.dispatcher.routes[-1] == [1, 2]


@in_loop
async def test_the_dispatcher_is_never_left_without_any() -> None:
    bench = Bench()
    await grown(bench, 1)
    bench.fleet.pids.clear()
    bench.fleet.ready[1] = False
    await bench.controller.look()
    assert bench.dispatcher.routes == [[1]]


@in_loop
async def test_if_the_dispatcher_does_not_take_it_nobody_ends() -> None:
    bench = Bench()
    await grown(bench, 2)
    bench.dispatcher.trouble = "not now"
    bench.dispatcher.busy = set()
    await bench.periods(15, requests=0)
    assert ("drain", 2) not in bench.fleet.said
    bench.dispatcher.trouble = None
    await bench.periods(1, requests=0)
    bench.dispatcher.busy = set()
    await bench.periods(1, requests=0)
    assert ("drain", 2) in bench.fleet.said


@in_loop
async def test_a_start_that_fails_is_told_and_leaves_nothing() -> None:
    bench = Bench(Bounds(least=2))
    bench.fleet.listens = False
    await bench.periods(1)
    del bench.fleet.pids[1]
    with pytest.raises(FrontEndError, match="a front-end has ended before it was ready: no more of it"):
        await bench.periods(1)
    bench.controller._fleet = fleet = bench.fleet
    fleet.drain = fleet.stop  # type: ignore[method-assign]
    await bench.controller.close(drain=False)
    assert fleet.pids == {}
    assert not bench.dispatcher.has_stopped


@in_loop
async def test_the_next_controller_goes_on_with_those_that_there_are() -> None:
    bench = Bench()
    for number in (1, 2):
        bench.fleet.add(number)
    await bench.periods(5)
    assert bench.fleet.said == []
    assert bench.told[-1].wanted == 2
    assert bench.dispatcher.routes == [[1, 2]]
    await bench.controller.close(drain=False)
    assert sorted(bench.fleet.pids) == [1, 2]


@in_loop
async def test_nobody_is_let_in_before_the_door_was_checked() -> None:
    def check(url: str) -> None:
        raise FrontEndError(f"{url} lets anybody in")

    bench = Bench(check=check)
    with pytest.raises(FrontEndError, match="lets anybody in"):
        await bench.periods(2)
    assert bench.dispatcher.routes == []


# What it is made of.


def test_what_a_request_takes_is_read_from_the_metrics() -> None:
    text = """\
# HELP rockdove_request_seconds Time
rockdove_request_seconds_bucket{le="0.5",operation="SendMessage"} 3.0
rockdove_request_seconds_count{operation="SendMessage"} 3.0
rockdove_request_seconds_sum{operation="SendMessage"} 0.5
rockdove_request_seconds_count{operation="ReceiveMessage"} 4.0
rockdove_request_seconds_sum{operation="ReceiveMessage"} 80.0
rockdove_request_seconds_count{operation="DeleteMessage"} 1.0
rockdove_request_seconds_sum{operation="DeleteMessage"} 0.25
rockdove_connections 7.0
rockdove_long_polls 2.0
rockdove_store_bytes 1.5e+06
"""
    assert parse(text) == Reading(4, 0.75, 7, 2, 1.5e6)
    assert parse("") == Reading(0, 0.0, 0, 0, None)


def test_the_configuration_of_nginx() -> None:
    text = configuration(Path("/somewhere"), "127.0.0.1:9324", [url(1), url(2)], ["queues.lan"])
    assert "        server 127.0.0.1:9001 max_fails=0;\n        server 127.0.0.1:9002 max_fails=0;\n" in text
    assert "        listen 127.0.0.1:9324;\n" in text
    assert '        "queues.lan" 1;\n' in text
    assert "pid /somewhere/nginx.pid;" in text
    # What was sent may have been done: it goes to no other.
    assert "non_idempotent" not in text
    assert text.count("proxy_next_upstream") == 2
    assert "{{" not in text
    assert "}}" not in text


def test_a_folder_that_nginx_cannot_have_is_told(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    program = tmp_path / "nginx"
    program.touch(0o755)
    monkeypatch.setenv("PATH", str(tmp_path))
    with pytest.raises(FrontEndError, match="without blanks and quotes"):
        Nginx(tmp_path / "a b", "127.0.0.1", 9_999)


def test_a_program_holds_its_report_as_long_as_it_lives(tmp_path: Path) -> None:
    report = tmp_path / "1-7.json"
    (tmp_path / "1-7.out").write_text("of the one before")
    sleeper = [sys.executable, "-c", "import time; print('here', flush=True); time.sleep(600)"]
    with Process(command(report, 7, sleeper), tmp_path, "held") as process:
        wait_until(lambda: (tmp_path / "1-7.out").read_text() == "here\n", "output")
        told, lives = read(report)
        assert told is not None
        assert (told.pid, told.physical, lives) == (process.pid, 7, True)
        with Process(command(report, 7, sleeper), tmp_path, "second") as second:
            wait_until(lambda: second.exit_code is not None, "end of the second")
            assert "another worker has" in second.output()
        os.kill(process.pid, signal.SIGKILL)
        wait_until(lambda: not read(report)[1], "end of the lock")


@in_loop
async def test_a_front_end_says_where_it_listens(tmp_path: Path) -> None:
    fleet = LocalFleet(tmp_path)
    seen = Seen(3, "1", "1 0.5", False)
    assert fleet.address(seen) is None
    (tmp_path / "1-3.out").write_text("")
    assert fleet.address(seen) is None
    (tmp_path / "1-3.out").write_text('{"ready":"http://127.0.0.1:5","data":null,"store":"redis","workers":0}\n')
    assert fleet.address(seen) == "http://127.0.0.1:5"
    (tmp_path / "1-3.out").write_text('{"ready":"https://127.0.0.1:5"}\n')
    with pytest.raises(FrontEndError, match="plain HTTP"):
        fleet.address(seen)
    assert (tmp_path / "metrics.token").stat().st_mode & 0o777 == 0o600
