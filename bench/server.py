"""Servers under test as processes of their own: the floor and ours; bench/peer.py has the others."""

from __future__ import annotations

import contextlib
import re
import socket
import subprocess
import sys
import time
from collections.abc import Callable, Iterator, Sequence
from pathlib import Path

import msgspec

from bench.call import CallError, call
from bench.error import BenchError
from rockdove.wire.signature import Credentials


class Pace(msgspec.Struct, frozen=True):
    """How to run a server: warm-up under each load, least length of a run, messages/s to expect at first."""

    warm_s: float = 2.0
    least_s: float = 1.0
    guess: float = 100.0


class Server(msgspec.Struct, frozen=True):
    """A running server; `folder` is where it keeps its data, `credentials` what it wants requests signed with."""

    name: str
    endpoint: str
    pid: int
    folder: Path
    pace: Pace
    credentials: Credentials | None = None


class Failed(BenchError):
    """A server did not start or died; the text has the end of its log."""


def free_port() -> int:
    with socket.socket() as probe:
        probe.bind(("127.0.0.1", 0))
        return int(probe.getsockname()[1])


def announced(log: Path) -> str | None:
    """The endpoint from the line `ready http://HOST:PORT` of a server's log."""
    found = re.search(r"^ready (http://\S+)", log.read_text(errors="replace"), re.MULTILINE)
    return found.group(1) if found else None


def answering(endpoint: str) -> Callable[[Path], str | None]:
    """For servers that announce nothing: the endpoint as soon as it answers ListQueues."""

    def ready(_: Path) -> str | None:
        try:
            call(endpoint, "ListQueues")
        except (OSError, CallError):
            return None
        return endpoint

    return ready


@contextlib.contextmanager
def process(
    name: str,
    argv: Sequence[str],
    folder: Path,
    ready: Callable[[Path], str | None] = announced,
    pace: Pace | None = None,
    credentials: Credentials | None = None,
) -> Iterator[Server]:
    """Runs a server until the block ends; its output goes to a log beside its data folder."""
    folder.mkdir(parents=True, exist_ok=True)
    log = folder.parent / f"{folder.name}.log"
    with log.open("wb") as output:
        child = subprocess.Popen(argv, stdin=subprocess.DEVNULL, stdout=output, stderr=output)
    try:
        yield Server(name, _await(child, log, ready), child.pid, folder, pace or Pace(), credentials)
        if child.poll() is not None:
            raise Failed(f"{name} died under load with {child.returncode}:\n{_tail(log)}")
    finally:
        _stop(child)


def _await(child: subprocess.Popen[bytes], log: Path, ready: Callable[[Path], str | None]) -> str:
    end = time.monotonic() + 60
    while time.monotonic() < end:
        if child.poll() is not None:
            raise Failed(f"{child.args!r} ended with {child.returncode}:\n{_tail(log)}")
        if (endpoint := ready(log)) is not None:
            return endpoint
        time.sleep(0.1)
    raise Failed(f"{child.args!r} was not ready within 60 s:\n{_tail(log)}")


def _tail(log: Path) -> str:
    return "\n".join(log.read_text(errors="replace").splitlines()[-15:])


def _stop(child: subprocess.Popen[bytes]) -> None:
    child.terminate()
    try:
        child.wait(30)
    except subprocess.TimeoutExpired:
        print(f"{child.args!r} did not stop within 30 s of SIGTERM: killed", file=sys.stderr)
        child.kill()
        child.wait()


def floor(folder: Path) -> contextlib.AbstractContextManager[Server]:
    return process("floor", [sys.executable, "-m", "bench.floor", "0"], folder / "floor")


PROGRAM = str(Path(sys.executable).parent / "rockdove")


def rockdove(
    folder: Path,
    name: str = "rockdove",
    credentials: Credentials | None = None,
    flags: Sequence[str] = (),
    label: str = "rockdove",
    program: str = PROGRAM,
) -> contextlib.AbstractContextManager[Server]:
    """Ours as a user starts it: SQLite, fsync on. ``label`` is what tables call it."""
    data = folder / name
    argv = [program, "serve", "--port", "0", "--data", str(data), *flags]
    return process(label, argv, data, credentials=credentials)


def traced(folder: Path) -> contextlib.AbstractContextManager[Server]:
    """Ours with every operation recorded, on the same disk."""
    return rockdove(folder, "rockdove-traced", flags=["--trace", str(folder / "trace")])


def guarded(folder: Path) -> contextlib.AbstractContextManager[Server]:
    """Ours with an account, so that every request must be signed."""
    name = "rockdove-guarded"
    argv = [PROGRAM, "account", "add", "bench", "--data", str(folder / name), "--json"]
    made = subprocess.run(argv, capture_output=True, text=True, check=False)
    if made.returncode:
        raise Failed(f"{argv!r} ended with {made.returncode}:\n{made.stderr}")
    account = msgspec.json.decode(made.stdout, type=dict[str, str])
    return rockdove(folder, name, Credentials(account["access_key"], account["secret_key"]))
