"""A command of this installation that runs beside a workload, as a process of its own."""

import signal
import subprocess
import sys
from collections.abc import Sequence
from pathlib import Path

from rockdove.workload.error import Trouble, WorkloadFailed
from rockdove.workload.local import RunsInside

_STOP_S = 30.0


class Background(RunsInside):
    """Runs inside ``with``. ``name``: what it is called if it fails. Its output is in ``log``."""

    def __init__(self, name: str, words: Sequence[str], log: Path) -> None:
        self._name = name
        self._words = words
        self._log = log
        self._process: subprocess.Popen[bytes] | None = None

    def _begin(self) -> None:
        with self._log.open("wb") as log:
            self._process = subprocess.Popen(
                [sys.executable, "-m", "rockdove", *self._words],
                stdin=subprocess.DEVNULL,
                stdout=log,
                stderr=log,
                # Ctrl-C on a terminal is for who has started it.
                start_new_session=True,
            )

    def check(self) -> None:
        """Raises `WorkloadFailed`, with the end of its log, if it has ended."""
        if self._process is not None and self._process.poll() is not None:
            said = self._log.read_text(errors="replace")[-2000:]
            code = self._process.returncode
            raise WorkloadFailed(Trouble("failed", f"{self._name} ended (exit code {code}):\n{said}"))

    def stop(self) -> None:
        """In good order, if it has not ended."""
        if self._process is None:
            return
        if self._process.poll() is None:
            self._process.send_signal(signal.SIGTERM)
            try:
                self._process.wait(_STOP_S)
            except subprocess.TimeoutExpired:
                self._process.kill()
                self._process.wait()
        self._process = None

    def _end(self) -> None:
        self.stop()
