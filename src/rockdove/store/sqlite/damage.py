"""Whether the log beside a database is whole: SQLite takes what it cannot read of one for never written.

After a kill the log has what was written last. SQLite reads it up to the first frame whose sum is wrong, which is where
a power cut may have left it, and says nothing of what follows.
"""

import os
import shutil
import struct
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import BinaryIO

import apsw
from msgspec import Struct

from rockdove.core.errors import DataFolderError
from rockdove.store.sqlite.folder import DATABASE, LOG

# What SQLite shares between processes: among other things, how far the log goes. It is never synced.
_INDEX = f"{DATABASE}-shm"
# SQLite's own format. Magic, version, page size, a number, two salts, two sums; the last bit of the magic is whether
# sums go over big-endian words.
_HEADER = struct.Struct(">8I")
_MAGIC = 0x377F0682
_SUMMED_BYTES = 24
_SALTS = slice(16, 24)
# Before each page: its number, the size of the database if this ends a transaction, the salts, the sums so far.
_FRAME = struct.Struct(">II8sII")
_FRAME_SUMMED_BYTES = 8
# The index begins with this, twice: version, unused, changes, whether it is valid, the order of bytes, page size,
# frames of the log, pages, sums, the log's salts, sums.
_STATE = struct.Struct("=IIIBBHIIII8sII")
_VERSION = 3_007_000
_MASK = 0xFFFFFFFF
_PIECE_BYTES = 1024 * 1024
_MOST_PAGE_BYTES = 65_536


class _Log(Struct, frozen=True):
    """What its header says; ``big`` is the order of bytes in what is summed."""

    page_bytes: int
    salts: bytes
    big: bool


def log_damage(folder: Path) -> str | None:
    """What is wrong with the log, None if nothing is; nobody may have the folder open. Changes nothing."""
    try:
        with (folder / LOG).open("rb") as file:
            return _damage(folder, file)
    except OSError:
        # Whether it should be there is for others to say, and so is what cannot be opened.
        return None


def _damage(folder: Path, file: BinaryIO) -> str | None:
    header = file.read(_HEADER.size)
    if len(header) < _HEADER.size:
        return None
    log = _read(header)
    if log is None:
        # It is synced before anything follows it: zeros, and nothing else, are what a power cut leaves of a new one.
        begun = any(header) or any(piece.strip(b"\0") for piece in iter(lambda: file.read(_PIECE_BYTES), b""))
        return "its first bytes are not those of a log, so that nothing of it can be read" if begun else None
    written, readable = _written(folder, log), _readable(folder)
    if readable is None:
        return None
    if written > readable:
        return f"{written:,} pages were written and synced, of which the first {readable:,} can be read"
    if _goes_on(file, log, readable):
        return f"its first {readable:,} pages can be read, and several changes that were synced follow them"
    return None


def _read(header: bytes) -> _Log | None:
    magic, _, page_bytes, _, _, _, *sums = _HEADER.unpack(header)
    big = bool(magic & 1)
    if magic & ~1 != _MAGIC or _sums(header[:_SUMMED_BYTES], big, 0, 0) != tuple(sums):
        return None
    return _Log(page_bytes, header[_SALTS], big)


def _written(folder: Path, log: _Log) -> int:
    """How many frames of this log SQLite had synced: it says so in the index afterwards, and never before."""
    salts, frames = _state(_index(folder))
    return frames if salts == log.salts else 0


def _readable(folder: Path) -> int | None:
    """How many frames SQLite reads; None if it cannot even open the database."""
    if not _can_index(folder):
        with _copied(folder) as copy:
            return _readable(copy)
    try:
        with index_kept(folder):
            db = apsw.Connection(str((folder / DATABASE).absolute()), flags=apsw.SQLITE_OPEN_READONLY)
            try:
                db.pragma("user_version")
                return _state(_index(folder))[1]
            finally:
                db.close()
    except apsw.Error:
        return None


def can_read(folder: Path) -> bool:
    """Whether SQLite can read the log: it needs an index, be it one that it cannot write."""
    return (folder / _INDEX).exists() or os.access(folder, os.W_OK)


def _can_index(folder: Path) -> bool:
    """Whether SQLite can write the index. Else it makes one in memory, and the file tells nothing of what it reads."""
    index = folder / _INDEX
    return os.access(index if index.exists() else folder, os.W_OK)


@contextmanager
def _copied(folder: Path) -> Iterator[Path]:
    """What SQLite needs to read the log, where it can write: the log, and the database's beginning and size."""
    try:
        with TemporaryDirectory(prefix="rockdove-") as name:
            copy = Path(name)
            shutil.copyfile(folder / LOG, copy / LOG)
            with (folder / DATABASE).open("rb") as database:
                (copy / DATABASE).write_bytes(database.read(_MOST_PAGE_BYTES))
            os.truncate(copy / DATABASE, (folder / DATABASE).stat().st_size)
            yield copy
    except OSError as error:
        raise DataFolderError(
            f"{folder} cannot be written, and its log cannot be copied to be read: {error.strerror}; set TMPDIR to a "
            "folder that has room for it"
        ) from None


@contextmanager
def index_kept(folder: Path) -> Iterator[None]:
    """The index tells how much was synced. SQLite makes it anew when it opens the file, and then it tells how much can
    be read: where that is less, the old one is put back, for the next who looks. SQLite itself does not mind.
    """
    before = _index(folder)
    try:
        yield
    finally:
        if _state(before)[1] > _state(_index(folder))[1]:
            with suppress(OSError):
                (folder / _INDEX).write_bytes(before)


def _index(folder: Path) -> bytes:
    """None that can be read is as good as one that says nothing."""
    try:
        return (folder / _INDEX).read_bytes()
    except OSError:
        return b""


def _state(index: bytes) -> tuple[bytes, int]:
    """The salts of the log that an index is for, and how many frames it has."""
    first, second = index[: _STATE.size], index[_STATE.size : 2 * _STATE.size]
    if first != second or len(second) < _STATE.size:
        return b"", 0
    version, _, _, valid, _, _, frames, _, _, _, salts, _, _ = _STATE.unpack(first)
    return (salts, frames) if valid and version == _VERSION else (b"", 0)


def _goes_on(file: BinaryIO, log: _Log, readable: int) -> bool:
    """Whether two changes follow each other behind the end, each sum made from the one before.

    A power cut leaves at most one, the last, that was not synced yet; and of several whose sync failed, each begins at
    the same place, so that none follows another.
    """
    size = _FRAME.size + log.page_bytes
    file.seek(_HEADER.size + readable * size)
    last, ends = (0, 0), 0
    while len(frame := file.read(size)) == size:
        _, database_pages, salts, *sums = _FRAME.unpack_from(frame)
        if salts != log.salts:
            continue
        summed = frame[:_FRAME_SUMMED_BYTES] + frame[_FRAME.size :]
        if _sums(summed, log.big, *last) != tuple(sums):
            ends = 0
        ends += database_pages > 0
        if ends > 1:
            return True
        last = (sums[0], sums[1])
    return False


def _sums(data: bytes, big: bool, first: int, second: int) -> tuple[int, int]:
    """SQLite's sums over data, which go on from others."""
    words = struct.unpack(f"{'>' if big else '<'}{len(data) // 4}I", data)
    for even, odd in zip(words[::2], words[1::2], strict=True):
        first = (first + even + second) & _MASK
        second = (second + odd + first) & _MASK
    return first, second
