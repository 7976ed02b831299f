"""A shell and a Python that go on from one block of a page to the next, as a reader's do."""

import json
import os
import select
import subprocess
import sys
import time
from collections.abc import Mapping, Sequence
from pathlib import Path

# Printed after each command, before its exit code; no command prints it.
_END = b"\x1e"
_TIMEOUT_S = 280

# Commands come separated by NUL. Each finds the exit code of the one before it in $?.
_BASH = r"""
code=0
while IFS= read -r -d '' command; do
  (exit $code)
  eval "$command" </dev/null
  code=$?
  printf '\036%d\n' $code
done
"""
_PYTHON = r"""
import json, sys, traceback
names = {"__name__": "__main__"}
for line in sys.stdin:
    code = 0
    try:
        exec(compile(json.loads(line), "page", "exec"), names)
    except BaseException:
        traceback.print_exc(file=sys.stdout)
        code = 1
    print(f"\x1e{code}", flush=True)
"""


class Repl:
    """A process that runs one text after another."""

    def __init__(self, command: Sequence[str], folder: Path, environment: Mapping[str, str]) -> None:
        self._child = subprocess.Popen(
            command,
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            stderr=subprocess.STDOUT,
            cwd=folder,
            env=dict(environment),
        )

    def encode(self, text: str) -> bytes:
        raise NotImplementedError

    def run(self, text: str) -> tuple[str, int]:
        """What it printed on both streams, and its exit code."""
        assert self._child.stdin is not None
        self._child.stdin.write(self.encode(text))
        self._child.stdin.flush()
        output, _, code = self._read().rpartition(_END)
        return output.decode(), int(code)

    def _read(self) -> bytes:
        assert self._child.stdout is not None
        descriptor = self._child.stdout.fileno()
        deadline = time.monotonic() + _TIMEOUT_S
        read = b""
        while _END not in read or not read.endswith(b"\n"):
            ready, _, _ = select.select([descriptor], [], [], max(deadline - time.monotonic(), 0))
            assert ready, f"not done after {_TIMEOUT_S} s; so far it has printed\n{read.decode()}"
            chunk = os.read(descriptor, 65536)
            assert chunk, f"it ended; it had printed\n{read.decode()}"
            read += chunk
        return read

    def close(self) -> None:
        self._child.kill()
        self._child.wait()
        for stream in (self._child.stdin, self._child.stdout):
            assert stream is not None
            stream.close()


class Shell(Repl):
    def __init__(self, folder: Path, environment: Mapping[str, str]) -> None:
        super().__init__(["bash", "-c", _BASH], folder, environment)

    def encode(self, text: str) -> bytes:
        return text.encode() + b"\0"


class Python(Repl):
    def __init__(self, folder: Path, environment: Mapping[str, str]) -> None:
        super().__init__([sys.executable, "-u", "-c", _PYTHON], folder, environment)

    def encode(self, text: str) -> bytes:
        return json.dumps(text).encode() + b"\n"
