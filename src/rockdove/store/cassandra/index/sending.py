"""Sends to one physical queue in the index: acknowledged in the order in which they were asked for."""

import asyncio
from collections.abc import Sequence

from rockdove.core import ids
from rockdove.core.clock import SECOND_US, Clock
from rockdove.core.queue import PhysicalRecord
from rockdove.store.base import Appended, Draft
from rockdove.store.cassandra.index.entry import Kind, Spot, State, encode, indexed_id
from rockdove.store.cassandra.index.known import Known
from rockdove.store.cassandra.index.look import Look
from rockdove.store.cassandra.index.members import PlaceMembers
from rockdove.store.cassandra.index.tables import Tables
from rockdove.store.cassandra.index.voice import Voice
from rockdove.store.common.arrivals import ArrivalListeners
from rockdove.store.common.size import encode_extra
from rockdove.store.common.tasks import Tasks, at_once


class Sending:
    """For the event loop's thread. ``queue`` is where its messages are, ``name`` where its entries are."""

    def __init__(
        self,
        record: PhysicalRecord,
        queue: str,
        name: str,
        tables: Tables,
        clock: Clock,
        arrivals: ArrivalListeners,
        tasks: Tasks,
        members: PlaceMembers,
        voice: Voice,
        known: Known,
        look: Look,
    ) -> None:
        self._number = record.number
        self._prefix = record.prefix
        self._queue = queue
        self._name = name
        self._tables = tables
        self._clock = clock
        self._arrivals = arrivals
        self._tasks = tasks
        self._members = members
        self._voice = voice
        self._known = known
        self._directory = known.directory
        self._look = look
        # When the last one is over.
        self._last: asyncio.Future[None] | None = None

    async def quiet(self) -> None:
        """Wait for all that has begun."""
        if self._last is not None:
            await self._last

    async def append(self, drafts: Sequence[Draft]) -> list[Appended]:
        before, over = self._last, asyncio.get_running_loop().create_future()
        self._last = over
        try:
            return await self._append(drafts, before)
        finally:
            over.set_result(None)
            if self._last is over:
                self._last = None

    async def _append(self, drafts: Sequence[Draft], before: "asyncio.Future[None] | None") -> list[Appended]:
        now_us = self._clock.now_us()
        times = [max(draft.visible_us, now_us - SECOND_US) for draft in drafts]
        # Ids grow with the time of sending: they are those of the segment for messages that are visible at once.
        blocks = await self._directory.begin(Kind.SENT, [min(visible_us, now_us) for visible_us in times])
        try:
            fillings = [
                (await self._directory.begin(Kind.SENT, [visible_us]))[0] if visible_us > now_us else block
                for visible_us, block in zip(times, blocks, strict=True)
            ]
            rows, spots = [], []
            for draft, visible_us, (filling, _), (block, place) in zip(drafts, times, fillings, blocks, strict=True):
                message = draft.message
                id = indexed_id(self._number, block.segment.number, place)
                extra = b"" if message.extra is None else encode_extra(message.extra)
                spot = Spot(filling.segment.number, visible_us, id, 0)
                state = State(0, spot.segment, visible_us, 0, 0, len(message.body) + len(extra))
                rows.append((id, (message.body, message.md5, extra, message.sent_us, encode(state))))
                spots.append(spot)
                if filling is not block:
                    # It has fewer entries than places.
                    block.segment.is_touched = True
        except BaseException:
            self._directory.finish(blocks)
            raise
        begun = [*blocks, *(each for each, block in zip(fillings, blocks, strict=True) if each is not block)]
        try:
            await at_once(self._tables.add_messages(self._queue, rows), self._tables.add_spots(self._name, spots))
            for filling, _ in begun:
                filling.check()
        except BaseException:
            for filling, _ in begun:
                filling.segment.is_touched = True
            # It is not acknowledged, and should not come if that can be helped.
            self._tasks.run(self._undo(spots))
            raise
        finally:
            self._directory.finish(begun)
        if before is not None:
            # Nobody shall meet these before those that were sent before.
            await before
        if self._members.does_receive:
            self._known.learn(spots)
        else:
            # Nobody asks for them here, and all of them would take much memory: whoever does, reads them.
            for segment in {filling.segment for filling, _ in begun}:
                self._directory.leave_unknown(segment)
        self._voice.sent(spots)
        if self._members.number == 1:
            self._arrivals.appended(self._number, drafts, now_us)
        else:
            self._look.tell_ready()
        return [
            Appended(spot.id, _own_name(draft) or ids.message_id(self._prefix, spot.id))
            for spot, draft in zip(spots, drafts, strict=True)
        ]

    async def _undo(self, spots: Sequence[Spot]) -> None:
        await self._tables.drop_messages(self._queue, [spot.id for spot in spots])
        await self._tables.drop_spots(self._name, spots)


def _own_name(draft: Draft) -> str | None:
    extra = draft.message.extra
    return None if extra is None else extra.message_id
