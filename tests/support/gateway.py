"""A real `rockdove gateway` in a process of its own."""

import itertools
import re
import time
from pathlib import Path

from tests.support.port import free_port, is_listening
from tests.support.process import Process
from tests.support.server import COMMAND

_READY = re.compile(r"^ready (\S+)$", re.MULTILINE)
_START_TIMEOUT_S = 60


class Gateway:
    """Listens once constructed; `start` after `stop` or `kill` runs it again on the same port."""

    def __init__(self, folder: Path, kind: str, endpoint: str, *arguments: str) -> None:
        self.folder = folder
        self.kind = kind
        self.port = free_port()
        self.url = ""
        self._command = [*COMMAND, "gateway", kind, "--endpoint", endpoint, "--port", str(self.port), *arguments]
        self._runs = itertools.count()
        self.process = self._launch()

    def start(self) -> None:
        assert self.process.exit_code is not None, "still running"
        self.process = self._launch()

    def stop(self) -> int:
        """SIGTERM; gives the exit code."""
        return self.process.stop()

    def kill(self) -> None:
        self.process.kill()
        while self.kind == "mqtt" and is_listening(self.port):
            time.sleep(0.01)

    @property
    def log(self) -> str:
        return self.process.err.read_text()

    def _launch(self) -> Process:
        process = Process(self._command, self.folder, f"{self.kind}-{next(self._runs)}")
        try:
            process.wait_for(lambda: _READY.search(process.out.read_text()) is not None, "ready line", _START_TIMEOUT_S)
        except BaseException:
            if process.exit_code is None:
                process.kill()
            raise
        ready = _READY.search(process.out.read_text())
        assert ready is not None
        self.url = ready[1]
        return process
