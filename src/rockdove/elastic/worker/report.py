"""What a worker has done so far, in a file that others read; while the worker lives, it holds a lock on it."""

import fcntl
import os
from pathlib import Path

import msgspec
from msgspec import Struct


class Report(Struct, kw_only=True):
    """``busy_s``: time spent on messages, by all that are worked on at a time together. ``physical``: of the queue."""

    pid: int
    physical: int | None
    started_s: float
    done: int = 0
    failed: int = 0
    busy_s: float = 0.0
    is_ready: bool = False
    is_draining: bool = False


class Taken(Exception):
    """Another worker has this file."""


class ReportFile:
    """Written over in place: a lock on it would not be one on its successor."""

    def __init__(self, path: Path) -> None:
        """Raises `Taken`, `OSError`."""
        path.parent.mkdir(parents=True, exist_ok=True)
        self._file = os.open(path, os.O_RDWR | os.O_CREAT, 0o600)
        try:
            fcntl.flock(self._file, fcntl.LOCK_EX | fcntl.LOCK_NB)
        except OSError:
            os.close(self._file)
            raise Taken(f"another worker has {path}") from None

    def write(self, report: Report) -> None:
        text = msgspec.json.encode(report)
        # Never shorter than before: who reads meanwhile finds a whole document.
        os.pwrite(self._file, text + b"\n", 0)
        os.ftruncate(self._file, len(text) + 1)

    def hand_on(self) -> None:
        """The program that this process becomes has the lock, too."""
        os.set_inheritable(self._file, True)

    def close(self) -> None:
        os.close(self._file)


def read(path: Path) -> tuple[Report | None, bool]:
    """What a file says, if anything, and whether its worker lives."""
    try:
        file = os.open(path, os.O_RDWR)
    except OSError:
        return None, False
    try:
        try:
            fcntl.flock(file, fcntl.LOCK_EX | fcntl.LOCK_NB)
            lives = False
        except OSError:
            lives = True
        text = os.pread(file, 1 << 16, 0)
    finally:
        os.close(file)
    try:
        return msgspec.json.decode(text.partition(b"\n")[0], type=Report), lives
    except msgspec.MsgspecError:
        return None, lives
