"""What a front-end knows of the entries of one physical queue, and which of them it removes."""

import asyncio
from collections.abc import Iterable, Sequence
from random import Random

from rockdove.core.clock import Clock
from rockdove.core.errors import StoreError
from rockdove.store.cassandra.index.candidates import Candidates
from rockdove.store.cassandra.index.directory import Directory
from rockdove.store.cassandra.index.entry import Spot
from rockdove.store.cassandra.index.members import PlaceMembers
from rockdove.store.cassandra.index.segment import Segment
from rockdove.store.cassandra.index.tables import Tables
from rockdove.store.common.tasks import Tasks

# Entries that were removed wait for so many seconds for others, and after a failure.
DROP_S = 0.02
DROP_AGAIN_S = 1.0


class Known:
    """For the event loop's thread.

    taken: entries that somebody here works on. dropping: those that are being removed.
    """

    def __init__(
        self, name: str, tables: Tables, clock: Clock, rng: Random, members: PlaceMembers, tasks: Tasks
    ) -> None:
        self._name = name
        self._members = members
        self._tables = tables
        self._clock = clock
        self._tasks = tasks
        self.candidates = Candidates(members, rng)
        self.directory = Directory(name, tables.session, clock, tasks, self._lost, self._closed)
        self.taken: set[Spot] = set()
        self.dropping: set[Spot] = set()
        self._to_drop: list[Spot] = []

    @property
    def is_busy(self) -> bool:
        return bool(self.taken or self.dropping) or self.directory.is_busy

    def learn(self, spots: Iterable[Spot], not_before_us: int = 0) -> None:
        for spot in spots:
            segment = self.directory.segments.get(spot.segment)
            if segment is not None and spot not in self.dropping and spot not in self.taken:
                segment.ids.add(spot.id)
                self.candidates.add(spot, not_before_us)

    def put_back(self, spots: Iterable[Spot], not_before_us: int = 0) -> None:
        """Of these, the ones that were taken."""
        spots = [spot for spot in spots if spot in self.taken]
        self.taken.difference_update(spots)
        self.learn(spots, not_before_us)

    def take_out(self, wanted: Sequence[int]) -> list[Spot]:
        """All entries of messages; nobody here takes them until they are learned again."""
        spots = [spot for id in wanted for spot in self.candidates.by_id.get(id, ())]
        for spot in spots:
            self.candidates.discard(spot)
        return spots

    def up_to(self, turns: Sequence[tuple[int, int]]) -> list[Spot]:
        """The known entries of messages, by id, that are of the given turn or an earlier one."""
        return [spot for id, turn in turns for spot in self.candidates.by_id.get(id, ()) if spot.turn <= turn]

    def forget(self, spot: Spot) -> None:
        """Others have taken it, and remove it."""
        self.candidates.discard(spot)
        segment = self.directory.segments.get(spot.segment)
        if segment is not None:
            segment.ids.discard(spot.id)

    def _lost(self, segment: Segment) -> None:
        for id in list(segment.ids):
            for spot in list(self.candidates.by_id.get(id, ())):
                if spot.segment == segment.number:
                    self.candidates.discard(spot)

    def _closed(self, segment: Segment) -> None:
        if segment.is_final or self._members.does_receive:
            self._tasks.run(self.tidy(segment.number))
        else:
            # Nobody has asked for it here. Whoever does finds it again.
            self.directory.forget(segment)

    def drop(self, spots: Iterable[Spot]) -> None:
        """These entries do not count any more, and never will."""
        for spot in spots:
            self.candidates.discard(spot)
            if spot in self.dropping:
                continue
            self.dropping.add(spot)
            segment = self.directory.segments.get(spot.segment)
            if segment is not None:
                segment.ids.discard(spot.id)
                self.directory.touch(segment)
            if not self._to_drop:
                asyncio.get_running_loop().call_later(DROP_S, self._flush)
            self._to_drop.append(spot)

    def _flush(self) -> None:
        spots, self._to_drop = self._to_drop, []
        self._tasks.run(self._drop(spots))

    async def _drop(self, spots: list[Spot]) -> None:
        while True:
            try:
                await self._tables.drop_spots(self._name, spots)
                break
            except StoreError:
                await asyncio.sleep(DROP_AGAIN_S)
        self.dropping.difference_update(spots)
        for number in {spot.segment for spot in spots}:
            await self.tidy(number)

    async def tidy(self, number: int) -> None:
        """A segment that is closed and empty goes."""
        segment = self.directory.segments.get(number)
        if segment is None or segment.ids or not segment.is_final or not segment.is_closed(self._clock.now_us()):
            return
        busy = any(spot.segment == number for spots in (self.dropping, self.taken) for spot in spots)
        if busy or self.directory.is_filled(segment):
            return
        if not await self.directory.drop(segment):
            # Others have not removed theirs yet.
            segment.is_final = False
            segment.floor_us = 0
