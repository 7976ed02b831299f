"""What a figure was measured on: without it a figure means nothing."""

import os
import platform
import re
from datetime import UTC, datetime
from pathlib import Path

from msgspec import Struct

_CPUS = Path("/proc/cpuinfo")


class Machine(Struct, frozen=True):
    """The machine that the workload runs on; that of the service may be another."""

    cpu: str
    cores: int
    memory_gb: float
    system: str
    python: str
    date: str


def this_machine() -> Machine:
    model = re.search(r"model name\s*:\s*(.+)", _CPUS.read_text()) if _CPUS.is_file() else None
    pages = os.sysconf("SC_PHYS_PAGES") * os.sysconf("SC_PAGE_SIZE")
    return Machine(
        cpu=model.group(1) if model else platform.machine(),
        cores=len(os.sched_getaffinity(0)),
        memory_gb=round(pages / 1e9, 1),
        system=f"{platform.system()} {platform.release().split('-')[0]}",
        python=platform.python_version(),
        date=datetime.now(UTC).strftime("%Y-%m-%d"),
    )
