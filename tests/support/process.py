"""A child process with its output kept in files, ended by its own id."""

import subprocess
import time
from collections.abc import Callable, Mapping, Sequence
from pathlib import Path
from types import TracebackType
from typing import Self

from tests.support.environment import isolated

_POLL_S = 0.02


class ChildError(AssertionError):
    """A child ended or stayed silent when the test needed it; carries what it printed."""


class Process:
    """Starts a command; `out` and `err` are the files that its two streams go to."""

    def __init__(
        self,
        command: Sequence[str],
        folder: Path,
        name: str,
        *,
        environment: Mapping[str, str] | None = None,
        group: bool = False,
    ) -> None:
        """`group` makes it the leader of a group of processes, as a terminal does."""
        folder.mkdir(parents=True, exist_ok=True)
        self.name = name
        self.out = folder / f"{name}.out"
        self.err = folder / f"{name}.err"
        with self.out.open("wb") as out, self.err.open("wb") as err:
            self._child = subprocess.Popen(
                command,
                stdin=subprocess.DEVNULL,
                stdout=out,
                stderr=err,
                cwd=folder,
                env=dict(environment) if environment is not None else isolated(),
                process_group=0 if group else None,
            )

    @property
    def pid(self) -> int:
        return self._child.pid

    @property
    def exit_code(self) -> int | None:
        """None while it runs."""
        return self._child.poll()

    def wait_for(self, is_there: Callable[[], bool], what: str, timeout_s: float) -> None:
        """Waits until the condition holds; fails at once if the process ends first."""
        deadline = time.monotonic() + timeout_s
        while not is_there():
            if self.exit_code is not None and not is_there():
                raise ChildError(f"{self.name} ended with {self.exit_code} before {what}\n{self.output()}")
            if time.monotonic() > deadline:
                raise ChildError(f"{self.name}: no {what} within {timeout_s} s\n{self.output()}")
            time.sleep(_POLL_S)

    def stop(self, timeout_s: float = 30) -> int:
        """Asks it to end (SIGTERM) and gives the exit code; one that does not is killed and reported."""
        self._child.terminate()
        try:
            return self._child.wait(timeout_s)
        except subprocess.TimeoutExpired:
            self.kill()
            raise ChildError(f"{self.name} did not end within {timeout_s} s of SIGTERM\n{self.output()}") from None

    def kill(self) -> None:
        """Ends it without a chance to tidy up (SIGKILL)."""
        self._child.kill()
        self._child.wait()

    def output(self, lines: int = 60) -> str:
        """The last lines of both streams, for a failure's report."""
        parts = []
        for path in (self.out, self.err):
            tail = path.read_text(errors="replace").splitlines()[-lines:]
            parts.append("\n".join([f"--- {path.name}", *tail]))
        return "\n".join(parts)

    def __enter__(self) -> Self:
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        if self.exit_code is None:
            self.kill()
