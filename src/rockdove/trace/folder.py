"""The folder of a trace: where files go, what a crash has left in it, and which files are old."""

import contextlib
import fcntl
import os
from collections.abc import Iterator
from datetime import UTC, datetime
from operator import attrgetter
from pathlib import Path

from msgspec import Struct

from rockdove.core.clock import SECOND_US
from rockdove.trace.keep import Keep

HOUR_US = 3_600 * SECOND_US
SUFFIX = ".parquet"


class Stored(Struct, frozen=True):
    """A complete file."""

    path: Path
    modified_s: float
    bytes: int


def partition(folder: Path, hour: int) -> Path:
    """Where the events of an hour go; ``hour`` is counted from 1970."""
    start = datetime.fromtimestamp(hour * 3_600, UTC)
    return folder / f"date={start:%Y-%m-%d}" / f"hour={start:%H}"


def hidden(path: Path) -> Path:
    """What a file is called until it is complete: readers of Parquet folders pass over such names."""
    return path.with_name(f".{path.name}")


def lock(file: int) -> bool:
    """Mark an incomplete file as one that somebody writes; False: somebody else does."""
    try:
        fcntl.flock(file, fcntl.LOCK_EX | fcntl.LOCK_NB)
    except BlockingIOError:
        return False
    return True


def clean(folder: Path) -> int:
    """Remove incomplete files that nobody writes any more; how many."""
    return sum(_is_removed(path) for path in folder.glob(f"date=*/hour=*/.*{SUFFIX}"))


def _is_removed(path: Path) -> bool:
    with contextlib.suppress(OSError):
        file = os.open(path, os.O_RDONLY | os.O_CLOEXEC)
        try:
            if lock(file):
                path.unlink()
                return True
        finally:
            os.close(file)
    return False


def stored(folder: Path) -> Iterator[Stored]:
    """All complete files."""
    for path in folder.glob(f"date=*/hour=*/*{SUFFIX}"):
        if not path.name.startswith("."):
            # Somebody else may be tidying up, too.
            with contextlib.suppress(FileNotFoundError):
                status = path.stat()
                yield Stored(path, status.st_mtime, status.st_size)


def tidy(folder: Path, keep: Keep, now_us: int) -> int:
    """Remove the oldest files, as many as the rule says, and folders that are empty then; how many files."""
    files = sorted(stored(folder), key=attrgetter("modified_s", "path"))
    total, removed = sum(file.bytes for file in files), 0
    for file in files:
        too_old = keep.seconds is not None and file.modified_s * SECOND_US < now_us - keep.seconds * SECOND_US
        too_much = keep.bytes is not None and total > keep.bytes
        if not (too_old or too_much):
            break
        file.path.unlink(missing_ok=True)
        total -= file.bytes
        removed += 1
        with contextlib.suppress(OSError):
            file.path.parent.rmdir()
            file.path.parent.parent.rmdir()
    return removed


def sync(folder: Path) -> None:
    """Make sure that the names in a folder survive a crash of the machine."""
    file = os.open(folder, os.O_RDONLY | os.O_DIRECTORY | os.O_CLOEXEC)
    try:
        os.fsync(file)
    finally:
        os.close(file)
