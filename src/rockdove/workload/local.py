"""A service of this installation as a process of its own, on SQLite or on Redis servers that are its own, too."""

import re
import subprocess
import sys
import time
from pathlib import Path
from types import TracebackType
from typing import Literal, Self

from rockdove.workload.error import Trouble, WorkloadFailed
from rockdove.workload.process import family, own_cpu_of
from rockdove.workload.redis import RedisServer, start_all, url_of

StoreName = Literal["redis", "sqlite"]

_PROGRAM = str(Path(sys.executable).parent / "rockdove")
_START_S = 60.0
_STOP_S = 60.0
_READY = re.compile(r"^ready (http://\S+)", re.MULTILINE)


class LocalService:
    """Runs inside ``with``, and leaves nothing but its folder. Raises `WorkloadFailed`."""

    def __init__(self, store: StoreName, folder: Path, servers: int, workers: int, trace: Path) -> None:
        self.store = store
        self._folder = folder
        self._servers = [RedisServer(folder / f"redis-{at}") for at in range(servers)] if store == "redis" else []
        self._log = folder / "service.log"
        place = url_of(self._servers) if self._servers else store
        self._command = [_PROGRAM, "serve", "--port", "0", "--store", place]
        self._command += ["--data", str(folder / "data"), "--workers", str(workers), "--trace", str(trace)]
        self._process: subprocess.Popen[bytes] | None = None
        self.endpoint = ""

    def __enter__(self) -> Self:
        try:
            start_all(self._servers)
            self._start()
        except BaseException:
            self._end()
            raise
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self._end()

    def _start(self) -> None:
        self._folder.mkdir(parents=True, exist_ok=True)
        with self._log.open("wb") as log:
            self._process = subprocess.Popen(self._command, stdin=subprocess.DEVNULL, stdout=log, stderr=log)
        end_s = time.monotonic() + _START_S
        while (ready := _READY.search(self._log.read_text(errors="replace"))) is None:
            if self._process.poll() is not None or time.monotonic() > end_s:
                said = self._log.read_text(errors="replace")[-2000:]
                raise WorkloadFailed(Trouble("failed", f"the service on {self.store} did not start:\n{said}"))
            time.sleep(0.02)
        self.endpoint = ready.group(1)

    def _end(self) -> None:
        """In good order, so that its trace is whole."""
        if self._process is not None:
            self._process.terminate()
            try:
                self._process.wait(_STOP_S)
            except subprocess.TimeoutExpired:
                self._process.kill()
                self._process.wait()
            self._process = None
        for server in self._servers:
            server.kill()

    def cpu_s(self) -> tuple[float, float]:
        """Seconds of CPU that the service has used so far, and its Redis servers."""
        assert self._process is not None
        return own_cpu_of(family(self._process.pid)), own_cpu_of([server.pid for server in self._servers])
