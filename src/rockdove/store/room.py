"""Room on the disk that is kept back for consumers: when it is full, sends are refused, and messages still get out.

To receive and to delete, the store has to write, too. So a reserve lies in the data folder, and is given up when
nothing else is left; and sends stop a little before that, when what is free is just enough to copy the log back.
"""

import logging
import os
from collections.abc import Callable
from pathlib import Path

import apsw

RESERVE = "reserve"
# The size of the reserve, and what is left free besides; on a small disk, this part of it.
MOST_BYTES = 8 * 1024 * 1024
PART = 16

FULL = "The disk is full: messages can be received and deleted, but not sent until there is room again."

log = logging.getLogger("rockdove")


class Room:
    """For the writer's thread. ``changed`` is called there, too, with why sends are refused, or None."""

    def __init__(self, folder: Path, changed: Callable[[str | None], None]) -> None:
        self._folder = folder
        self._reserve = folder / RESERVE
        self._changed = changed
        self.full = False
        # Full, or near it: the log is kept short, and what the file has is not given back.
        self.low = False

    def is_kept_back(self) -> bool:
        return self._reserve.exists()

    def give_up(self) -> bool:
        """The disk is full: sacrifice the reserve. False if it is gone already."""
        had = self.is_kept_back()
        self._reserve.unlink(missing_ok=True)
        self._be(full=True)
        return had

    def is_enough(self, log_bytes: int) -> bool:
        """Whether there is room to copy the log back, and some more."""
        free, part = self._measure()
        return free >= log_bytes + part and self.is_kept_back()

    def look(self, db: apsw.Connection) -> None:
        """Decide anew whether sends are refused. The log was copied back just before."""
        free, part = self._measure()
        if free >= 2 * part and not self.is_kept_back() and self._keep_back(part):
            free -= part
        # Free pages of the file are room for messages, too.
        unused = free + db.pragma("freelist_count") * db.pragma("page_size")
        self.low = free < part
        self._be(full=unused < (2 * part if self.full else part))

    def _measure(self) -> tuple[int, int]:
        disk = os.statvfs(self._folder)
        return disk.f_bavail * disk.f_frsize, min(disk.f_blocks * disk.f_frsize // PART, MOST_BYTES)

    def _keep_back(self, number: int) -> bool:
        try:
            descriptor = os.open(self._reserve, os.O_WRONLY | os.O_CREAT | os.O_CLOEXEC, 0o600)
            try:
                os.posix_fallocate(descriptor, 0, number)
            finally:
                os.close(descriptor)
        except OSError:
            self._reserve.unlink(missing_ok=True)
            return False
        return True

    def _be(self, full: bool) -> None:
        self.low = self.low or full
        if full == self.full:
            return
        self.full = full
        if full:
            log.error("the disk is full: sends are refused until there is room in %s", self._folder)
        else:
            log.warning("there is room on the disk again: sends are taken")
        self._changed(FULL if full else None)
