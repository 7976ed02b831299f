"""The data folder: one process at a time, one file, one format version."""

import contextlib
import errno
import fcntl
import os
import secrets
import threading
from importlib.resources import files
from pathlib import Path

import apsw

from rockdove.core.errors import DataFolderError, FolderFull
from rockdove.store.common.keyfile import KEY_FILE

DATABASE = "rockdove.db"
# What SQLite writes first, beside the database, and copies back later.
LOG = f"{DATABASE}-wal"
LOCK = "lock"
# Stands in the lock file after the holder's process id while there is a log.
OPEN = "open"
# What schema.sql beside this file says.
FORMAT = 6
# "Rdov": tells our files from other people's.
APPLICATION_ID = 0x52646F76
PAGE_BYTES = 8192
# What is said of a database of some commit between two releases.
UNRELEASED = "has a format that was never released"
CACHE_KIB = 48 * 1024
# What SQLite's index of the log takes at least.
_INDEX_BYTES = 32 * 1024
# What turns the previous format into each. A step stays as it is once it was released, whatever comes after it.
_STEPS = {
    2: "CREATE TABLE account (id TEXT PRIMARY KEY, record TEXT) WITHOUT ROWID",
    3: """
CREATE TABLE lease (
  queue TEXT NOT NULL, consumer TEXT NOT NULL, shard INTEGER NOT NULL, sequence INTEGER NOT NULL,
  made_us INTEGER NOT NULL, number INTEGER NOT NULL, ids TEXT NOT NULL, UNIQUE (queue, consumer, shard, sequence)
);
CREATE TABLE consumer (
  queue TEXT, name TEXT, shard INTEGER, ended INTEGER NOT NULL, seen_us INTEGER NOT NULL,
  PRIMARY KEY (queue, name, shard)
) WITHOUT ROWID;
CREATE TABLE stage (
  queue TEXT NOT NULL, application TEXT NOT NULL, batch INTEGER NOT NULL, partition INTEGER NOT NULL,
  attempt TEXT NOT NULL, chunk INTEGER NOT NULL, at_us INTEGER NOT NULL, number INTEGER NOT NULL,
  bytes INTEGER NOT NULL, parcels TEXT NOT NULL, UNIQUE (queue, application, batch, partition, attempt, chunk)
);
CREATE INDEX stage_at ON stage (at_us);
CREATE TABLE published (
  queue TEXT, application TEXT, batch INTEGER, partition INTEGER, attempt TEXT NOT NULL, number INTEGER NOT NULL,
  PRIMARY KEY (queue, application, batch, partition)
) WITHOUT ROWID;
""",
    4: """
CREATE TABLE application (
  queue TEXT, name TEXT, forgotten INTEGER NOT NULL, seen_us INTEGER NOT NULL, PRIMARY KEY (queue, name)
) WITHOUT ROWID;
CREATE INDEX application_at ON application (seen_us);
INSERT INTO application
SELECT queue, application, max(batch) - 100, unixepoch() * 1000000 FROM published GROUP BY queue, application;
""",
    5: """
CREATE TABLE landing (
  queue TEXT, application TEXT, batch INTEGER, turn INTEGER, attempt TEXT NOT NULL, at_us INTEGER NOT NULL,
  place INTEGER NOT NULL, PRIMARY KEY (queue, application, batch, turn)
) WITHOUT ROWID;
""",
    6: "CREATE TABLE topic (id TEXT PRIMARY KEY, record TEXT NOT NULL) WITHOUT ROWID",
}


class FolderInUse(DataFolderError):
    """Another process holds the data folder."""

    def __init__(self, path: Path, holder: str) -> None:
        self.path = path
        self.holder = holder
        super().__init__(
            f"the data folder {path} is in use by process {holder}; stop it, or choose another with --data"
        )


class Folder:
    """A data folder, held against other processes from `take` to `release`."""

    def __init__(self, path: Path) -> None:
        self.path = path
        self._lock: int | None = None
        # The process to stop for who wants the folder.
        self.holder = os.getpid()
        self._ending = False
        # The writer's thread calls `mark`, perhaps at the same time as another thread calls `unmark`.
        self._saying = threading.Lock()

    @property
    def database(self) -> Path:
        return self.path / DATABASE

    @property
    def log(self) -> Path:
        return self.path / LOG

    def take(self) -> None:
        check_name(self.path)
        new = [path for path in (self.path.absolute(), *self.path.absolute().parents) if not path.exists()]
        try:
            self.path.mkdir(parents=True, exist_ok=True, mode=0o700)
            for path in new:
                _sync_folder(path.parent)
            lock = os.open(self.path / LOCK, os.O_RDWR | os.O_CREAT | os.O_CLOEXEC, 0o600)
        except OSError as error:
            raise DataFolderError(
                f"cannot use the data folder {self.path}: {error.strerror}; choose another with --data"
            ) from None
        try:
            fcntl.flock(lock, fcntl.LOCK_EX | fcntl.LOCK_NB)
        except BlockingIOError:
            holder = _said_by(lock).partition(" ")[0] or "unknown"
            os.close(lock)
            raise FolderInUse(self.path, holder) from None
        if _said_by(lock).endswith(OPEN) and self.database.exists() and not self.log.exists():
            os.close(lock)
            raise DataFolderError(
                f"{self.log} is missing: the service that used this folder was killed, and that file had what it wrote "
                f"last; put it back, or, if it is lost, remove {self.path / LOCK} to go on with what is left"
            )
        self._lock = lock
        self._say(f"{self.holder}\n")

    def _say(self, text: str) -> None:
        """On a full disk, only if there happens to be room."""
        assert self._lock is not None
        with contextlib.suppress(OSError):
            os.ftruncate(self._lock, 0)
            os.pwrite(self._lock, text.encode(), 0)

    def mark(self) -> None:
        """From now on until `unmark` there is a log beside the database, and without it the database is not whole."""
        with self._saying:
            if self._lock is not None and not self._ending and self.log.exists():
                self._say(f"{self.holder} {OPEN}\n")

    def unmark(self) -> None:
        """On disk before the log goes, lest it be missed after a power cut."""
        with self._saying:
            self._ending = True
            if self._lock is not None:
                self._say(f"{self.holder}\n")
                with contextlib.suppress(OSError):
                    os.fsync(self._lock)

    def release(self) -> None:
        if self._lock is not None:
            os.close(self._lock)
            self._lock = None

    def connect(self) -> apsw.Connection:
        """Open the database, create it if it is new, and refuse what this program cannot read."""
        try:
            if not self.database.exists():
                self._check_new()
                self._create()
            db = apsw.Connection(str(self.database), flags=apsw.SQLITE_OPEN_READWRITE)
            db.set_busy_timeout(5000)
            try:
                self._prepare(db)
            except BaseException:
                # It is left as it is: the log, too, which `mark` tells of.
                db.config(apsw.SQLITE_DBCONFIG_NO_CKPT_ON_CLOSE, 1)
                db.close()
                raise
        except apsw.NotADBError:
            raise DataFolderError(
                f"{self.database} is not a Rockdove database; move it away, or choose another folder with --data"
            ) from None
        except OSError as error:
            if error.errno in (errno.ENOSPC, errno.EDQUOT):
                raise self._full() from None
            raise DataFolderError(
                f"cannot open {self.database}: {error.strerror}; choose another folder with --data"
            ) from None
        except apsw.FullError:
            raise self._full() from None
        except (apsw.CorruptError, apsw.SQLError) as error:
            # The statements are ours: what cannot carry them out is not the file that we wrote.
            raise damaged(self.path, str(error)) from None
        except (apsw.CantOpenError, apsw.IOError, apsw.ReadOnlyError) as error:
            if not self._has_room():
                raise self._full() from None
            raise DataFolderError(
                f"cannot open {self.database}: {error}; see that the disk works and the file can be written, "
                "or choose another folder with --data"
            ) from None
        return db

    def _full(self) -> FolderFull:
        return FolderFull(f"there is no room on the disk of {self.path}; make some, or choose another with --data")

    def _has_room(self) -> bool:
        disk = os.statvfs(self.path)
        return disk.f_bavail * disk.f_frsize >= _INDEX_BYTES

    def _prepare(self, db: apsw.Connection) -> None:
        version = db.pragma("user_version")
        if db.pragma("application_id") != APPLICATION_ID or version < 1:
            raise DataFolderError(
                f"{self.database} holds other tables than Rockdove's, or none; move it away, or choose another folder "
                "with --data"
            )
        if version > FORMAT:
            raise DataFolderError(
                f"{self.database} has format {version}, this Rockdove reads {FORMAT}; "
                "use a newer Rockdove, or choose another folder with --data"
            )
        lacks = lacking(db)
        if lacks is not None:
            raise DataFolderError(
                f"{self.database} {UNRELEASED}: {lacks}; empty its queues with the Rockdove that wrote it, or choose "
                "another folder with --data"
            )
        db.pragma("journal_mode", "wal")
        db.pragma("synchronous", "full")
        db.pragma("cache_size", -CACHE_KIB)
        db.pragma("temp_store", "memory")
        if version < FORMAT:
            self._upgrade(db, version)

    def _check_new(self) -> None:
        """A service that is new has no accounts, and takes requests from anybody."""
        key = self.path / KEY_FILE
        if key.exists():
            raise DataFolderError(
                f"{self.database} is missing, but there were accounts: {key} is there; put the database back from a "
                "backup, or, to begin anew without accounts, move the key file away"
            )

    def _create(self) -> None:
        """Under another name first: a database that is there is whole, and an empty one is no new one."""
        new = self.path / f"{DATABASE}.new"
        for left in (new, self.path / f"{new.name}-journal"):
            left.unlink(missing_ok=True)
        # The log beside it gets the same mode.
        os.close(os.open(new, os.O_RDWR | os.O_CREAT | os.O_CLOEXEC, 0o600))
        db = apsw.Connection(str(new))
        try:
            db.pragma("page_size", PAGE_BYTES)
            db.pragma("synchronous", "full")
            with db:
                db.execute(_schema())
                db.execute("INSERT INTO meta VALUES ('secret', ?)", (secrets.token_bytes(32),))
                db.pragma("application_id", APPLICATION_ID)
                db.pragma("user_version", FORMAT)
        finally:
            db.close()
        os.rename(new, self.database)
        _sync_folder(self.path)

    def _upgrade(self, db: apsw.Connection, version: int) -> None:
        """To this program's format, in one transaction: a crash leaves the old format or the new one."""
        with db:
            for step in range(version + 1, FORMAT + 1):
                db.execute(_STEPS[step])
            db.pragma("user_version", FORMAT)


def _schema() -> str:
    return (files("rockdove.store.sqlite") / "schema.sql").read_text()


def lacking(db: apsw.Connection) -> str | None:
    """What tables lack of their columns: those of formats that were released have them all. None: nothing."""
    pattern = apsw.Connection(":memory:")
    try:
        pattern.execute(_schema())
        for (table,) in pattern.execute("SELECT name FROM sqlite_schema WHERE type = 'table'").fetchall():
            there = _columns(db, str(table))
            missing = [name for name in _columns(pattern, str(table)) if name not in there]
            if there and missing:
                return f"table {table} has no column {missing[0]}"
    finally:
        pattern.close()
    return None


def _columns(db: apsw.Connection, table: str) -> list[str]:
    """In their order; none of a table that is not there."""
    return [str(name) for (name,) in db.execute("SELECT name FROM pragma_table_info(?)", (table,))]


def check_name(path: Path) -> None:
    """Refuse a folder that SQLite could not be told of."""
    try:
        str(path.absolute()).encode()
    except UnicodeEncodeError:
        raise DataFolderError(f"the name of the folder {path.absolute()} is not UTF-8; give it another") from None


def damaged(path: Path, what: str, file: str = DATABASE) -> DataFolderError:
    """What to say of a damaged database, or of the log beside it, whoever finds it."""
    return DataFolderError(
        f'{path / file} is damaged: {" ".join(what.split())}; "rockdove check --data {path}" tells more; '
        "restore a backup into an empty folder and serve that"
    )


def _said_by(lock: int) -> str:
    return os.pread(lock, 64, 0).decode("ascii", "replace").strip()


def _sync_folder(path: Path) -> None:
    """A new file, or folder, survives a power cut only once the folder that it is in is on disk, too."""
    fd = os.open(path, os.O_RDONLY)
    try:
        os.fsync(fd)
    finally:
        os.close(fd)
