"""The writer's connection: opened again after an error that leaves its state in doubt, and short of room with care."""

import contextlib
import secrets
from collections.abc import Callable
from typing import TypeVar

import apsw

from rockdove.core.errors import DataFolderError, FolderFull, StoreError, StoreFull
from rockdove.store.sqlite import statement
from rockdove.store.sqlite.checkpoint import Checkpoint
from rockdove.store.sqlite.room import Room, count_staged, keep_log, measure

R = TypeVar("R")

# The log has grown by so many pages since the last look at the disk: look again.
LOOK_PAGES = 128
# After these the connection is as good as before; after any other error of SQLite's, nobody knows.
_HARMLESS = (apsw.BusyError, apsw.LockedError, apsw.ConstraintError, apsw.FullError, apsw.InterruptError)


class Session:
    """For who writes: the writer's thread, or the loop of an owner while the thread is at rest."""

    def __init__(self, connect: Callable[[], apsw.Connection], room: Room) -> None:
        self._connect = connect
        self._room = room
        self._checkpoint = Checkpoint(connect, room.folder)
        self._db: apsw.Connection | None = None
        # Stays open while the other is opened anew, so that SQLite still knows where the log ends: the first to open
        # the file would look for itself, and take for committed what was written but failed to be synced.
        self._anchor: apsw.Connection | None = None
        # Whether a connection was given up after an error.
        self._doubt = False
        # How long the log was at the last look at the disk.
        self._looked = -LOOK_PAGES

    def run(self, work: Callable[[apsw.Connection], R]) -> R:
        """Do something that ends its own transactions; if there is no room, once more with what can be given up."""
        try:
            return self._try(work)
        except (apsw.Error, DataFolderError) as error:
            if not is_full(error):
                raise
        self._room.give_up()
        with contextlib.suppress(apsw.Error, DataFolderError):
            self._try(self._checkpoint.cut)
        return self._try(work)

    def _try(self, work: Callable[[apsw.Connection], R]) -> R:
        db = self._db or self._open()
        try:
            return work(db)
        except BaseException as error:
            if isinstance(error, apsw.Error) and not isinstance(error, _HARMLESS):
                self._drop()
            elif db.in_transaction:
                with contextlib.suppress(apsw.Error):
                    db.execute("ROLLBACK")
            raise

    def _open(self) -> apsw.Connection:
        if self._anchor is None:
            self._anchor = self._connect()
        db = self._connect()
        try:
            db.execute(statement.INTAKE)
            db.execute(statement.SCRATCH)
            self._room.staged_bytes = count_staged(db)
            if self._doubt:
                # The log may hold a change whose sync has failed. After a crash, SQLite would take it for committed.
                # So overwrite it: SQLite then ignores what follows in the log.
                seal(db)
        except BaseException:
            db.close(True)
            raise
        self._doubt = False
        self._checkpoint.attach(db)
        self._db = db
        return db

    def _drop(self) -> None:
        """Forget a connection; what it had begun is rolled back."""
        db, self._db, self._doubt = self._db, None, True
        if db is not None:
            with contextlib.suppress(apsw.Error):
                db.close(True)

    @property
    def is_care_due(self) -> bool:
        """Whether there may be more to do for a batch than to write it."""
        return self._db is None or self._room.low or self._is_look_due or self._checkpoint.is_due

    @property
    def _is_look_due(self) -> bool:
        return not 0 <= self._checkpoint.pages - self._looked < LOOK_PAGES

    def after_commit(self) -> None:
        if self._db is None:
            return
        if self._is_look_due or self._room.low:
            self._looked = self._checkpoint.pages
            with contextlib.suppress(apsw.Error, OSError):
                self._room.see(measure(self._room.folder, self._db))
        self._checkpoint.after_commit(self._db, self._room.low)

    def admits(self, db: apsw.Connection, number: int) -> bool:
        """Whether there is room for a batch with messages that take so many bytes; outside a transaction."""
        room = self._room
        if room.full:
            room.look(measure(room.folder, db))
        if room.full:
            return False
        if room.spend(number) or room.admit(number, measure(room.folder, db)):
            return True
        self._checkpoint.cut(db)
        level = measure(room.folder, db)
        if room.admit(number, level):
            return True
        room.refuse(number, level)
        return False

    def maintain(self, work: Callable[[apsw.Connection], None]) -> None:
        """Do something that may fail, and for which no room is sacrificed."""
        self._try(work)

    def look(self) -> None:
        """See how much room there is, with the log copied back."""
        if self._db is not None:
            with contextlib.suppress(apsw.Error, OSError):
                (self._checkpoint.cut if self._room.low else self._checkpoint.copy)(self._db)
                self._room.staged_bytes = count_staged(self._db)
                self._room.look(measure(self._room.folder, self._db))

    def close(self) -> None:
        self._checkpoint.stop()
        self._drop()
        if self._anchor is not None:
            keep_log(self._room.folder, self._anchor)
            self._anchor.close()


def seal(db: apsw.Connection) -> None:
    """Write something without a meaning: to overwrite the end of the log, or to see whether the disk takes changes."""
    db.execute("INSERT OR REPLACE INTO meta VALUES ('seal', ?)", (secrets.token_bytes(8),))


def is_full(error: BaseException) -> bool:
    """Whether the disk is full. If the index of the log cannot grow, SQLite has another error for it."""
    extended = getattr(error, "extendedresult", 0)
    return isinstance(error, apsw.FullError | FolderFull) or extended == apsw.SQLITE_IOERR_SHMSIZE


def failure(error: BaseException) -> StoreError:
    """The error that is told to those who wait for a batch that failed."""
    if isinstance(error, StoreError):
        return error
    kind = StoreFull if is_full(error) else StoreError
    text = str(error) if isinstance(error, DataFolderError) else f"{type(error).__name__}: {error}"
    if isinstance(error, apsw.CorruptError | apsw.NotADBError | UnicodeDecodeError):
        text += '; the database is damaged: stop the service and run "rockdove check"'
    failed = kind(text)
    failed.__cause__ = error
    return failed
