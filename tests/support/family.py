"""The processes of a service that runs in several: found by their parent."""

import contextlib
import os
import signal
import time
from pathlib import Path

from tests.support.server import Server

_PATIENCE_S = 120


def parent_of(pid: int) -> int:
    """0: there is no such process, or it is dead already."""
    try:
        after_name = Path(f"/proc/{pid}/stat").read_text().rpartition(")")[2].split()
    except (FileNotFoundError, ProcessLookupError):
        return 0
    return 0 if after_name[0] in "ZX" else int(after_name[1])


def children(parent: int) -> list[int]:
    """In the order of their start: the owner is the first, unless it was started again."""
    found = [int(path.name) for path in Path("/proc").iterdir() if path.name.isdigit()]
    return sorted(pid for pid in found if parent_of(pid) == parent)


def owner_of(service: Server) -> int:
    """The process that has the lock of the data folder open; 0 while there is none."""
    lock = str(service.data / "lock")
    for pid in children(service.process.pid):
        with contextlib.suppress(OSError):
            if any(os.readlink(file) == lock for file in Path(f"/proc/{pid}/fd").iterdir()):
                return pid
    return 0


def front_ends_of(service: Server) -> list[int]:
    return [pid for pid in children(service.process.pid) if pid != owner_of(service)]


def kill(pid: int) -> None:
    os.kill(pid, signal.SIGKILL)


def wait_until_gone(pids: list[int]) -> None:
    deadline = time.monotonic() + _PATIENCE_S
    while left := [pid for pid in pids if parent_of(pid)]:
        assert time.monotonic() < deadline, f"still there: {left}"
        time.sleep(0.02)


def wait_for_number(service: Server, number: int, but: int) -> list[int]:
    """Until so many children are there, without that one; which."""
    deadline = time.monotonic() + _PATIENCE_S
    while but in (found := children(service.process.pid)) or len(found) != number:
        assert time.monotonic() < deadline, found
        time.sleep(0.02)
    return found
