"""Front-ends that come, go and die behind a real nginx, on a real Redis server, with clients at work."""

import json
import os
import signal
import threading
import time
from collections.abc import Callable, Iterator
from http.client import HTTPException
from pathlib import Path
from typing import Any

import pytest

from rockdove.elastic.worker.report import read
from tests.support.patience import wait_until
from tests.support.port import free_port
from tests.support.process import Process
from tests.support.raw import Web
from tests.support.redis import RedisServers
from tests.support.server import COMMAND

# So many requests at most, whatever comes.
MOST = 20_000
HELD_S = 20
FLAGS = ["--max", "3", "--high-ms", "0.1", "--low-ms", "0.05", "--period", "0.5", "--safety", "0.5", "--json"]


class Clients:
    """Threads that send and receive, and say what went wrong. Each request is one connection to nginx."""

    def __init__(self, port: int) -> None:
        self._port = port
        self._threads: list[threading.Thread] = []
        self._stopped = threading.Event()
        self._lock = threading.Lock()
        self.failed: list[str] = []
        self.sent: set[str] = set()
        self.got: set[str] = set()
        self.asked = 0
        self.url = ""

    def create(self) -> None:
        web = Web(self._port)
        self.url = web.create("jobs", RockdovePhysicalQueues="3")
        web.close()

    def begin(self, work: Callable[["Clients", Web], None], number: int) -> None:
        self._stopped = threading.Event()
        for _ in range(number):
            thread = threading.Thread(target=self._loop, args=(work, self._stopped))
            self._threads.append(thread)
            thread.start()

    def end(self) -> None:
        """Receives are held until they are told of a message."""
        self._stopped.set()
        self.release(lambda: not any(thread.is_alive() for thread in self._threads))
        self._threads.clear()

    def release(self, holds: Callable[[], bool]) -> None:
        """Send now and then, until something is so."""
        web = Web(self._port)
        while not holds() and self.asked < MOST:
            self.send(web)
            time.sleep(0.1)
        web.close()
        assert holds()

    def _loop(self, work: Callable[["Clients", Web], None], stopped: threading.Event) -> None:
        web = Web(self._port)
        while not stopped.is_set() and self.asked < MOST:
            try:
                work(self, web)
            except (OSError, HTTPException, AssertionError) as error:
                with self._lock:
                    self.failed.append(repr(error))
                web.close()
        web.close()

    def ask(self, web: Web, target: str, content: dict[str, Any]) -> Any:
        self.asked += 1
        reply = web.call(target, {"QueueUrl": self.url, **content})
        assert reply.status == 200, reply
        return reply.json if reply.body else {}

    # What they do.

    def send(self, web: Web) -> None:
        body = os.urandom(8).hex()
        self.ask(web, "SendMessage", {"MessageBody": body})
        with self._lock:
            self.sent.add(body)
        time.sleep(0.005)

    def receive(self, web: Web) -> None:
        """Held until there is something: one that is answered early and empty was cut short by whoever held it."""
        began_s = time.monotonic()
        found = self.ask(web, "ReceiveMessage", {"WaitTimeSeconds": HELD_S, "MaxNumberOfMessages": 10})
        messages = found.get("Messages", [])
        assert messages or time.monotonic() - began_s > HELD_S - 1, "a receive was not held"
        for message in messages:
            with self._lock:
                self.got.add(message["Body"])
            self.ask(web, "DeleteMessage", {"ReceiptHandle": message["ReceiptHandle"]})


class Controller:
    """`rockdove autoscale --front-ends` as a process."""

    def __init__(self, folder: Path, store: str, port: int) -> None:
        self.folder = folder
        self.state = folder / "state"
        self._words = ["autoscale", "--front-ends", "--store", store, "--listen", f"127.0.0.1:{port}", *FLAGS]
        self._words += ["--folder", str(self.state)]
        self._runs = 0
        self.process = self.start()

    def start(self, *more: str) -> Process:
        self._runs += 1
        self.process = Process([*COMMAND, *self._words, *more], self.folder, f"autoscale-{self._runs}")
        return self.process

    def last(self) -> dict[str, Any]:
        """What it has told of the last period."""
        lines = self.process.out.read_text().splitlines()
        found: dict[str, Any] = json.loads(lines[-1]) if lines else {"frontEnds": [], "decisions": [], "wanted": 0}
        return found

    def living(self, state: str = "up") -> dict[int, int]:
        """Process ids by number."""
        return {each["number"]: each["pid"] for each in self.last()["frontEnds"] if each["state"] == state}

    def until(self, holds: Callable[[], bool], what: str) -> None:
        def is_so() -> bool:
            assert self.process.exit_code is None, self.process.output()
            return holds()

        wait_until(is_so, f"{what}: {self.last()}")

    def pids(self) -> list[int]:
        """Of all that it has left, nginx among them."""
        reports = map(read, self.state.glob("*.json"))
        return [report.pid for report, lives in reports if report is not None and lives]


@pytest.fixture
def store(tmp_path: Path) -> Iterator[str]:
    servers = RedisServers(1, tmp_path / "redis")
    servers.start()
    yield servers.url
    servers.kill()


@pytest.fixture
def controller(tmp_path: Path, store: str) -> Iterator[Controller]:
    made = Controller(tmp_path, store, free_port())
    yield made
    if made.process.exit_code is None:
        # Not in the middle of a start: what it starts then has no report yet.
        made.process.stop()
    left = made.pids()
    for pid in left:
        # nginx ends its own processes with SIGTERM; front-ends end with it, too.
        os.kill(pid, signal.SIGTERM)


def port_of(controller: Controller) -> int:
    listen = controller._words[controller._words.index("--listen") + 1]
    return int(listen.rpartition(":")[2])


def test_no_request_fails_when_front_ends_come_and_go(controller: Controller) -> None:
    clients = Clients(port_of(controller))
    controller.until(lambda: len(controller.living()) == 1, "no front-end is up")
    clients.create()

    # They come while clients are at work.
    clients.begin(Clients.send, 3)
    controller.until(lambda: len(controller.living()) == 3, "there are not three")
    clients.end()
    assert clients.failed == []
    assert "mean response time" in next(
        each["reason"] for each in controller.last()["decisions"] if each["reason"].endswith("one more")
    )

    # They go while receives are held, which is no work. Those that are held by one that goes are answered there.
    clients.begin(Clients.receive, 6)
    controller.until(lambda: clients.sent <= clients.got, "messages are missing")
    controller.until(lambda: controller.last()["wanted"] == 1, "they do not go")
    clients.release(lambda: len(controller.last()["frontEnds"]) == 1)
    clients.end()
    assert clients.failed == []

    # One is killed, and so is the controller; the next one goes on with those that there are.
    clients.begin(Clients.send, 3)
    controller.until(lambda: len(controller.living()) == 3, "there are not three again")
    controller.process.kill()
    before = set(controller.pids())
    controller.start()
    controller.until(lambda: len(controller.living()) == 3, "they were not taken over")
    assert set(controller.living().values()) < before
    assert clients.failed == []
    victim, pid = next(iter(controller.living().items()))
    os.kill(pid, signal.SIGKILL)
    controller.until(lambda: len(controller.living()) == 3 and pid not in controller.living().values(), "not replaced")
    clients.end()
    # Only what it had under way.
    assert len(clients.failed) <= 3
    assert any(f"front-end {victim} has died" in each["reason"] for each in controller.last()["decisions"])

    # Whatever was acknowledged is there.
    clients.begin(Clients.receive, 3)
    controller.until(lambda: clients.sent <= clients.got, "messages are lost")
    clients.end()
    assert len(clients.failed) <= 3
    assert controller.process.stop() == 0
    assert len(controller.pids()) > 1
    assert controller.start("--drain", "--for", "1") is not None
    wait_until(lambda: controller.process.exit_code is not None, "it does not end")
    assert controller.process.exit_code == 0, controller.process.output()
    assert controller.pids() == []


def ended(folder: Path, *words: str) -> Process:
    process = Process(
        [*COMMAND, "autoscale", "--front-ends", "--folder", str(folder / "state"), *words], folder, "ended"
    )
    wait_until(lambda: process.exit_code is not None, "end")
    return process


def left(folder: Path) -> list[bool]:
    return [lives for _, lives in map(read, (folder / "state").glob("*.json")) if lives]


def test_it_does_not_open_the_door_to_others_without_accounts(tmp_path: Path, store: str) -> None:
    process = ended(tmp_path, "--store", store, "--listen", f"0.0.0.0:{free_port()}")
    assert process.exit_code == 5
    assert "will not listen on 0.0.0.0: others could reach it there" in process.err.read_text()
    assert left(tmp_path) == []


def test_a_port_that_is_in_use_is_told(tmp_path: Path, store: str) -> None:
    process = ended(tmp_path, "--store", store, "--listen", store.removeprefix("redis://"))
    assert process.exit_code == 1
    assert "Address already in use" in process.err.read_text()
    assert left(tmp_path) == []


def test_a_store_that_is_not_there_is_told(tmp_path: Path) -> None:
    process = ended(tmp_path, "--store", f"redis://127.0.0.1:{free_port()}", "--listen", f"127.0.0.1:{free_port()}")
    assert process.exit_code == 1
    assert "a front-end has ended before it was ready: " in process.err.read_text()
    assert "no Redis server can be reached" in process.err.read_text()
    assert left(tmp_path) == []
