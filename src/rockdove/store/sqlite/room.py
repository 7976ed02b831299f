"""Room on the disk that is kept back for consumers: when it is short, sends are refused, and messages still get out.

To receive and to delete, the store has to write, too: into its log, which must then be copied back into the database.
So what comes in is admitted by its bytes, before it is written: what is left must do to copy the log back, to receive
all messages, and some more. What keeps a row besides messages (a name, a record) counts, too, and looks itself whether
there is room. What is staged takes more when it lands: room for that is kept from the start. The last room is for
deletes alone. And a reserve lies in the data folder, and is given up when others have taken all that was left.
"""

import contextlib
import itertools
import logging
import os
from collections.abc import Callable
from pathlib import Path

import apsw
from msgspec import Struct
from msgspec.structs import replace

from rockdove.store.sqlite.folder import DATABASE, PAGE_BYTES

RESERVE = "reserve"
# The most that the reserve takes, and what is left free besides; on a small disk, this part of it.
MOST_BYTES = 8 * 1024 * 1024
PART = 16
# The least: to get out what a small file holds, little is written.
LEAST_BYTES = 256 * 1024
# What is admitted between two looks at the disk at most.
AHEAD_BYTES = 4 * 1024 * 1024
# Sends are taken again when there is room for so many bytes of them; on a small disk, an eighth of it.
AGAIN_BYTES = 16 * 1024 * 1024
AGAIN_PART = 8
# What one commit brings at most, but for a single request; on a small disk, this part of it.
COMMIT_BYTES = 4 * 1024 * 1024
COMMIT_PART = 128
# What a message takes besides its own bytes: its rows in the index, and the pages of indexes that are rewritten.
ROW_BYTES = 1024
BATCH_BYTES = 64 * 1024
# What its rows make the database grow by when it lands.
LANDED_BYTES = 256

# What a message may make the database grow by when it is received: its row gets longer, and the index loses its order.
CLAIM_BYTES = 32
# What one row that is changed takes in the log: a page of its table, and of each index where it was and where it goes.
CHANGED_BYTES = 4 * PAGE_BYTES

FULL = "The disk is full: messages can be received and deleted, but not sent until there is room again."
LAST = "The disk is full: messages in flight can be deleted, but no more can be received until there is room again."

log = logging.getLogger("rockdove")


def written_bytes(messages: int, size_bytes: int) -> int:
    """What messages take in the log, and once more in the database: at worst each leaves most of a page empty."""
    return size_bytes + min(size_bytes, messages * PAGE_BYTES) + messages * ROW_BYTES


def landing_bytes(messages: int, size_bytes: int) -> int:
    """What messages take in rows of their own, more than in the one row in which they are staged."""
    return min(size_bytes, messages * PAGE_BYTES) + messages * LANDED_BYTES


def kept_bytes(*texts: str) -> int:
    """What a row takes, with its names once more in an index or a second row."""
    return written_bytes(1, 2 * sum([len(text.encode()) for text in texts]))


class Level(Struct, frozen=True):
    """How full the disk is."""

    # Free, but for what the database will grow by when the log is copied back.
    spare: int
    # What the database has to spare inside.
    unused: int
    # Of the whole disk.
    disk: int
    # Of the database, the log copied back.
    database: int
    # What of it is free, and kept for what is there: to land, and to be claimed.
    claims: int = 0

    @property
    def part(self) -> int:
        return min(self.disk // PART, MOST_BYTES)

    @property
    def reserve(self) -> int:
        """How large it should be: no larger than what has to get out."""
        return min(max(self.database, LEAST_BYTES), self.part)


class Room:
    """For the writer's thread. ``changed`` is called there, too, with why sends are refused, or None."""

    def __init__(self, folder: Path, changed: Callable[[str | None], None]) -> None:
        self.folder = folder
        self._reserve = folder / RESERVE
        self._changed = changed
        self.full = False
        # Full, or near it: the log is kept short, and what the file has is not given back.
        self.low = False
        # Nearer the end: no name and no record may take more.
        self.short = False
        # So near the end that nothing is taken but what makes room: a lease, too, is refused.
        self.tight = False
        # What is left is for deletes: claims are refused, too.
        self.last = False
        # How many there are, about. Set by the event loop now and then, and counted by the writer's thread.
        self.messages = 0
        # What the database may grow by when all that is staged lands. Of the writer's thread; counted now and then.
        self.staged_bytes = 0
        # What may be written before the next look.
        self._ahead = 0
        # The largest that was refused, of usual ones: there must be room for that, before sends are taken again.
        self._refused = 0
        # The largest that was refused alone, while others had room; 0: none since there was room for it.
        self._too_large = 0

    def commit_bytes(self) -> int:
        """What one commit should bring at most."""
        disk = os.statvfs(self.folder)
        return min(disk.f_blocks * disk.f_frsize // COMMIT_PART, COMMIT_BYTES)

    def is_kept_back(self) -> bool:
        return self._reserve.exists()

    def _kept_bytes(self) -> int:
        return self._reserve.stat().st_size if self.is_kept_back() else 0

    def give_up(self) -> bool:
        """The disk is full: sacrifice the reserve. False if it is gone already."""
        had = self.is_kept_back()
        self._reserve.unlink(missing_ok=True)
        self._be(full=True)
        return had

    def spend(self, number: int) -> bool:
        """Whether so many bytes can be written without a look at the disk."""
        if self.low or 2 * number > self._ahead:
            return False
        self._ahead -= 2 * number
        return True

    def admit(self, number: int, level: Level) -> bool:
        """Whether so many bytes can be written to the log, and copied back, and room is left for consumers."""
        level = self._for_sends(level)
        margin = self.see(level)
        if not _fits(level, number, number, margin):
            return False
        self._ahead = max(min((level.spare - margin) // 4, AHEAD_BYTES) - 2 * number, 0)
        if number >= self._too_large:
            self._too_large = 0
        return True

    def refuse(self, number: int, level: Level) -> None:
        """So many bytes were not admitted. One that is very large is refused alone, if there is room for others."""
        usual, level = max(self.commit_bytes(), BATCH_BYTES), self._for_sends(level)
        if number > usual and _fits(level, usual, usual, self._margin(level)):
            if not self._too_large:
                log.error(
                    "no room for %d bytes at once in %s: such sends are refused, smaller ones are taken",
                    number,
                    self.folder,
                )
            self._too_large = max(self._too_large, number)
            return
        self._refused = max(self._refused, min(number, usual))
        self._be(full=True)

    def look(self, level: Level) -> None:
        """Decide anew whether sends are refused."""
        kept, wanted = self._kept_bytes(), level.reserve
        is_too_small = kept < wanted // 2 and level.spare >= 3 * level.part
        if (is_too_small or kept > 2 * wanted) and self._keep_back(wanted):
            level = replace(level, spare=level.spare + kept - wanted)
        level = self._for_sends(level)
        margin = self.see(level)
        again = max(min(level.disk // AGAIN_PART, AGAIN_BYTES), 2 * self._refused)
        if not self.full:
            self._be(full=level.spare < margin // 4)
        elif _fits(level, max(self._refused, BATCH_BYTES), again, margin):
            self._be(full=False)

    def has_spare(self, number: int, level: Level) -> bool:
        """Whether so many bytes can go through the log without the database growing."""
        return number <= level.spare - self._margin(level) // 2

    def see(self, level: Level) -> int:
        """Whether it is near full; gives what must be left free."""
        level = level if level.claims else self._for_sends(level)
        margin = self._margin(level)
        self.low = self.full or level.spare < 3 * margin
        left = level.spare + level.claims + self._kept_bytes()
        self.short, self.tight = left < level.part * 5 // 4, left < level.part // 2
        self.last = left < level.reserve // 4
        return margin

    def _for_sends(self, level: Level) -> Level:
        """Less what the messages that are there may need to land, and to be received."""
        claims = max(self.messages * CLAIM_BYTES + self.staged_bytes - level.unused, 0)
        return replace(level, spare=level.spare - claims, claims=claims)

    def _margin(self, level: Level) -> int:
        return level.part if self.is_kept_back() else 2 * level.part

    def _keep_back(self, number: int) -> bool:
        try:
            descriptor = os.open(self._reserve, os.O_WRONLY | os.O_CREAT | os.O_CLOEXEC, 0o600)
            try:
                os.ftruncate(descriptor, number)
                os.posix_fallocate(descriptor, 0, number)
            finally:
                os.close(descriptor)
        except OSError:
            self._reserve.unlink(missing_ok=True)
            return False
        return True

    def _be(self, full: bool) -> None:
        self.low = self.low or full
        self._ahead = 0
        if full == self.full:
            return
        self.full = full
        if full:
            log.error("the disk is full: sends are refused until there is room in %s", self.folder)
        else:
            self._refused = 0
            log.warning("there is room on the disk again: sends are taken")
        self._changed(FULL if full else None)


def _fits(level: Level, through_log: int, into_database: int, margin: int) -> bool:
    """Whether so many bytes can be written with room to spare.

    Half the margin is enough if the database need not grow. Deletes free pages inside the file, and not on the disk:
    if all of the margin were needed, what was refused once would be refused for ever.
    """
    growth = max(into_database - level.unused, 0)
    return level.spare - through_log - growth >= (margin if growth else margin // 2)


def count_staged(db: apsw.Connection) -> int:
    """What the database may grow by when all that is staged lands."""
    return sum(itertools.starmap(landing_bytes, db.execute("SELECT number, bytes FROM stage")))


def measure(folder: Path, db: apsw.Connection) -> Level:
    disk = os.statvfs(folder)
    page, pages = db.pragma("page_size"), db.pragma("page_count")
    size = page * pages
    debt = max(size - (folder / DATABASE).stat().st_size, 0)
    unused = page * db.pragma("freelist_count")
    return Level(disk.f_bavail * disk.f_frsize - debt, unused, disk.f_blocks * disk.f_frsize, size)


def keep_log(folder: Path, db: apsw.Connection) -> None:
    """Before the last connection is closed, which copies the log back: not if there is no room for it.

    What was copied of it would take the last room, without which the database cannot even be opened.
    """
    with contextlib.suppress(apsw.Error, OSError):
        if measure(folder, db).spare < 0:
            db.config(apsw.SQLITE_DBCONFIG_NO_CKPT_ON_CLOSE, 1)
