"""A journal: entries that all front-ends agree on, one after another.

An entry is added under the version after the last one by a lightweight transaction, which fails if another front-end
was quicker. Then its entry is taken first, and one's own is tried again. So everybody takes the same entries in the
same order, and nobody adds one without having taken all before it.

A snapshot says what the entries through a version come to. Entries before it are removed in parts. A part is closed
before that, so whoever was stopped for long cannot add an entry where others were removed.

Cassandra may lose what it has acknowledged, if enough nodes die before it is on disk. So each entry has a mark, and is
added only if the last mark of its part is that of the entry before it. Whoever still has in memory what is lost cannot
add anything after it, and begins anew from what is left. If entries in the middle are lost, they are marked as such,
and an entry is added at which everybody begins anew from one and the same snapshot.
"""

import asyncio
import logging
from collections.abc import Awaitable, Callable
from time import monotonic
from typing import TypeAlias

import msgspec

from rockdove.core.errors import StoreError, StoreInterrupted
from rockdove.store.cassandra import schema
from rockdove.store.cassandra.session import Session

# Versions in one partition.
PART = 500
# Entries, or snapshots, that are listed at a time, and bytes of one piece of a snapshot.
PAGE = 100
PIECE_BYTES = 512 * 1024
# For so long a closed part stays closed, and for ever: the first one tells that a journal is not new.
CLOSED_S = 15 * 86_400
EVER_S = 0
# No partition has so small a token.
FIRST_TOKEN = -(1 << 63)
# Within so many seconds nobody adds as many entries as one would have to miss to find none.
SURE_S = 0.2
# How often a conditional write is tried, or its outcome looked for, when Cassandra does not answer in time.
MOST_TRIES = 3

# After so many seconds without a look, one looks whether all is there before one adds something.
LONG_S = 5.0
# Marks of entries that say nothing: one that was lost, and one at which everybody begins anew.
LOST, ANEW = "lost", "anew-"

log = logging.getLogger("rockdove")

# Is called with the version and the bytes of each entry, in order.
Take: TypeAlias = Callable[[int, bytes], None]
# Begin anew from the bytes of a snapshot; None: from nothing.
Load: TypeAlias = Callable[[bytes | None], None]
# The bytes of a snapshot of what was taken so far.
Dump: TypeAlias = Callable[[], bytes]
# The first entry that is missing, and the next one that is there; the same twice: what is missing is before it.
Missing: TypeAlias = tuple[int, int]


class EntriesMissing(StoreError):
    """A journal cannot be read: neither entries nor a snapshot say what was there."""


class Journal:
    """For the event loop's thread."""

    def __init__(self, name: str, session: Session, take: Take, load: Load, dump: Dump) -> None:
        self._own_name = name
        self._session = session
        self._take = take
        self._load = load
        self._dump = dump
        # Of the last entry that was taken, and of the last snapshot.
        self.version = 0
        self.snapshot_version = 0
        self.is_loaded = False
        # Of the last entry that was taken; None: not known.
        self._mark: str | None = None
        # A part, and the last mark in it, as far as known.
        self._tail: tuple[int, str | None] = (0, None)
        # Whether entries were marked as lost, and the others are to begin anew.
        self._has_lost = False
        self._turn = asyncio.Lock()
        # How often somebody has begun to catch up, and the last of these that was not in vain.
        self._begun = 0
        self._caught_up = 0
        # When nothing was missing.
        self._whole_s = -LONG_S

    @property
    def name(self) -> str:
        return self._session.named(self._own_name)

    async def add(self, entry: bytes, after: int) -> bool:
        """Add an entry after that version, and take it. False: another's was taken first.

        Raises `StoreError`; a `StoreInterrupted` if nobody knows whether it was added.
        """
        async with self._turn:
            if self.version == after and self.is_loaded and monotonic() - self._whole_s >= LONG_S:
                await self._read()
            if self.version != after or not self.is_loaded:
                return False
            version, mark = after + 1, self._session.token()
            # The first entry of a part cannot say which one is to be before it.
            is_next = bool(version % PART) or await self._is_there()
            if not is_next or not await self._try(version, mark, entry):
                await self._read()
                return False
            self._taken(version, mark, entry)
            return True

    async def catch_up(self) -> None:
        """Take all that was added before this call. Raises `StoreError`."""
        before = self._begun
        async with self._turn:
            if self._caught_up > before:
                # Somebody has, who began after this call.
                return
            self._begun = mine = self._begun + 1
            if not self.is_loaded:
                await self._load_snapshot()
            await self._read()
            self._caught_up = mine

    async def open(self) -> None:
        """Take what there is, unless that was done. Raises `StoreError`."""
        if not self.is_loaded:
            await self.catch_up()

    async def _try(self, version: int, mark: str, entry: bytes) -> bool:
        """Raises `StoreError`."""
        part = version // PART
        where, tail = (self.name, part, version), self._tail[1] if self._tail[0] == part else None
        for attempt in range(MOST_TRIES):
            try:
                (row,) = await self._session.ask_agreed(schema.ADD_ENTRY, mark, entry, mark, *where, tail)
            except StoreInterrupted:
                if attempt == MOST_TRIES - 1:
                    raise
            else:
                is_added, there, _, tail = row if len(row) == 4 else (row[0], None, None, None)
                if not is_added and there is None:
                    # If all is there all the same, that is the tail; whether it is has to be looked at first.
                    self._tail, self._whole_s = (part, tail), -LONG_S
                # What is there may be one's own: the driver may have asked twice.
                return bool(is_added or there == mark)
            try:
                found = await self._session.ask_serial(schema.READ_ENTRY, *where)
            except StoreError as error:
                # Not asked, perhaps; but what was before may have been done.
                raise StoreInterrupted(str(error)) from None
            if found and (found[0][0] is not None or found[0][1]):
                return bool(found[0][0] == mark)
        return False

    async def _is_there(self) -> bool:
        """Whether the last entry still is."""
        if self._mark is None or not self.version:
            return True
        found = await self._session.ask_agreed(schema.READ_ENTRY, self.name, self.version // PART, self.version)
        return bool(found and found[0][0] == self._mark)

    async def _read(self) -> None:
        """Take all entries. If some are missing, they are in a snapshot, or lost. Raises `StoreError`."""
        tried: set[tuple[int, Missing]] = set()
        given_up: set[Missing] = set()
        while True:
            missing = await self._follow()
            if missing is None:
                if not self._has_lost or await self._begin_anew():
                    return
                continue
            await self._load_snapshot(is_missing=True)
            first, there = missing
            if (self.version, missing) in tried:
                if not self.version < first < there or missing in given_up:
                    raise EntriesMissing(f"entries of the journal {self._own_name} are missing that were there before")
                await self._give_up(first, there)
                given_up.add(missing)
            tried.add((self.version, missing))

    async def _follow(self) -> Missing | None:
        """Take entries."""
        suspected = None
        while True:
            begun_s, after = monotonic(), self.version
            part = (after + 1) // PART
            looks = begun_s - self._whole_s >= SURE_S
            # The last one may not be there any more.
            if looks and not await self._is_there():
                return after, after
            page = await self._session.ask_agreed(schema.READ_ENTRIES, self.name, part, after, PAGE)
            rows = [row for row in page if row[1] is not None]
            for version, mark, entry in rows:
                if version != self.version + 1:
                    return self.version + 1, version
                if mark.startswith(ANEW):
                    await self._take_anew(version, mark, entry)
                    break
                self._taken(version, mark, entry)
            last = rows[-1][0] if rows else after
            if len(page) == PAGE or self.version != last or (self.version + 1) // PART > part:
                continue
            if looks:
                missing = await self._beyond(part)
                if missing is not None and missing != suspected:
                    # What was added meanwhile is not missing.
                    suspected = missing
                    continue
                if missing is not None:
                    return missing
                self._whole_s = begun_s
            self.is_loaded = True
            return None

    async def _beyond(self, part: int) -> Missing | None:
        """What is missing after the last entry of a part, to judge by what else there is."""
        found = await self._session.ask_agreed(schema.READ_PARTS, self.name, [part, part + 1])
        by_part = {number: (closed, tail) for _, number, closed, tail in found}
        if by_part.get(part, (None, None))[0]:
            return self.version + 1, self.version + 1
        if by_part.get(part + 1, (None, None))[1] is not None:
            return self.version + 1, (part + 1) * PART
        return None

    def _taken(self, version: int, mark: str, entry: bytes) -> None:
        self.version, self._mark, self._tail = version, mark, (version // PART, mark)
        if mark == LOST:
            self._has_lost = True
        elif not mark.startswith(ANEW):
            self._take(version, entry)

    # What Cassandra has lost.

    async def _give_up(self, first: int, there: int) -> None:
        """Entries before the one that is there: what is left goes on without them."""
        log.error(
            "Cassandra has lost what it had acknowledged, entries %d to %d of the journal %s: what they said is gone, "
            "too. Set commitlog_sync: batch, so that writes are on disk before they are acknowledged",
            first,
            there - 1,
            self._own_name,
        )
        for version in range(first, there):
            await self._session.ask_agreed(schema.FILL_ENTRY, LOST, self.name, version // PART, version)

    async def _begin_anew(self) -> bool:
        """Have everybody do so: some have in memory what is lost. False: entries have come meanwhile."""
        version, mark, data = self.version + 1, ANEW + self._session.token(), self._dump()
        name = f"{self.name} {mark}"
        pieces = await self._put_pieces(name, version, data)
        is_added = await self._try(version, mark, str(pieces).encode())
        if is_added:
            self._begin(version, data)
            self._taken(version, mark, b"")
            await self.keep(data, version)
        await self._session.ask_agreed(schema.DROP_SNAPSHOT, name, version)
        return is_added

    async def _take_anew(self, version: int, mark: str, entry: bytes) -> None:
        data = await self._pieces(f"{self.name} {mark}", version, int(entry))
        if data is not None:
            self._begin(version, data)
            self._taken(version, mark, b"")
            return
        # It is the last snapshot now, or there is a newer one.
        await self._load_snapshot(is_missing=True)
        if self.version < version:
            raise StoreError(f"the snapshot of {self.name} at which everybody begins anew is missing")

    # Snapshots.

    async def _load_snapshot(self, is_missing: bool = False) -> None:
        """Begin anew from the last one. What came after it is to be read.

        ``is_missing``: entries are, so there should be one.
        """
        for _ in range(MOST_TRIES):
            latest = await self._session.ask_agreed(schema.READ_LATEST, self.name)
            if not latest:
                if not is_missing or not await self._find_snapshot():
                    self._begin(0, None)
                return
            version, pieces = latest[0]
            data = await self._pieces(self.name, version, pieces)
            if data is not None:
                self._begin_from(version, data)
                return
            # A newer one has replaced it meanwhile.
        if not await self._find_snapshot():
            raise EntriesMissing(f"the snapshot of the journal {self._own_name} cannot be read")

    async def _find_snapshot(self) -> bool:
        """Begin anew from the last one that there is, if Cassandra has lost which one that is. Raises `StoreError`."""
        for version in sorted(await self._snapshots(), reverse=True):
            ((number,),) = await self._session.ask_agreed(schema.COUNT_PIECES, self.name, version)
            data = await self._pieces(self.name, version, number)
            try:
                if data:
                    self._begin_from(version, data)
                    await self._session.ask_agreed(schema.PUT_LATEST, self.name, version, number, version)
                    return True
            except msgspec.DecodeError:
                # Its end is not there: somebody writes it just now, or has died over it.
                self._begin(0, None)
        return False

    async def _snapshots(self) -> list[int]:
        """Of which versions there are some."""
        versions: list[int] = []
        after = FIRST_TOKEN
        while True:
            page = await self._session.ask_agreed(schema.READ_SNAPSHOTS, after, PAGE)
            versions += [version for name, version, _ in page if name == self.name]
            if len(page) < PAGE:
                return versions
            after = page[-1][2]

    def _begin_from(self, version: int, data: bytes) -> None:
        """From a snapshot."""
        self._begin(version, data)
        self.snapshot_version = version

    def _begin(self, version: int, data: bytes | None) -> None:
        self.version, self._mark, self._tail = version, None, (0, None)
        self._has_lost = False
        self._whole_s = -LONG_S
        self._load(data)

    async def _pieces(self, name: str, version: int, number: int) -> bytes | None:
        """None: not all are there."""
        found = await asyncio.gather(
            *(self._session.ask_agreed(schema.READ_PIECE, name, version, at) for at in range(number))
        )
        return b"".join(rows[0][0] for rows in found) if all(found) else None

    async def _put_pieces(self, name: str, version: int, data: bytes) -> int:
        """How many there are."""
        pieces = [data[at : at + PIECE_BYTES] for at in range(0, len(data), PIECE_BYTES)] or [b""]
        for at, piece in enumerate(pieces):
            await self._session.ask_agreed(schema.ADD_PIECE, name, version, at, piece)
        return len(pieces)

    async def keep(self, data: bytes, version: int) -> None:
        """Keep a snapshot of the state at a version, and remove what is older. Raises `StoreError`."""
        latest = await self._session.ask_agreed(schema.READ_LATEST, self.name)
        before = latest[0][0] if latest else 0
        self.snapshot_version = max(before, version)
        if version <= before:
            return
        pieces = await self._put_pieces(self.name, version, data)
        await self._session.ask_agreed(schema.PUT_LATEST, self.name, version, pieces, version)
        if before:
            await self._session.ask_agreed(schema.DROP_SNAPSHOT, self.name, before)
        # The part before the current one stays, for those who are a little behind.
        for part in range(max(before // PART - 1, 0), version // PART - 1):
            await self._drop_part(part, CLOSED_S if part else EVER_S)

    async def _has_part(self, part: int) -> bool:
        return bool(await self._session.ask_agreed(schema.READ_PARTS, self.name, [part]))

    async def _drop_part(self, part: int, closed_s: int) -> None:
        await self._session.ask_agreed(schema.CLOSE_PART, closed_s, self.name, part)
        await self._session.ask_agreed(schema.DROP_ENTRIES, self.name, part)

    async def drop(self) -> None:
        """Nobody uses it any more. Raises `StoreError`."""
        part = first = max(self.snapshot_version // PART - 1, 0)
        # Somebody may have died over it: then it goes on after what was read.
        while part <= self.version // PART or await self._has_part(part):
            await self._drop_part(part, CLOSED_S)
            part += 1
        if first:
            await self._session.ask_agreed(schema.LET_PART_GO, CLOSED_S, self.name, 0)
        if self.snapshot_version:
            await self._session.ask_agreed(schema.DROP_LATEST, self.snapshot_version, self.name)
            await self._session.ask_agreed(schema.DROP_SNAPSHOT, self.name, self.snapshot_version)


async def agree(journal: Journal, decide: Callable[[], Awaitable[bytes]]) -> int:
    """Add what ``decide`` makes of all that was taken so far; the version. Raises what that raises, or `StoreError`."""
    await journal.open()
    while True:
        version = journal.version
        if await journal.add(await decide(), version):
            return version + 1
