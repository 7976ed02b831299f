"""Real Redis servers, each a process of its own, that last as long as the tests of one process."""

import atexit
import functools
import shutil
import signal
import socket
import subprocess
import tempfile
import time
from pathlib import Path
from typing import cast

import hiredis

from rockdove.store.redis.address import Address, Endpoint

# A server that is not there after so many seconds never will be.
START_S = 20.0
# Bytes of its file that a server may have when a test begins.
LARGE_BYTES = 8 * 1024 * 1024


class RedisServer:
    """One server with a folder and a port of its own. It keeps them when it is started again."""

    def __init__(self, folder: Path) -> None:
        self.folder = folder
        folder.mkdir(parents=True)
        with socket.socket() as probe:
            probe.bind(("127.0.0.1", 0))
            self.port: int = probe.getsockname()[1]
        self._process: subprocess.Popen[bytes] | None = None

    @property
    def endpoint(self) -> Endpoint:
        return Endpoint("127.0.0.1", self.port)

    def begin(self, *options: str) -> None:
        """Start it; `wait` for it then."""
        program = shutil.which("redis-server")
        assert program is not None, "no redis-server: scripts/need.sh redis-server=redis-server installs it"
        settings = ("--bind", "127.0.0.1", "--port", str(self.port), "--dir", str(self.folder), "--save", "")
        durable = ("--appendonly", "yes", "--appendfsync", "always", "--auto-aof-rewrite-percentage", "0")
        with (self.folder / "log").open("ab") as log:
            self._process = subprocess.Popen(
                [program, *settings, *durable, *options], stdin=subprocess.DEVNULL, stdout=log, stderr=log
            )

    def wait(self) -> None:
        deadline = time.monotonic() + START_S
        while True:
            try:
                if self.say("PING") == b"PONG":
                    return
            except (OSError, hiredis.ReplyError):
                # It is not there yet, or reads what it had.
                pass
            assert time.monotonic() < deadline, (self.folder / "log").read_text()
            time.sleep(0.01)

    def wait_until_locked(self) -> None:
        """The same for one that wants a password."""
        deadline = time.monotonic() + START_S
        while time.monotonic() < deadline:
            try:
                self.say("PING")
            except hiredis.ReplyError as error:
                if "NOAUTH" in str(error):
                    return
            except OSError:
                pass
            time.sleep(0.01)
        raise AssertionError((self.folder / "log").read_text())

    def write_anew(self) -> None:
        """Now and then, so that a start does not read what all tests before have written."""
        files = (self.folder / "appendonlydir").iterdir()
        if sum(file.stat().st_size for file in files) < LARGE_BYTES:
            return
        self.say("BGREWRITEAOF")
        while b"aof_rewrite_in_progress:0" not in cast(bytes, self.say("INFO", "persistence")):
            time.sleep(0.01)

    def kill(self, number: signal.Signals = signal.SIGKILL) -> None:
        if self._process is not None:
            self._process.send_signal(number)
            self._process.send_signal(signal.SIGCONT)
            self._process.wait()
            self._process = None

    def lose_data(self) -> None:
        """To be called when it is killed."""
        shutil.rmtree(self.folder / "appendonlydir")

    def pause(self) -> None:
        assert self._process is not None
        self._process.send_signal(signal.SIGSTOP)

    def go_on(self) -> None:
        assert self._process is not None
        self._process.send_signal(signal.SIGCONT)

    def say(self, *words: str | int | bytes) -> object:
        """What it answers to a command."""
        with socket.create_connection(self.endpoint, timeout=START_S) as connection:
            connection.sendall(hiredis.pack_command(cast(tuple[str], words)))
            reader = hiredis.Reader()
            while (reply := reader.gets()) is False:
                some = connection.recv(65_536)
                if not some:
                    raise ConnectionResetError("the server has closed the connection")
                reader.feed(some)
        if isinstance(reply, Exception):
            raise reply
        return reply


class RedisServers:
    """Several of them."""

    def __init__(self, number: int, folder: Path) -> None:
        self.all = [RedisServer(folder / str(at)) for at in range(number)]

    @property
    def address(self) -> Address:
        return Address(tuple(server.endpoint for server in self.all))

    @property
    def url(self) -> str:
        return f"redis://{self.address}"

    def start(self) -> None:
        for server in self.all:
            server.begin()
        for server in self.all:
            server.wait()

    def kill(self) -> None:
        for server in self.all:
            server.kill()

    def empty(self) -> None:
        for server in self.all:
            server.say("FLUSHALL")
            server.write_anew()


@functools.cache
def shared_servers(number: int = 2) -> RedisServers:
    """For all tests of this process, one after another; each empties them first."""
    folder = Path(tempfile.mkdtemp(prefix="test-redis-"))
    servers = RedisServers(number, folder)

    def end() -> None:
        servers.kill()
        shutil.rmtree(folder, ignore_errors=True)

    atexit.register(end)
    servers.start()
    return servers
