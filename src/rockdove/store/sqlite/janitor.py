"""Keeps the embedded store's file small: empties dropped physical queues, forgets what is over, gives space back."""

import asyncio
from collections import deque
from collections.abc import Callable, Iterable
from functools import partial
from itertools import islice

import apsw

from rockdove.core import ids
from rockdove.core.errors import StoreError
from rockdove.store.sqlite.room import Room, measure
from rockdove.store.sqlite.session import seal
from rockdove.store.sqlite.writer import Writer

# Rows removed at a time from dropped queues: a few milliseconds, so that requests do not notice.
EMPTY_AT_ONCE = 1000
DROPPED_AT_ONCE = 100
# Seconds between two looks at the file. While nothing is written there is nothing to look at.
LOOK_EVERY_S = 5.0
# The same while the store is in trouble, or the disk is full: to find out that it is over.
PROBE_EVERY_S = 1.0
# The file is rewritten when it is larger than this, nearly all of it is free, and the rest is small enough to be quick.
SHRINK_OVER_BYTES = 1024 * 1024
SHRINK_FREE_SHARE = 0.9
SHRINK_LIVE_BYTES = 64 * 1024 * 1024


class Janitor:
    """Runs in the event loop; its work on the database goes through the writer like everything else."""

    def __init__(
        self,
        writer: Writer,
        room: Room,
        loop: asyncio.AbstractEventLoop,
        is_ill: Callable[[], bool],
        free_number: Callable[[int], None],
        forget_old: Callable[[apsw.Connection], None],
    ) -> None:
        """``is_ill``: whether the store is in trouble, or full. ``free_number``: a physical queue is gone for good."""
        self._writer = writer
        self._room = room
        self._loop = loop
        self._is_ill = is_ill
        self._free_number = free_number
        self._forget_old = forget_old
        self._timer: asyncio.TimerHandle | None = None
        # Numbers of physical queues that were dropped, and are not empty yet.
        self._dropped: deque[int] = deque()
        self._emptying = False
        self._running = False
        self._written = 0

    def start(self) -> None:
        self._running = True
        self._empty_some()
        self._later()

    def stop(self) -> None:
        self._running = False
        if self._timer is not None:
            self._timer.cancel()

    def empty(self, dropped: Iterable[int]) -> None:
        """Remove what these physical queues held, by and by."""
        self._dropped.extend(dropped)
        self._empty_some()

    def _empty_some(self) -> None:
        if self._dropped and self._running and not self._emptying:
            self._emptying = True
            some = list(islice(self._dropped, DROPPED_AT_ONCE))
            self._writer.call(partial(_empty_some, some), self._emptied)

    def _emptied(self, freed: list[int] | StoreError) -> None:
        self._emptying = False
        if isinstance(freed, StoreError):
            # The next look tries again.
            return
        for number in freed:
            # They are the first.
            self._dropped.popleft()
            self._free_number(number)
        self._empty_some()

    def _later(self) -> None:
        if self._running:
            every_s = PROBE_EVERY_S if self._is_ill() else LOOK_EVERY_S
            self._timer = self._loop.call_later(every_s, self._look)

    def hurry(self) -> None:
        """Trouble has begun: do not wait until the next look to find out that it is over."""
        timer = self._timer
        if timer is not None and not timer.cancelled() and timer.when() > self._loop.time() + PROBE_EVERY_S:
            timer.cancel()
            self._later()

    def _look(self) -> None:
        self._empty_some()
        if self._is_ill():
            if self._writer.trouble is not None:
                # Any change: it lands or it does not.
                self._writer.call(seal, lambda result: None)
            self._writer.aside(self._shrink, self._later)
            return
        if self._written == self._writer.commits:
            self._later()
            return
        self._writer.call(self._forget_old, lambda result: None)
        self._writer.aside(self._tidy, self._looked)

    def _tidy(self, db: apsw.Connection) -> None:
        self._shrink(db)
        # On a disk that is nearly full the log would not get back what it gave away.
        if not self._room.low:
            _cut_log(db)

    def _shrink(self, db: apsw.Connection) -> None:
        """Give free space back to the file system. Runs in the writer's thread, outside a transaction."""
        page, pages, free = db.pragma("page_size"), db.pragma("page_count"), db.pragma("freelist_count")
        live = (pages - free) * page
        if pages * page <= SHRINK_OVER_BYTES or free <= pages * SHRINK_FREE_SHARE or live >= SHRINK_LIVE_BYTES:
            return
        room = self._room
        if not room.low or room.has_spare(live, measure(room.folder, db)):
            db.execute("VACUUM")

    def _looked(self) -> None:
        self._written = self._writer.commits
        self._later()


def _empty_some(dropped: list[int], db: apsw.Connection) -> list[int]:
    """Remove some rows of dropped queues: the numbers that are free again, which are the first."""
    freed: list[int] = []
    for number in dropped:
        low = ids.entry_id(number, 0)
        sql = "SELECT max(id) FROM (SELECT id FROM entry WHERE id BETWEEN ? AND ? ORDER BY id LIMIT ?)"
        high = db.execute(sql, (low, low | ids.SEQUENCE_MASK, EMPTY_AT_ONCE)).get
        if high is not None:
            db.execute("DELETE FROM body WHERE id BETWEEN ? AND ?", (low, high))
            db.execute("DELETE FROM entry WHERE id BETWEEN ? AND ?", (low, high))
            break
        db.execute("DELETE FROM physical WHERE number = ?", (number,))
        freed.append(number)
    return freed


def _cut_log(db: apsw.Connection) -> None:
    # If somebody reads (a backup does), do not wait for him: that would hold up everybody else. It is tried again soon.
    db.set_busy_timeout(0)
    db.execute("PRAGMA wal_checkpoint(TRUNCATE)").close()
