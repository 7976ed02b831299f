"""Redis servers on this machine, for workloads and tests: started, killed and paused as processes."""

import shutil
import signal
import socket
import subprocess
import time
from collections.abc import Sequence
from pathlib import Path
from typing import cast

from rockdove.core.errors import MissingExtra
from rockdove.workload.error import Trouble, WorkloadFailed

try:
    import hiredis
except ImportError as error:
    raise MissingExtra("Redis servers need hiredis; install it with: pip install 'rockdove[redis]'") from error

# A server that is not there after so many seconds never will be.
START_S = 20.0


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
    def name(self) -> str:
        return f"127.0.0.1:{self.port}"

    @property
    def pid(self) -> int:
        assert self._process is not None
        return self._process.pid

    def begin(self, *options: str) -> None:
        """Start it; `wait` for it then. Raises `WorkloadFailed`."""
        program = shutil.which("redis-server")
        if program is None:
            raise WorkloadFailed(Trouble("failed", "redis-server is missing: apt-get install redis-server"))
        settings = ("--bind", "127.0.0.1", "--port", str(self.port), "--dir", str(self.folder), "--save", "")
        durable = ("--appendonly", "yes", "--appendfsync", "always", "--auto-aof-rewrite-percentage", "0")
        with (self.folder / "log").open("ab") as log:
            self._process = subprocess.Popen(
                [program, *settings, *durable, *options], stdin=subprocess.DEVNULL, stdout=log, stderr=log
            )

    def wait(self) -> None:
        """Raises `WorkloadFailed`."""
        deadline = time.monotonic() + START_S
        while True:
            try:
                if self.say("PING") == b"PONG":
                    return
            except (OSError, hiredis.ReplyError):
                # It is not there yet, or reads what it had.
                pass
            if time.monotonic() > deadline:
                log = (self.folder / "log").read_text(errors="replace")[-2000:]
                raise WorkloadFailed(Trouble("failed", f"the Redis server {self.name} does not answer:\n{log}"))
            time.sleep(0.01)

    def kill(self, number: signal.Signals = signal.SIGKILL) -> None:
        if self._process is not None:
            self._process.send_signal(number)
            self._process.send_signal(signal.SIGCONT)
            self._process.wait()
            self._process = None

    def pause(self) -> None:
        assert self._process is not None
        self._process.send_signal(signal.SIGSTOP)

    def go_on(self) -> None:
        assert self._process is not None
        self._process.send_signal(signal.SIGCONT)

    def say(self, *words: str | int | bytes) -> object:
        """What it answers to a command."""
        with socket.create_connection(("127.0.0.1", self.port), timeout=START_S) as connection:
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


def start_all(servers: Sequence[RedisServer]) -> None:
    """Raises `WorkloadFailed`."""
    for server in servers:
        server.begin()
    for server in servers:
        server.wait()


def url_of(servers: Sequence[RedisServer]) -> str:
    """What to serve with."""
    return f"redis://{','.join(server.name for server in servers)}"
