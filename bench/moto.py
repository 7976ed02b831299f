"""moto server, the mock of AWS from PyPI, as a server under test."""

from __future__ import annotations

import contextlib
import importlib.util
import sys
from pathlib import Path

from bench.machine import Unfit
from bench.server import Pace, Server, answering, free_port, process

# Every call goes through all messages of the queue under one interpreter lock: with 32 connections the first
# replies come after seconds, so a short run would see none, and a deep queue would never end.
PACE = Pace(warm_s=0, least_s=30, guess=2)


def moto(folder: Path) -> contextlib.AbstractContextManager[Server]:
    """Threaded, as its command line starts it."""
    if importlib.util.find_spec("moto") is None:
        raise Unfit("moto is missing: pip install 'moto[server]'")
    port = free_port()
    argv = [str(Path(sys.executable).parent / "moto_server"), "-H", "127.0.0.1", "-p", str(port)]
    return process("moto", argv, folder / "moto", answering(f"http://127.0.0.1:{port}"), PACE)
