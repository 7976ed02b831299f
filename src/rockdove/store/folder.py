"""The data folder: one process at a time, one file, one format version."""

import contextlib
import errno
import fcntl
import os
import secrets
from importlib.resources import files
from pathlib import Path

import apsw

from rockdove.core.errors import DataFolderError, FolderFull

DATABASE = "rockdove.db"
LOCK = "lock"
# What store/sql/schema.sql says.
FORMAT = 2
# "Rdov": tells our files from other people's.
APPLICATION_ID = 0x52646F76
PAGE_BYTES = 8192
CACHE_KIB = 48 * 1024
# What SQLite's index of the log takes at least.
_INDEX_BYTES = 32 * 1024
# What turns the previous format into each. A step stays as it is once it was released, whatever comes after it.
_STEPS = {2: "CREATE TABLE account (id TEXT PRIMARY KEY, record TEXT) WITHOUT ROWID"}


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

    @property
    def database(self) -> Path:
        return self.path / DATABASE

    def take(self) -> None:
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
            holder = os.pread(lock, 32, 0).decode("ascii", "replace").strip() or "unknown"
            os.close(lock)
            raise FolderInUse(self.path, holder) from None
        # Who holds it is told on a full disk only if there happens to be room.
        with contextlib.suppress(OSError):
            os.ftruncate(lock, 0)
            os.pwrite(lock, f"{os.getpid()}\n".encode(), 0)
        self._lock = lock

    def release(self) -> None:
        if self._lock is not None:
            os.close(self._lock)
            self._lock = None

    def connect(self) -> apsw.Connection:
        """Open the database, create it if it is new, and refuse what this program cannot read."""
        try:
            # The log beside it gets the same mode.
            os.close(os.open(self.database, os.O_RDWR | os.O_CREAT | os.O_CLOEXEC, 0o600))
            db = apsw.Connection(str(self.database))
            db.set_busy_timeout(5000)
            self._prepare(db)
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
        except apsw.CorruptError as error:
            raise DataFolderError(
                f'{self.database} is damaged: {error}; "rockdove check --data {self.path}" tells more; '
                "restore a backup into an empty folder and serve that"
            ) from None
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
        if version == 0:
            if db.execute("SELECT count(*) FROM sqlite_schema").get:
                raise DataFolderError(
                    f"{self.database} holds other tables than Rockdove's; choose another folder with --data"
                )
            db.pragma("page_size", PAGE_BYTES)
        elif db.pragma("application_id") != APPLICATION_ID or version > FORMAT:
            raise DataFolderError(
                f"{self.database} has format {version}, this Rockdove reads {FORMAT}; "
                "use a newer Rockdove, or choose another folder with --data"
            )
        db.pragma("journal_mode", "wal")
        db.pragma("synchronous", "full")
        db.pragma("cache_size", -CACHE_KIB)
        db.pragma("temp_store", "memory")
        if version == 0:
            self._create(db)
        elif version < FORMAT:
            self._upgrade(db, version)

    def _create(self, db: apsw.Connection) -> None:
        schema = (files("rockdove.store") / "sql" / "schema.sql").read_text()
        with db:
            db.execute(schema)
            db.execute("INSERT INTO meta VALUES ('secret', ?)", (secrets.token_bytes(32),))
            db.pragma("application_id", APPLICATION_ID)
            db.pragma("user_version", FORMAT)
        _sync_folder(self.path)

    def _upgrade(self, db: apsw.Connection, version: int) -> None:
        """To this program's format, in one transaction: a crash leaves the old format or the new one."""
        with db:
            for step in range(version + 1, FORMAT + 1):
                db.execute(_STEPS[step])
            db.pragma("user_version", FORMAT)


def _sync_folder(path: Path) -> None:
    """A new file, or folder, survives a power cut only once the folder that it is in is on disk, too."""
    fd = os.open(path, os.O_RDONLY)
    try:
        os.fsync(fd)
    finally:
        os.close(fd)
