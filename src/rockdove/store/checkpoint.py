"""Copies the write-ahead log back into the database, in a thread of its own, while the writer goes on.

The log can begin anew only when all of it is copied and nobody is writing. So most of it is copied here, and what came
in meanwhile, a little, by the writer between two batches.
"""

import contextlib
import threading
from collections.abc import Callable
from queue import SimpleQueue

import apsw

from rockdove.core.errors import DataFolderError

# The log is copied when it has so many pages: the longer it is, the more often a page that changed many times is copied
# only once.
LOG_PAGES = 4000
# Past so many pages the writer waits until all is copied: the log does not grow without bound.
MOST_LOG_PAGES = 5 * LOG_PAGES
# So short is the log kept while the disk is nearly full.
LOW_LOG_PAGES = 128


class Checkpoint:
    """For the writer's thread, but for what runs in its own."""

    def __init__(self, connect: Callable[[], apsw.Connection]) -> None:
        self._connect = connect
        self._orders: SimpleQueue[bool] = SimpleQueue()
        self._thread = threading.Thread(target=self._run, name="rockdove-checkpoint", daemon=True)
        # How long the log is.
        self.pages = 0
        self._copying = False
        self._copied = False
        self._thread.start()

    def attach(self, writer: apsw.Connection) -> None:
        """Take the writer's log over from SQLite, which would copy it in the middle of a commit."""
        writer.set_wal_hook(self._committed)

    def stop(self) -> None:
        self._orders.put(False)
        self._thread.join()

    def _committed(self, db: apsw.Connection, name: str, pages: int) -> int:
        self.pages = pages
        return apsw.SQLITE_OK

    def after_commit(self, db: apsw.Connection, low: bool) -> None:
        if self.pages < LOG_PAGES and not (low and self.pages >= LOW_LOG_PAGES):
            return
        if low or self._copied or self.pages > MOST_LOG_PAGES:
            self._copied = False
            self.copy(db)
        elif not self._copying:
            self._copying = True
            self._orders.put(True)

    def copy(self, db: apsw.Connection) -> None:
        """Copy all that can be copied, here and now."""
        _copy(db)
        self.pages = 0

    def _run(self) -> None:
        db: apsw.Connection | None = None
        while self._orders.get():
            with contextlib.suppress(apsw.Error, DataFolderError):
                db = db or self._connect()
                _copy(db)
            self._copied, self._copying = True, False
        if db is not None:
            db.close()


def _copy(db: apsw.Connection) -> None:
    # A full disk or a reader that is in the way: the writer will say so if it matters, and this is tried again.
    with contextlib.suppress(apsw.Error):
        db.execute("PRAGMA wal_checkpoint(PASSIVE)").close()
