"""The folder of a watch: its lock, its tables, and how a batch becomes visible, all or nothing.

A batch writes its files under names that begin with a dot, and then replaces ``progress.json``, which names them: from
there on it is done. Giving the files their names comes after, and is done again at the next start if it was cut short.
"""

import fcntl
import os
import shutil
import uuid
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import TYPE_CHECKING, Final, Self

from rockdove.core.errors import RockdoveError
from rockdove.spark.watch.progress import Progress, decode, encode

if TYPE_CHECKING:
    import pyarrow as pa

# What readers look at.
METRICS: Final = "metrics"
OPEN: Final = "open.parquet"
PROGRESS: Final = "progress.json"
# Spark's part, and events and messages that are kept.
CHECKPOINT: Final = "checkpoint"
STATE: Final = "state"


class FolderRefused(RockdoveError):
    """This folder cannot be used, or not now; the message says what to do."""


class Folder:
    """`held` gives one; nobody else has it as long."""

    def __init__(self, path: Path, progress: Progress) -> None:
        self.path = path
        self.progress = progress

    @property
    def checkpoint(self) -> Path:
        return self.path / CHECKPOINT

    @property
    def state(self) -> Path:
        return self.path / STATE

    @classmethod
    @contextmanager
    def held(cls, path: Path, trace: str, window_us: int) -> Iterator[Self]:
        """Raises `FolderRefused`."""
        path.mkdir(parents=True, exist_ok=True)
        with _locked(path):
            folder = cls(path, _resumed(path, trace, window_us))
            if folder.progress.batch < 0:
                folder._replace(PROGRESS, encode(folder.progress))
            (path / METRICS).mkdir(exist_ok=True)
            folder.state.mkdir(exist_ok=True)
            folder.publish()
            yield folder

    def fresh(self, kind: str) -> Path:
        """A name in the state that nobody has used: what a batch that was cut short has left is never taken up."""
        return self.state / f"{kind}-{uuid.uuid4().hex}"

    def stage(self, table: "pa.Table", name: str) -> tuple[str, str]:
        """Write a table under a hidden name; gives that and `name`, for `Progress.publish`."""
        import pyarrow.parquet as pq

        target = self.path / name
        hidden = target.with_name(f".{target.name}-{uuid.uuid4().hex}")
        with hidden.open("xb") as file:
            pq.write_table(table, file, compression="zstd")
            file.flush()
            os.fsync(file.fileno())
        return str(hidden.relative_to(self.path)), name

    def commit(self, progress: Progress) -> None:
        """From here on the batch is done."""
        _sync(self.path / METRICS)
        self._replace(PROGRESS, encode(progress))
        self.progress = progress
        self.publish()

    def publish(self) -> None:
        """Give files their names, and remove what is no longer needed."""
        for hidden, name in self.progress.publish.items():
            if (self.path / hidden).exists():
                os.replace(self.path / hidden, self.path / name)
        _sync(self.path / METRICS)
        _sync(self.path)
        self._tidy()

    def _tidy(self) -> None:
        used = {self.progress.retained, *(piece.name for piece in self.progress.pieces)}
        for path in self.state.iterdir():
            if path.name not in used:
                shutil.rmtree(path, ignore_errors=True)
        for folder in (self.path, self.path / METRICS):
            for path in folder.glob(".*.parquet-*"):
                path.unlink(missing_ok=True)

    def _replace(self, name: str, text: bytes) -> None:
        hidden = self.path / f".{name}"
        with hidden.open("wb") as file:
            file.write(text)
            file.flush()
            os.fsync(file.fileno())
        os.replace(hidden, self.path / name)
        _sync(self.path)


@contextmanager
def _locked(path: Path) -> Iterator[None]:
    with (path / ".lock").open("wb") as file:
        try:
            fcntl.flock(file, fcntl.LOCK_EX | fcntl.LOCK_NB)
        except BlockingIOError:
            raise FolderRefused(f"another watch is writing to {path}; stop it, or give another --out") from None
        yield


def _resumed(path: Path, trace: str, window_us: int) -> Progress:
    try:
        found = decode((path / PROGRESS).read_bytes())
    except FileNotFoundError:
        if taken := [name for name in (METRICS, CHECKPOINT, STATE) if (path / name).exists()]:
            raise FolderRefused(
                f"{path} has {taken[0]}, but no {PROGRESS}: this is not the folder of a watch; give another --out"
            ) from None
        return Progress(trace=trace, window_us=window_us)
    except ValueError as error:
        raise FolderRefused(
            f"{path / PROGRESS} is not what this version of Rockdove writes ({error}); give another --out"
        ) from None
    if found.window_us != window_us:
        raise FolderRefused(
            f"{path} has windows of {found.window_us / 1e6:g}s, not of {window_us / 1e6:g}s; "
            f"give --window {found.window_us / 1e6:g}s, or another --out"
        )
    if found.trace != trace:
        raise FolderRefused(f"{path} has the figures of {found.trace}, not of {trace}; give another --out")
    return found


def _sync(folder: Path) -> None:
    """Make sure that the names in a folder survive a crash of the machine."""
    file = os.open(folder, os.O_RDONLY | os.O_DIRECTORY | os.O_CLOEXEC)
    try:
        os.fsync(file)
    finally:
        os.close(file)
