"""What a server process uses, its children included: CPU time and resident memory, from /proc."""

from __future__ import annotations

import contextlib
import os
import resource
import threading
import time
from pathlib import Path
from typing import NamedTuple

import msgspec

from rockdove.workload.process import TICKS_PER_S, family, fields_of

# A server at rest uses less of a core than this.
QUIET = 0.05


class Memory(msgspec.Struct, frozen=True):
    """Bytes resident now, the most there ever were, and how many are not pages of a file."""

    resident: int
    peak: int
    anonymous: int


def _cpu_of(pid: int) -> float:
    own_and_reaped = fields_of(pid)[11:15]
    return sum(int(ticks) for ticks in own_and_reaped) / TICKS_PER_S


def cpu_s(pid: int) -> float:
    """Seconds of CPU the process and its children have used so far."""
    return sum(_cpu_of(member) for member in family(pid))


def machine_cpu_s() -> float:
    """Seconds of CPU the whole machine has used or was refused by its host, all cores together."""
    fields = Path("/proc/stat").read_text().splitlines()[0].split()[1:]
    user, nice, system, _idle, _iowait, irq, softirq, steal = (int(ticks) for ticks in fields[:8])
    return (user + nice + system + irq + softirq + steal) / TICKS_PER_S


def own_cpu_s() -> float:
    """Seconds of CPU of this process and of its children that have ended, such as wrk."""
    whose = (resource.RUSAGE_SELF, resource.RUSAGE_CHILDREN)
    return sum(used.ru_utime + used.ru_stime for used in map(resource.getrusage, whose))


def memory(pid: int) -> Memory:
    fields = {"VmRSS": 0, "VmHWM": 0, "RssAnon": 0}
    for member in family(pid):
        for line in Path(f"/proc/{member}/status").read_text().splitlines():
            name, _, value = line.partition(":")
            if name in fields:
                fields[name] += int(value.split()[0]) * 1024
    return Memory(fields["VmRSS"], fields["VmHWM"], fields["RssAnon"])


class Use(NamedTuple):
    """Cores used by a server and by all that is neither it nor the benchmark, over so many seconds."""

    server: float
    others: float
    elapsed_s: float


class Meter:
    """Who uses the machine from now on."""

    def __init__(self, pid: int) -> None:
        self._pid = pid
        self._begin, self._used = time.monotonic(), self._now()

    def _now(self) -> tuple[float, float, float]:
        return cpu_s(self._pid), own_cpu_s(), machine_cpu_s()

    def read(self) -> Use:
        elapsed_s = time.monotonic() - self._begin
        server, own, whole = (now - then for now, then in zip(self._now(), self._used, strict=True))
        return Use(server / elapsed_s, max(0.0, whole - server - own) / elapsed_s, elapsed_s)


def cpu_share(pid: int, seconds: float) -> float:
    """Share of one core used over the next so many seconds."""
    begin, used = time.monotonic(), cpu_s(pid)
    time.sleep(seconds)
    return (cpu_s(pid) - used) / (time.monotonic() - begin)


def settle(pid: int, limit_s: float = 60.0) -> float:
    """Waits until the process has tidied up, which would disturb the next figure; returns its last share of a core."""
    end = time.monotonic() + limit_s
    while (share := cpu_share(pid, 0.3)) > QUIET and time.monotonic() < end:
        pass
    return share


def folder_bytes(folder: Path) -> int:
    """What the files of a folder occupy on disk."""
    total = 0
    for root, _, names in os.walk(folder):
        for name in names:
            with contextlib.suppress(FileNotFoundError):
                total += os.stat(os.path.join(root, name)).st_blocks * 512
    return total


class Watch:
    """Samples memory and data folder in the background, for the peaks between two moments."""

    def __init__(self, pid: int, folder: Path, every_s: float = 0.5) -> None:
        self._pid, self._folder, self._every_s = pid, folder, every_s
        self._stop = threading.Event()
        self._thread = threading.Thread(target=self._run, daemon=True)
        self.resident = self.anonymous = self.disk = 0
        self.error: Exception | None = None

    def __enter__(self) -> Watch:
        self._thread.start()
        return self

    def __exit__(self, *_: object) -> None:
        self._stop.set()
        self._thread.join()
        if self.error is not None:
            raise self.error

    def _run(self) -> None:
        try:
            while not self._stop.wait(self._every_s):
                self.sample()
        except Exception as error:
            self.error = error

    def sample(self) -> None:
        now = memory(self._pid)
        self.resident = max(self.resident, now.resident)
        self.anonymous = max(self.anonymous, now.anonymous)
        self.disk = max(self.disk, folder_bytes(self._folder))
