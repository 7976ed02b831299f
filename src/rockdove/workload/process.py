"""What processes use, from /proc."""

import contextlib
import os
from collections.abc import Iterable
from pathlib import Path

TICKS_PER_S = os.sysconf("SC_CLK_TCK")


def fields_of(pid: int) -> list[str]:
    """The fields of /proc/PID/stat from the state on; the command name before them may hold blanks."""
    return Path(f"/proc/{pid}/stat").read_text().rpartition(")")[2].split()


def family(pid: int) -> list[int]:
    """The process and all that descend from it."""
    parents: dict[int, int] = {}
    for entry in Path("/proc").iterdir():
        # A process may end between the listing and the reading.
        if entry.name.isdecimal():
            with contextlib.suppress(FileNotFoundError, ProcessLookupError):
                parents[int(entry.name)] = int(fields_of(int(entry.name))[1])
    members = [pid]
    for member in members:
        members += [child for child, parent in parents.items() if parent == member]
    return members


def own_cpu_of(pids: Iterable[int]) -> float:
    """Seconds of CPU that these processes have used so far, without their children."""
    return sum(int(ticks) for pid in pids for ticks in fields_of(pid)[11:13]) / TICKS_PER_S
