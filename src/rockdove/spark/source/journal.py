"""A durable journal of messages that were taken from a queue: what makes a queue that forgets replayable.

A folder with one Arrow file for each sequence, and a database of the ids of messages that were ever taken. Files are
there whole or not at all, and are never changed. Format 1; a journal of another format is refused: let the query that
wrote it end, and begin a new one.
"""

import os
import sqlite3
import uuid
from collections.abc import Iterable, Iterator, Sequence
from contextlib import suppress
from pathlib import Path
from typing import Final, NamedTuple

import pyarrow as pa

from rockdove.core.errors import RockdoveError
from rockdove.spark.source.option import JOURNAL

FORMAT: Final = 1
_SUFFIX: Final = ".arrow"
_TABLES: Final = """
CREATE TABLE journal (id TEXT NOT NULL, cut INTEGER NOT NULL) STRICT;
CREATE TABLE seen (id TEXT PRIMARY KEY, until INTEGER NOT NULL) STRICT, WITHOUT ROWID;
CREATE INDEX seen_until ON seen (until);
"""
# Rows of a record batch, the smallest part that a task reads.
_ROWS: Final = 1_000
# Parameters in one statement.
_AT_ONCE: Final = 500


class JournalError(RockdoveError):
    """The journal cannot be used; the message tells why."""


class Segment(NamedTuple):
    """Some record batches of one file."""

    path: str
    begin: int
    end: int

    def read(self) -> Iterator[pa.RecordBatch]:
        """Raises `JournalError`."""
        with _file(Path(self.path)) as reader:
            for place in range(self.begin, self.end):
                yield reader.get_batch(place)


class Journal:
    """Open for one process at a time: a second one waits, and then fails. Sequences count from 1."""

    def __init__(self, folder: Path, queue: str, wait_s: float = 60) -> None:
        """``wait_s`` is how long a query that was killed may need to notice. Of another queue it is refused."""
        self.folder = folder
        self._queue = queue
        try:
            folder.mkdir(parents=True, exist_ok=True)
            self._base = sqlite3.connect(folder / "seen.sqlite", timeout=wait_s, isolation_level=None)
        except (OSError, sqlite3.OperationalError) as error:
            raise JournalError(f"the option {JOURNAL}: {folder} cannot be a folder for it: {error}") from None
        try:
            self._open()
        except sqlite3.OperationalError as error:
            self._base.close()
            raise JournalError(f"{folder} cannot be opened ({error}): does another query use it?") from None
        except sqlite3.DatabaseError as error:
            self._base.close()
            raise JournalError(f"{folder} holds no journal, or a damaged one: {error}") from None
        except JournalError:
            self._base.close()
            raise
        self.last = max([self.cut, *self._sequences()])
        # What was written right before a crash may not be among the ids yet.
        for sequence in self._sequences():
            self._learn(self._path(sequence))

    def _open(self) -> None:
        run = self._base.execute
        # Never given back while the process lives; that keeps all others out.
        run("PRAGMA locking_mode = EXCLUSIVE")
        run("PRAGMA synchronous = FULL")
        run("BEGIN EXCLUSIVE")
        (version,) = run("PRAGMA user_version").fetchone()
        if version == 0:
            for statement in filter(str.strip, _TABLES.split(";")):
                run(statement)
            run("INSERT INTO journal VALUES (?, 0)", (uuid.uuid4().hex,))
            run(f"PRAGMA user_version = {FORMAT}")
        elif version != FORMAT:
            raise JournalError(f"{self.folder} has format {version}, and this version of Rockdove knows {FORMAT}")
        self._check_queue()
        run("COMMIT")
        found = run("SELECT id, cut FROM journal").fetchone()
        self.id: str = found[0]
        self.cut: int = found[1]

    def _check_queue(self) -> None:
        """Journals that began before they had the name of their queue get it now."""
        run = self._base.execute
        run("CREATE TABLE IF NOT EXISTS origin (queue TEXT NOT NULL) STRICT")
        found = run("SELECT queue FROM origin").fetchone()
        if found is None:
            run("INSERT INTO origin VALUES (?)", (self._queue,))
        elif found[0] != self._queue:
            raise JournalError(
                f"{self.folder} is the journal of the queue {found[0]}, not of {self._queue}: name another folder"
            )

    def close(self) -> None:
        self._base.close()

    def unseen(self, ids: Sequence[str]) -> set[str]:
        """Those that were never taken."""
        known: set[str] = set()
        for begin in range(0, len(ids), _AT_ONCE):
            part = ids[begin : begin + _AT_ONCE]
            marks = ", ".join("?" * len(part))
            known.update(each for (each,) in self._base.execute(f"SELECT id FROM seen WHERE id IN ({marks})", part))
        return set(ids) - known

    def append(self, rows: pa.RecordBatch, keep_until: Iterable[int]) -> int:
        """When this returns, the rows are on disk, and their ids known until those times. Gives the sequence."""
        sequence: int = self.last + 1
        path, draft = self._path(sequence), self.folder / f"{sequence}.draft"
        with draft.open("wb") as file:
            untils = pa.array(keep_until, pa.int64())
            table = pa.Table.from_batches([rows]).append_column(_UNTIL, untils)
            with pa.ipc.new_file(file, table.schema) as writer:
                writer.write_table(table, max_chunksize=_ROWS)
            file.flush()
            os.fsync(file.fileno())
        draft.rename(path)
        _sync_folder(self.folder)
        self.last = sequence
        self._learn(path)
        return sequence

    def _learn(self, path: Path) -> None:
        with _file(path) as reader:
            table = reader.read_all()
        pairs = zip(table["message_id"].to_pylist(), table[_UNTIL].to_pylist(), strict=True)
        self._base.execute("BEGIN")
        self._base.executemany("INSERT OR IGNORE INTO seen VALUES (?, ?)", pairs)
        self._base.execute("COMMIT")

    def segments(self, begin: int, end: int, number: int) -> list[Segment]:
        """All of the sequences after ``begin`` up to ``end``, in about so many parts. Raises `JournalError`."""
        found: list[Segment] = []
        for sequence in range(begin + 1, end + 1):
            path = self._path(sequence)
            with _file(path) as reader:
                batches = reader.num_record_batches
            size = max(1, -(-batches // number))
            found += [Segment(str(path), at, min(at + size, batches)) for at in range(0, batches, size)]
        return found

    def truncate(self, through: int, now: int) -> None:
        """Forget the rows up to a sequence, and the ids whose time is over."""
        if through > self.cut:
            self._base.execute("UPDATE journal SET cut = ?", (through,))
            self._base.execute("DELETE FROM seen WHERE until < ?", (now,))
            self.cut = through
        for sequence in self._sequences():
            if sequence <= through:
                with suppress(FileNotFoundError):
                    self._path(sequence).unlink()

    def _sequences(self) -> list[int]:
        return [int(path.stem) for path in self.folder.glob(f"*{_SUFFIX}") if path.stem.isdecimal()]

    def _path(self, sequence: int) -> Path:
        return self.folder / f"{sequence:012}{_SUFFIX}"


# The column after those of messages.
_UNTIL: Final = "keep_until"


def _file(path: Path) -> pa.ipc.RecordBatchFileReader:
    try:
        return pa.ipc.open_file(pa.memory_map(str(path)))
    except FileNotFoundError:
        raise JournalError(
            f"{path} is not there: the journal and the checkpoint must be kept together, where all machines reach them"
        ) from None
    except pa.ArrowInvalid as error:
        raise JournalError(f"{path} is damaged: {error}") from None


def _sync_folder(folder: Path) -> None:
    descriptor = os.open(folder, os.O_RDONLY)
    try:
        os.fsync(descriptor)
    finally:
        os.close(descriptor)
