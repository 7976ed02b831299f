"""A service of this installation as a process of its own: on SQLite, in memory, or on Redis servers of its own, too."""

import re
import signal
import subprocess
import sys
import time
from abc import ABC, abstractmethod
from collections.abc import Sequence
from pathlib import Path
from types import TracebackType
from typing import Literal, Self

from rockdove.workload.error import Trouble, WorkloadFailed
from rockdove.workload.process import family, own_cpu_of
from rockdove.workload.redis import RedisServer, start_all, url_of

StoreName = Literal["redis", "sqlite", "memory"]

_PROGRAM = str(Path(sys.executable).parent / "rockdove")
_START_S = 120.0
_STOP_S = 60.0
_READY = re.compile(r"^ready (http://\S+)", re.MULTILINE)


class ServiceProcess:
    """A service that can be killed. It keeps its port when it is started again."""

    def __init__(self, folder: Path, words: Sequence[str]) -> None:
        """``words`` follow ``rockdove serve``; data and log are in the folder."""
        self._folder = folder
        self._words = words
        self._log = folder / "service.log"
        self._port = 0
        self._process: subprocess.Popen[bytes] | None = None
        self.endpoint = ""

    @property
    def pid(self) -> int:
        assert self._process is not None
        return self._process.pid

    def begin(self) -> None:
        """Start it; `wait` for it then."""
        self._folder.mkdir(parents=True, exist_ok=True)
        command = [_PROGRAM, "serve", "--port", str(self._port), "--data", str(self._folder / "data"), *self._words]
        with self._log.open("wb") as log:
            self._process = subprocess.Popen(command, stdin=subprocess.DEVNULL, stdout=log, stderr=log)

    def wait(self) -> None:
        """Until it answers. Raises `WorkloadFailed`."""
        assert self._process is not None
        end_s = time.monotonic() + _START_S
        while (ready := _READY.search(self._log.read_text(errors="replace"))) is None:
            if self._process.poll() is not None or time.monotonic() > end_s:
                said = self._log.read_text(errors="replace")[-2000:]
                raise WorkloadFailed(Trouble("failed", f"the service did not start:\n{said}"))
            time.sleep(0.02)
        self.endpoint = ready.group(1)
        self._port = int(self.endpoint.rpartition(":")[2])

    def stop(self) -> None:
        """In good order, so that its trace is whole."""
        self._end(signal.SIGTERM)

    def kill(self) -> None:
        self._end(signal.SIGKILL)

    def _end(self, number: signal.Signals) -> None:
        if self._process is not None:
            self._process.send_signal(number)
            try:
                self._process.wait(_STOP_S)
            except subprocess.TimeoutExpired:
                self._process.kill()
                self._process.wait()
            self._process = None


class RunsInside(ABC):
    """Runs inside ``with``, and is ended also if it does not start."""

    def __enter__(self) -> Self:
        try:
            self._begin()
        except BaseException:
            self._end()
            raise
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self._end()

    @abstractmethod
    def _begin(self) -> None: ...

    @abstractmethod
    def _end(self) -> None: ...


class LocalService(RunsInside):
    """Runs inside ``with``, and leaves nothing but its folder. Raises `WorkloadFailed`."""

    def __init__(self, store: StoreName, folder: Path, servers: int, workers: int, trace: Path | None) -> None:
        self.store = store
        self._servers = [RedisServer(folder / f"redis-{at}") for at in range(servers)] if store == "redis" else []
        place = url_of(self._servers) if self._servers else store
        traced = [] if trace is None else ["--trace", str(trace)]
        self._service = ServiceProcess(folder, ["--store", place, "--workers", str(workers), *traced])

    @property
    def endpoint(self) -> str:
        return self._service.endpoint

    def _begin(self) -> None:
        start_all(self._servers)
        self._service.begin()
        self._service.wait()

    def _end(self) -> None:
        self._service.stop()
        for server in self._servers:
            server.kill()

    def cpu_s(self) -> tuple[float, float]:
        """Seconds of CPU that the service has used so far, and its Redis servers."""
        return own_cpu_of(family(self._service.pid)), own_cpu_of([server.pid for server in self._servers])
