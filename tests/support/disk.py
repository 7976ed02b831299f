"""A disk that forgets what was not synced, and fails when told to: a layer between SQLite and the file system.

While a `Disk` is in use, every SQLite file under its folder goes through it. It keeps two images of each: the real file
has everything that was written, the durable image only what a sync has confirmed.
"""

import os
import random
import threading
from collections.abc import Callable
from dataclasses import dataclass, field
from pathlib import Path
from types import TracebackType
from typing import Any, Self

import apsw

SECTOR_BYTES = 512
# A write: its place and its bytes. A cut: the new size, and None.
Operation = tuple[int, bytes | None]
# Is told "read", "write", "truncate" or "sync", and the file's name; raises what is to go wrong.
Fault = Callable[[str, str], None]


def io_error(extended: int = apsw.SQLITE_IOERR_FSYNC) -> apsw.IOError:
    error = apsw.IOError("injected")
    # Where SQLite looks for what kind of error it is.
    vars(error)["extendedresult"] = extended
    return error


@dataclass
class Image:
    """One file as it would be after a power cut, and what was written since."""

    durable: bytearray
    pending: list[Operation] = field(default_factory=list)

    def sync(self) -> None:
        for operation in self.pending:
            apply(self.durable, operation)
        self.pending = []

    def fail_to_sync(self, rng: random.Random) -> None:
        """What a kernel does: it takes what it could not write for written, and does not try again."""
        if rng.random() < 0.5:
            self.durable = bytearray(self.after_cut(rng))
        self.pending = []

    def after_cut(self, rng: random.Random) -> bytes:
        """What is left: of what was not synced nothing, all, a beginning, or any sectors in any order."""
        left = bytearray(self.durable)
        kind = rng.choice(["none", "all", "beginning", "sectors"])
        if kind == "all":
            kept = self.pending
        elif kind == "beginning":
            kept = self.pending[: rng.randint(0, len(self.pending))]
        elif kind == "sectors":
            kept = [sector for operation in self.pending for sector in sectors(operation) if rng.random() < 0.5]
        else:
            kept = []
        for operation in kept:
            apply(left, operation)
        return bytes(left)


def apply(content: bytearray, operation: Operation) -> None:
    at, data = operation
    if data is None:
        del content[at:]
        return
    if len(content) < at:
        content.extend(bytes(at - len(content)))
    content[at : at + len(data)] = data


def sectors(operation: Operation) -> list[Operation]:
    at, data = operation
    if data is None:
        return [operation]
    parts: list[Operation] = []
    start = 0
    while start < len(data):
        end = min(start + SECTOR_BYTES - (at + start) % SECTOR_BYTES, len(data))
        parts.append((at + start, data[start:end]))
        start = end
    return parts


class Disk(apsw.VFS):
    """SQLite's default file system inside ``with``. `step` is called before every write and sync, in its thread."""

    def __init__(self, folder: Path, rng: random.Random) -> None:
        self.folder = str(folder)
        self.rng = rng
        self.images: dict[str, Image] = {}
        self.lock = threading.RLock()
        self.step: Callable[[], None] = lambda: None
        self.fault: Fault = lambda operation, name: None
        super().__init__("test-disk", "unix", makedefault=True)

    def __enter__(self) -> Self:
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self.unregister()

    def xOpen(self, name: Any, flags: Any) -> Any:  # noqa: N802
        path = name.filename() if isinstance(name, apsw.URIFilename) else name
        if path is None or not path.startswith(self.folder + os.sep):
            return apsw.VFSFile("unix", name, flags)
        with self.lock:
            if path not in self.images:
                there = Path(path).read_bytes() if os.path.exists(path) else b""
                self.images[path] = Image(bytearray(there))
        return _File(self, path, name, flags)

    def xDelete(self, filename: str, syncdir: bool) -> None:  # noqa: N802
        with self.lock:
            self.images.pop(filename, None)
            super().xDelete(filename, syncdir)

    def cut(self, target: Path) -> None:
        """Write down what a power cut at this moment would leave."""
        target.mkdir()
        with self.lock:
            for path, image in self.images.items():
                (target / os.path.basename(path)).write_bytes(image.after_cut(self.rng))


class _File(apsw.VFSFile):
    def __init__(self, disk: Disk, path: str, name: Any, flags: Any) -> None:
        self._disk = disk
        self._path = path
        self._name = os.path.basename(path)
        super().__init__("unix", name, flags)

    def xRead(self, amount: int, offset: int) -> bytes:  # noqa: N802
        self._disk.fault("read", self._name)
        return super().xRead(amount, offset)

    def xWrite(self, data: Any, offset: int) -> None:  # noqa: N802
        with self._disk.lock:
            self._disk.step()
            self._disk.fault("write", self._name)
            super().xWrite(data, offset)
            self._disk.images[self._path].pending.append((offset, bytes(data)))

    def xTruncate(self, newsize: int) -> None:  # noqa: N802
        with self._disk.lock:
            self._disk.step()
            self._disk.fault("truncate", self._name)
            super().xTruncate(newsize)
            self._disk.images[self._path].pending.append((newsize, None))

    def xSync(self, flags: int) -> None:  # noqa: N802
        # The real file is not synced: this is the disk.
        with self._disk.lock:
            self._disk.step()
            image = self._disk.images[self._path]
            try:
                self._disk.fault("sync", self._name)
            except BaseException:
                image.fail_to_sync(self._disk.rng)
                raise
            image.sync()
