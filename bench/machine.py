"""What a figure was measured on: without it a figure means nothing."""

from __future__ import annotations

import os
import platform
import re
import shutil
import subprocess
import sys
from datetime import UTC, datetime
from pathlib import Path

import apsw
import msgspec

from bench.error import BenchError

# Where the servers keep their data while they are measured: beside the checkout, git-ignored.
SCRATCH = Path("target/bench")

# These never reach a disk, so an fsync on them costs nothing and proves nothing.
VOLATILE = {"tmpfs", "ramfs", "devtmpfs"}


class Machine(msgspec.Struct, frozen=True):
    cpu: str
    cores: int
    memory_gb: float
    system: str
    file_system: str
    python: str
    sqlite: str
    wrk: str
    date: str

    def __str__(self) -> str:
        return (
            f"{self.cores} cores of {self.cpu}, {self.memory_gb:.0f} GB, {self.system}; data on {self.file_system}; "
            f"Python {self.python}, SQLite {self.sqlite}, wrk {self.wrk}; {self.date}"
        )


class Unfit(BenchError):
    """This machine cannot run the benchmark as it is; the text says what to do."""


def scratch(folder: Path = SCRATCH) -> Path:
    """The scratch folder, made, and refused when it is not on a disk."""
    folder.mkdir(parents=True, exist_ok=True)
    kind = file_system(folder)
    if kind in VOLATILE:
        raise Unfit(f"{folder} is on {kind}, where fsync means nothing: give a folder on a disk with --data")
    return folder.resolve()


def file_system(folder: Path) -> str:
    """The type of the file system that holds the folder."""
    mounts = [line.split() for line in Path("/proc/mounts").read_text().splitlines()]
    path = str(folder.resolve())
    inside = [m for m in mounts if path == m[1] or path.startswith(m[1].rstrip("/") + "/")]
    return max(inside, key=lambda mount: len(mount[1]))[2]


def wrk_version() -> str:
    if shutil.which("wrk") is None:
        raise Unfit("wrk is missing: apt-get install wrk")
    text = subprocess.run(["wrk", "-v"], capture_output=True, text=True, check=False).stdout
    found = re.search(r"wrk \S*?(\d+\.\d+\.\d+)", text)
    return found.group(1) if found else "unknown"


def machine(folder: Path) -> Machine:
    info = Path("/proc/cpuinfo").read_text()
    model = re.search(r"model name\s*:\s*(.+)", info)
    pages = os.sysconf("SC_PHYS_PAGES") * os.sysconf("SC_PAGE_SIZE")
    return Machine(
        cpu=model.group(1) if model else platform.machine(),
        cores=len(os.sched_getaffinity(0)),
        memory_gb=round(pages / 1e9, 1),
        system=f"{platform.system()} {platform.release().split('-')[0]}",
        file_system=file_system(folder),
        python=platform.python_version(),
        sqlite=apsw.sqlite_lib_version(),
        wrk=wrk_version(),
        date=datetime.now(UTC).strftime("%Y-%m-%d"),
    )


def command() -> str:
    """The command line as one types it from the root of the repository."""
    name = Path(sys.argv[0]).stem
    return " ".join(["python", "-m", f"bench.{name}", *sys.argv[1:]])
