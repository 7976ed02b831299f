"""Copies the write-ahead log back into the database, in a thread of its own, while the writer goes on.

The log can begin anew only when all of it is copied and nobody is writing. So most of it is copied here, and what came
in meanwhile, a little, by the writer between two batches.
"""

import contextlib
import threading
from collections.abc import Callable
from pathlib import Path
from queue import SimpleQueue

import apsw

from rockdove.core.errors import DataFolderError
from rockdove.store.sqlite.room import measure

# The log is copied when it has so many pages: the longer it is, the more often a page that changed many times is copied
# only once.
LOG_PAGES = 4000
# Past so many pages the writer waits until all is copied: the log does not grow without bound.
MOST_LOG_PAGES = 5 * LOG_PAGES
# Milliseconds for which the writer waits for others, to get back what the log has taken.
PATIENCE_MS = 1_000
# So short is the log kept while the disk is nearly full.
LOW_LOG_PAGES = 128


class Checkpoint:
    """For who writes (see `Session`), but for what runs in its own thread."""

    def __init__(self, connect: Callable[[], apsw.Connection], folder: Path) -> None:
        self._connect = connect
        self._folder = folder
        self._orders: SimpleQueue[bool] = SimpleQueue()
        # Begins with the first order.
        self._thread: threading.Thread | None = None
        # How long the log is.
        self.pages = 0
        self._copying = False
        self._copied = False

    def attach(self, writer: apsw.Connection) -> None:
        """Take the writer's log over from SQLite, which would copy it in the middle of a commit."""
        writer.set_wal_hook(self._committed)

    def stop(self) -> None:
        if self._thread is not None:
            self._orders.put(False)
            self._thread.join()

    def _committed(self, db: apsw.Connection, name: str, pages: int) -> int:
        self.pages = pages
        return apsw.SQLITE_OK

    @property
    def is_due(self) -> bool:
        """Whether the log is long enough to be copied, whatever the room."""
        return self.pages >= LOG_PAGES

    def after_commit(self, db: apsw.Connection, low: bool) -> None:
        if not self.is_due and not (low and self.pages >= LOW_LOG_PAGES):
            return
        if low or self._copied or self.pages > MOST_LOG_PAGES:
            self._copied = False
            self.copy(db)
        elif not self._copying:
            self._copying = True
            self._orders.put(True)
            if self._thread is None:
                self._thread = threading.Thread(target=self._run, name="rockdove-checkpoint", daemon=True)
                self._thread.start()

    def copy(self, db: apsw.Connection) -> None:
        """Copy all that can be copied, here and now."""
        self._copy(db, "PASSIVE")
        self.pages = 0

    def cut(self, db: apsw.Connection) -> None:
        """Copy all, and give back to the disk what the log has taken. Who reads is waited for, not for long."""
        db.set_busy_timeout(PATIENCE_MS)
        self._copy(db, "TRUNCATE")
        self.pages = 0

    def _run(self) -> None:
        db: apsw.Connection | None = None
        while self._orders.get():
            with contextlib.suppress(apsw.Error, DataFolderError):
                db = db or self._connect()
                self._copy(db, "PASSIVE")
            self._copied, self._copying = True, False
        if db is not None:
            db.close()

    def _copy(self, db: apsw.Connection, mode: str) -> None:
        # A reader that is in the way, or an error: the writer will say so if it matters, and this is tried again.
        with contextlib.suppress(apsw.Error, OSError):
            # Without room for all of it, what was copied would take the last, which consumers need.
            if measure(self._folder, db).spare >= 0:
                db.execute(f"PRAGMA wal_checkpoint({mode})").close()
