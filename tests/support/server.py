"""A real `rockdove serve` in a process of its own, on a free port."""

import itertools
import os
import re
import sys
import time
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import Any

from tests.support.aws import sqs_client
from tests.support.port import free_port, is_listening
from tests.support.process import Process

COMMAND: Sequence[str] = (str(Path(sys.executable).with_name("rockdove")),)
STORES = ("sqlite", "memory")
# What services of the test process are made of. FRONT_ENDS is two front-ends and the owner of a SQLite store, REDIS two
# Redis servers, CASSANDRA a node; only with TEST_SERVICE=front-ends, redis or cassandra, as `make test-faults`,
# `make test-redis` and `make test-cassandra` have it: then the same tests run over these alone.
FRONT_ENDS, REDIS, CASSANDRA = "front-ends", "redis", "cassandra"
_WANTED = os.environ.get("TEST_SERVICE")
SERVICES = (_WANTED,) if _WANTED in (FRONT_ENDS, REDIS, CASSANDRA) else STORES
# Front-end processes of a service that a test starts, where neither the test nor its stage says how many; None: what
# the service takes by itself.
workers: int | None = None

_READY = re.compile(r"^ready (https?://(.+):(\d+))$", re.MULTILINE)
_START_TIMEOUT_S = 60
_END_TIMEOUT_S = 120


class Server:
    """Listens once constructed; `start` after `stop` or `kill` runs it again on the same data."""

    def __init__(self, folder: Path, *arguments: str, store: str = "sqlite", port: int = 0) -> None:
        self.folder = folder
        self.data = folder / "data"
        self.store = store
        self.port = port or free_port()
        self.endpoint = ""
        self._arguments = arguments
        self._runs = itertools.count()
        self.process = self._launch()

    def start(self) -> None:
        """Runs it again on the same port and data."""
        assert self.process.exit_code is not None, "still running"
        self.process = self._launch()

    def stop(self) -> int:
        """SIGTERM; gives the exit code."""
        return self.process.stop()

    def kill(self) -> None:
        """SIGKILL: what a crash of the process is. Its front-ends end a moment later."""
        self.process.kill()
        deadline = time.monotonic() + _END_TIMEOUT_S
        while is_listening(self.port):
            assert time.monotonic() < deadline, "a front-end stayed behind"
            time.sleep(0.01)

    def client(self, **options: Any) -> Any:
        """A boto3 client of its own for this server."""
        return sqs_client(self.endpoint, **options)

    def _launch(self) -> Process:
        command = [*COMMAND, "serve", "--port", str(self.port), "--store", self.store, "--data", str(self.data)]
        # The name of tests.support.raw.
        command += ["--allow-host", "queue.test"]
        if workers is not None:
            command += ["--workers", str(workers)]
        process = Process([*command, *self._arguments], self.folder, f"serve-{next(self._runs)}")
        try:
            process.wait_for(lambda: _READY.search(process.out.read_text()) is not None, "ready line", _START_TIMEOUT_S)
        except BaseException:
            if process.exit_code is None:
                process.kill()
            raise
        ready = _READY.search(process.out.read_text())
        assert ready is not None
        self.endpoint = ready[1]
        self.port = int(ready[3])
        return process


class ServerFactory:
    """Gives running servers: `shared` the same one for the same arguments, a call always a new one of its own."""

    def __init__(self, new_folder: Callable[[str], Path]) -> None:
        self._new_folder = new_folder
        self._shared: dict[tuple[str, ...], Server] = {}
        self.servers: list[Server] = []

    def __call__(self, *arguments: str, store: str = "sqlite", port: int = 0) -> Server:
        server = Server(self._new_folder(f"server-{store.partition(':')[0]}"), *arguments, store=store, port=port)
        self.servers.append(server)
        return server

    def shared(self, *arguments: str, store: str = "sqlite") -> Server:
        key = (store, *arguments)
        if key not in self._shared:
            self._shared[key] = self(*arguments, store=store)
        return self._shared[key]

    def output(self) -> str:
        """What the servers printed, for a failure's report."""
        return "\n".join(f"{server.endpoint}\n{server.process.output()}" for server in self.servers)

    def close(self) -> None:
        for server in self.servers:
            if server.process.exit_code is None:
                server.kill()
