"""nginx as the dispatcher of front-ends: what it does with requests when one of them is not there, or dies."""

import asyncio
import os
import signal
import socket
import threading
from collections.abc import Iterator
from pathlib import Path

import pytest

from rockdove.elastic.front_end.nginx import Nginx
from rockdove.elastic.worker.report import read
from tests.support.patience import wait_until
from tests.support.port import free_port
from tests.support.raw import Web

ANSWER = b"HTTP/1.1 200 OK\r\nContent-Length: 2\r\nConnection: close\r\n\r\nok"
# Requests at most, until both backends have had some.
MOST = 500


class Backend:
    """Reads whole requests, and answers them, or hangs up."""

    def __init__(self, answers: bool) -> None:
        self.asked = 0
        self._answers = answers
        self._socket = socket.create_server(("127.0.0.1", 0))
        self.url = f"http://127.0.0.1:{self._socket.getsockname()[1]}"
        threading.Thread(target=self._serve, daemon=True).start()

    def _serve(self) -> None:
        while True:
            try:
                connection, _ = self._socket.accept()
            except OSError:
                return
            with connection:
                if connection.recv(65_536):
                    self.asked += 1
                    if self._answers:
                        connection.sendall(ANSWER)

    def close(self) -> None:
        # To close it alone does not wake the thread that waits.
        self._socket.shutdown(socket.SHUT_RDWR)
        self._socket.close()


@pytest.fixture
def backends() -> Iterator[tuple[Backend, Backend]]:
    """One that hangs up, and one that answers."""
    made = Backend(answers=False), Backend(answers=True)
    yield made
    for each in made:
        each.close()


@pytest.fixture
def port() -> int:
    return free_port()


@pytest.fixture
def nginx(tmp_path: Path, port: int) -> Iterator[Nginx]:
    made = Nginx(tmp_path, "127.0.0.1", port, ["queues.lan"])
    yield made
    asyncio.run(made.stop())


def master(folder: Path) -> int:
    report, lives = read(folder / "nginx.json")
    assert report is not None
    assert lives
    return report.pid


@pytest.mark.parametrize("method", ["POST", "GET"])
def test_what_was_sent_is_not_sent_again(
    nginx: Nginx, port: int, backends: tuple[Backend, Backend], method: str
) -> None:
    asyncio.run(nginx.route([each.url for each in backends]))
    web = Web(port)
    told: list[int] = []
    # Until both have had some: which of them gets a request is nginx's business.
    while not all(each.asked >= 2 for each in backends) and len(told) < MOST:
        told.append(web.request(method, "/").status)
    web.close()
    # Each was asked once for each request that it got.
    assert (told.count(502), told.count(200)) == tuple(each.asked for each in backends), told
    assert set(told) == {200, 502}


def test_a_front_end_that_is_not_there_is_gone_round(
    nginx: Nginx, port: int, backends: tuple[Backend, Backend]
) -> None:
    asyncio.run(nginx.route([f"http://127.0.0.1:{free_port()}", backends[1].url]))
    web = Web(port)
    assert {web.request("POST", "/").status for _ in range(6)} == {200}
    web.close()
    assert backends[1].asked == 6


def test_names_that_are_not_ours_are_refused(nginx: Nginx, port: int, backends: tuple[Backend, Backend]) -> None:
    asyncio.run(nginx.route([backends[1].url]))
    web = Web(port)
    hosts = {"evil.example": 403, "queues.lan": 200, f"QUEUES.lan:{port}": 200, "localhost": 200, "[::1]:80": 200}
    assert {host: web.request("POST", "/", headers={"Host": host}).status for host in hosts} == hosts
    web.close()


def test_the_next_controller_goes_on_with_it(
    nginx: Nginx, tmp_path: Path, port: int, backends: tuple[Backend, Backend]
) -> None:
    asyncio.run(nginx.route([backends[0].url]))
    before = master(tmp_path)
    again = Nginx(tmp_path, "127.0.0.1", port)
    users = asyncio.run(again.route([backends[1].url]))
    assert users
    wait_until(lambda: not again.still(users), "end of those with the configuration before")
    # Nothing new: nothing is done.
    assert not asyncio.run(again.route([backends[1].url]))
    assert master(tmp_path) == before
    web = Web(port)
    assert web.request("POST", "/").status == 200
    web.close()


def test_it_is_started_again_when_it_was_killed(
    nginx: Nginx, tmp_path: Path, port: int, backends: tuple[Backend, Backend]
) -> None:
    """Its own processes have its port then."""
    urls = [backends[1].url]
    asyncio.run(nginx.route(urls))
    before = master(tmp_path)
    os.kill(before, signal.SIGKILL)
    os.waitpid(before, 0)
    asyncio.run(nginx.route(urls))
    assert master(tmp_path) != before
    web = Web(port)
    assert web.request("POST", "/").status == 200
    web.close()


def test_what_is_left_of_one_that_was_killed_ends_with_it(
    tmp_path: Path, port: int, backends: tuple[Backend, Backend]
) -> None:
    nginx = Nginx(tmp_path, "127.0.0.1", port)
    asyncio.run(nginx.route([backends[1].url]))
    os.kill(master(tmp_path), signal.SIGKILL)
    asyncio.run(nginx.stop())
    with pytest.raises(ConnectionRefusedError):
        socket.create_connection(("127.0.0.1", port), timeout=10)
