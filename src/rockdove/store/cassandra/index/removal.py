"""Physical queues that go: they are closed when they are empty, and what they had is removed from the tables."""

import asyncio
import contextlib
from collections.abc import Callable, Sequence
from time import monotonic

from rockdove.core.clock import Clock
from rockdove.core.errors import StoreError
from rockdove.core.queue import PhysicalRecord
from rockdove.store.base import StillHolds
from rockdove.store.cassandra.index import browse
from rockdove.store.cassandra.index.entry import Kind
from rockdove.store.cassandra.index.place import Place
from rockdove.store.cassandra.index.tables import Tables
from rockdove.store.cassandra.note import CLEARED, Notes
from rockdove.store.common.tasks import Tasks, at_once

# Seconds that other front-ends have to close their segments.
SHUT_S = 1.0
# Seconds after which every front-end that lives has heard of a change.
HEARD_S = 10.0


class Removal:
    """``make`` gives a place that nobody else uses."""

    def __init__(
        self,
        tables: Tables,
        notes: Notes,
        clock: Clock,
        tasks: Tasks,
        make: Callable[[str, PhysicalRecord], Place],
    ) -> None:
        self._tables = tables
        self._notes = notes
        self._clock = clock
        self._tasks = tasks
        self._make = make

    async def close(self, places: Sequence[Place]) -> None:
        """They take no more messages, being empty. Raises `StillHolds` if one is not, and then all go on."""
        try:
            for place in places:
                await place.directory.shut()
                place.voice.shut()
            for place in places:
                await self._see_empty(place)
        except StillHolds:
            # Whoever goes on with its messages shall not find it closed.
            with contextlib.suppress(StoreError):
                await at_once(*(place.directory.open_again() for place in places))
            raise
        except BaseException:
            for place in places:
                self._tasks.run(place.directory.open_again())
            raise

    async def _see_empty(self, place: Place) -> None:
        """Raises `StillHolds`."""
        deadline_s = monotonic() + SHUT_S
        while True:
            await place.directory.look(everything=True)
            now_us = self._clock.now_us()
            segments = list(place.directory.segments.values())
            if all(each.is_closed(now_us) or each.kind is Kind.HELD for each in segments):
                break
            if monotonic() > deadline_s:
                raise StillHolds("another front-end may still put messages into a physical queue that was to go")
            await asyncio.sleep(0.02)
        # Messages go from segments of those that were sent to those that are held, never back.
        if (await browse.count(place)).total or (await browse.count(place)).total:
            raise StillHolds("a physical queue that was to go holds messages")

    async def clear(self, uid: str, records: Sequence[PhysicalRecord]) -> None:
        """Remove all that physical queues have which are no more. Raises `StoreError`."""
        for record in records:
            await self._notes.add(CLEARED, _note(uid, record))
        await asyncio.sleep(HEARD_S)
        for record in records:
            place = self._make(uid, record)
            await self._clear(place)
            place.forget()
            await self._notes.drop(CLEARED, _note(uid, record))

    async def left(self) -> list[tuple[str, PhysicalRecord]]:
        """What others were to clear, and perhaps did not. Raises `StoreError`."""
        found = []
        for note in await self._notes.read(CLEARED):
            uid, number, prefix = note.split(" ", 2)
            found.append((uid, PhysicalRecord(int(number), prefix)))
        return found

    async def _clear(self, place: Place) -> None:
        if not await place.directory.shut():
            return
        await place.directory.look(everything=True)
        for segment in list(place.directory.segments.values()):
            spots = await self._tables.read_segment(place.name, segment.number)
            await self._tables.drop_messages(place.queue, {spot.id for spot in spots})
            await place.directory.remove(segment)
        await place.directory.clear_cursor()


def _note(uid: str, record: PhysicalRecord) -> str:
    return f"{uid} {record.number} {record.prefix}"
