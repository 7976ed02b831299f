"""A Spark driver in a process group of its own, which tests kill within a batch."""

import json
import os
import random
import signal
import sys
import time
from collections.abc import Callable, Mapping, Sequence
from pathlib import Path
from typing import Any

from tests.support.environment import isolated
from tests.support.process import Process

PROGRAM = Path(__file__).parents[1] / "integration" / "spark" / "pipeline.py"
_SOURCES = Path(__file__).parents[2] / "src"
# So long it may take to get somewhere: for one that hangs.
_PATIENCE_S = 600
# The longest pause before a driver is looked at again: about what a batch takes, once some are done.
_PAUSE_S = 0.5


class Checkpoint:
    """What Spark has written there: an offset before a batch begins, a commit when it is done."""

    def __init__(self, folder: Path) -> None:
        self.folder = folder

    @property
    def begun(self) -> int:
        return self._number("offsets")

    @property
    def done(self) -> int:
        return self._number("commits")

    @property
    def is_within_a_batch(self) -> bool:
        return self.begun > self.done

    def _number(self, log: str) -> int:
        return sum(path.name.isdecimal() for path in (self.folder / log).glob("*"))


class Driver(Process):
    """Runs queries, one after the other. See `tests/integration/spark/pipeline.py`."""

    def __init__(
        self,
        folder: Path,
        queries: Sequence[Mapping[str, Any]],
        *,
        master: str = "local[2]",
        settings: Mapping[str, str] | None = None,
    ) -> None:
        plan = {"master": master, "settings": dict(settings or {}), "queries": list(queries)}
        # Who is killed leaves what he had there.
        left = folder / "left"
        left.mkdir(parents=True, exist_ok=True)
        # Streams are planned on the driver's machine by the executors' Python, which must find Rockdove there.
        environment = isolated() | {"TMPDIR": str(left), "SPARK_LOCAL_DIRS": str(left), "PYTHONPATH": str(_SOURCES)}
        command = [sys.executable, str(PROGRAM), json.dumps(plan)]
        lives = len(list(folder.glob("driver-*.err")))
        super().__init__(command, folder, f"driver-{lives}", environment=environment, group=True)

    def wait_for(self, is_there: Callable[[], bool], what: str, timeout_s: float = _PATIENCE_S) -> None:
        super().wait_for(is_there, what, timeout_s)

    def kill(self) -> None:
        """All of it, Python and Java (SIGKILL)."""
        os.killpg(self.pid, signal.SIGKILL)
        super().kill()

    def kill_within_a_batch(self, checkpoint: Checkpoint, rng: random.Random) -> bool:
        """At a random moment, some new batches after it was started; whether one was begun and not done then."""
        enough = checkpoint.begun + rng.randint(1, 4)
        self.wait_for(lambda: checkpoint.begun >= enough, "new batch")
        while True:
            time.sleep(rng.uniform(0, _PAUSE_S))
            assert self.exit_code is None, f"it was through before it was killed\n{self.output()}"
            # Stopped, it hardly finishes the batch between the look and the kill.
            os.killpg(self.pid, signal.SIGSTOP)
            if checkpoint.is_within_a_batch:
                self.kill()
                return checkpoint.is_within_a_batch
            os.killpg(self.pid, signal.SIGCONT)

    def finish(self) -> None:
        self.wait_for(lambda: self.exit_code is not None, "end")
        assert self.exit_code == 0, self.output()
