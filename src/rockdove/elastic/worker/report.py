"""What a worker has done so far, in a file that others read; while the worker lives, it holds a lock on it."""

import contextlib
import fcntl
import os
import signal
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
        # What is there is of one that has ended.
        os.ftruncate(self._file, 0)

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
    """What a file says, if anything, and whether it is held: by its worker, or by what that has forked."""
    try:
        file = os.open(path, os.O_RDWR)
    except OSError:
        return None, False
    try:
        try:
            fcntl.flock(file, fcntl.LOCK_EX | fcntl.LOCK_NB)
            is_held = False
        except OSError:
            is_held = True
        text = os.pread(file, 1 << 16, 0)
    finally:
        os.close(file)
    try:
        return msgspec.json.decode(text.partition(b"\n")[0], type=Report), is_held
    except msgspec.MsgspecError:
        return None, is_held


def written_s(path: Path) -> float:
    """When its worker last wrote it, in seconds since 1970; 0: there is none."""
    try:
        return path.stat().st_mtime
    except OSError:
        return 0.0


def words_of(pid: int) -> list[str]:
    """The command line of a process; none if nobody may know it."""
    try:
        return Path(f"/proc/{pid}/cmdline").read_text(errors="replace").rstrip("\0").split("\0")
    except OSError:
        return []


def lives(pid: int) -> bool:
    """Not if it has ended and nobody has asked for its exit code yet."""
    try:
        return Path(f"/proc/{pid}/stat").read_text(errors="replace").rpartition(")")[2].split()[0] != "Z"
    except (OSError, IndexError):
        return False


def end_group(leader: int) -> None:
    """End what a process has left that leads a group: its number is given to nobody while one of them is there."""
    with contextlib.suppress(ProcessLookupError, PermissionError):
        os.killpg(leader, signal.SIGKILL)
