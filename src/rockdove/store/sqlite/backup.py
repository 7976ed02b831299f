"""A consistent copy of a data folder, made by another process while the service writes to it.

SQLite's online backup copies pages inside one read transaction: the copy is what was committed when it began, and with
a write-ahead log a reader and the writer do not wait for each other. (VACUUM INTO would do, too, as quickly, and leave
out free pages; but it goes to disk in one go at the end, and the service's own fsyncs wait for that: with a gigabyte,
half a second for the slowest send instead of 0.1 to 0.2.) The copy grows in a folder of another name, which gets its
own only when all is on disk: a folder that is there is whole.
"""

import os
import shutil
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path

import apsw

from rockdove.core.errors import DataFolderError
from rockdove.store.common.keyfile import KEY_FILE
from rockdove.store.sqlite.folder import APPLICATION_ID, DATABASE, FORMAT, check_name

# Pages copied, and brought to disk, at a time.
_PAGES_AT_ONCE = 2048
_BUSY_MS = 10_000

Progress = Callable[[int, int], None]


class NothingThere(DataFolderError):
    """There is no data to copy."""


class NotEmpty(DataFolderError):
    """The destination is in use."""


def copy(source: Path, destination: Path, progress: Progress = lambda done, total: None) -> int:
    """Copy a data folder; how many bytes. ``progress`` is told the bytes copied so far, and all.

    Never takes the folder's lock and changes no data in it; SQLite's two files beside the database may appear. Raises
    `DataFolderError`.
    """
    database = source / DATABASE
    if not database.is_file():
        raise NothingThere(f"there is no {DATABASE} in {source}; name the folder that the service uses with --data")
    check_name(source)
    _check_destination(destination)
    if source.resolve() in destination.resolve().parents:
        raise NotEmpty(f"{destination} is in the data folder itself; name a new folder elsewhere")
    partial = destination.with_name(f".{destination.name}.partial-{os.getpid()}")
    try:
        partial.mkdir(mode=0o700, parents=True)
        with _reading(database) as db:
            _copy_pages(db, partial / DATABASE, progress)
        # After the database: an account that is in there had its key file before. (It never changes.)
        _copy_key(source / KEY_FILE, partial / KEY_FILE)
        _sync(partial / DATABASE)
        _sync(partial)
        number = (partial / DATABASE).stat().st_size
        os.rename(partial, destination)
        _sync(destination.parent)
    except OSError as error:
        raise DataFolderError(f"cannot write {destination}: {error.strerror}; choose another folder") from None
    finally:
        shutil.rmtree(partial, ignore_errors=True)
    return number


def _check_destination(destination: Path) -> None:
    check_name(destination)
    if not destination.name:
        raise NotEmpty(f"{destination} cannot be the copy; name a new folder in it")
    if os.path.ismount(destination):
        raise NotEmpty(f"{destination} is a file system of its own; name a new folder in it")
    if destination.exists() and not (destination.is_dir() and not any(destination.iterdir())):
        raise NotEmpty(f"{destination} is there already and is not empty; name a new folder")


@contextmanager
def _reading(database: Path) -> Iterator[apsw.Connection]:
    """The database inside a read transaction."""
    try:
        db = apsw.Connection(str(database), flags=apsw.SQLITE_OPEN_READONLY)
        try:
            db.set_busy_timeout(_BUSY_MS)
            db.execute("BEGIN")
            _check_format(db, database)
            yield db
        finally:
            db.close()
    except (apsw.NotADBError, apsw.CorruptError):
        raise DataFolderError(f"{database} is damaged, or no Rockdove database; there is nothing to copy") from None
    except apsw.FullError:
        raise DataFolderError("there is not enough room for the copy; choose a folder on another disk") from None
    except apsw.Error as error:
        raise DataFolderError(f"cannot copy {database}: {error}; try again") from None


def _check_format(db: apsw.Connection, database: Path) -> None:
    """Reading also starts the transaction."""
    if db.pragma("application_id") != APPLICATION_ID:
        raise DataFolderError(f"{database} is no Rockdove database; name another folder with --data")
    if db.pragma("user_version") > FORMAT:
        raise DataFolderError(f"{database} was written by a newer Rockdove; copy it with that one")


def _copy_pages(db: apsw.Connection, target: Path, progress: Progress) -> None:
    page_bytes = db.pragma("page_size")
    copy = apsw.Connection(str(target))
    try:
        os.chmod(target, 0o600)
        # No journal is needed: until the copy is whole, its folder has another name.
        copy.pragma("journal_mode", "off")
        copy.pragma("synchronous", "off")
        with copy.backup("main", db, "main") as pages:
            while not pages.done:
                pages.step(_PAGES_AT_ONCE)
                # This drops SQLite's locks on the file. It does no harm: nobody else knows of the file yet.
                _sync(target)
                progress((pages.page_count - pages.remaining) * page_bytes, pages.page_count * page_bytes)
    finally:
        copy.close()


def _copy_key(source: Path, target: Path) -> None:
    """Without the key file the accounts in the copy would be of no use."""
    try:
        key = source.read_bytes()
    except FileNotFoundError:
        return
    except OSError as error:
        raise DataFolderError(
            f"cannot read the key file {source}: {error.strerror}; make the copy as the user who runs the service"
        ) from None
    with os.fdopen(os.open(target, os.O_WRONLY | os.O_CREAT | os.O_EXCL, 0o600), "wb") as file:
        file.write(key)
        file.flush()
        os.fsync(file.fileno())


def _sync(path: Path) -> None:
    descriptor = os.open(path, os.O_RDONLY)
    try:
        os.fsync(descriptor)
    finally:
        os.close(descriptor)
