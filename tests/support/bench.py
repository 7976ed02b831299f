"""`rockdove bench` as a user types it, in a process of its own."""

import json
import subprocess
from dataclasses import dataclass
from typing import Any

from tests.support.environment import isolated
from tests.support.server import COMMAND

_TIMEOUT_S = 120


@dataclass(frozen=True)
class Finished:
    """How it ended."""

    code: int
    out: str
    err: str

    @property
    def document(self) -> Any:
        """Standard output, which must be one JSON document and nothing else."""
        return json.loads(self.out)

    @property
    def row(self) -> Any:
        """The figures of the only endpoint."""
        [row] = self.document["rows"]
        return row


def bench(*words: str, json: bool = True) -> Finished:
    command = [*COMMAND, "bench", *words, *(["--json"] if json else [])]
    done = subprocess.run(command, capture_output=True, text=True, timeout=_TIMEOUT_S, check=False, env=isolated())
    return Finished(done.returncode, done.stdout, done.stderr)
