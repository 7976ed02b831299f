"""Messages that go over from the index of a queue into its journal: once, and under their ids."""

import asyncio
from collections import defaultdict
from collections.abc import Sequence

from rockdove.core.message import Entry, Message
from rockdove.store.cassandra import command
from rockdove.store.cassandra.agreed import Replicas
from rockdove.store.cassandra.bodies import Reference
from rockdove.store.cassandra.index.entry import Row, Spot, block_of, place_of
from rockdove.store.cassandra.index.place import Place
from rockdove.store.common.ledger import Ledger
from rockdove.store.common.tasks import Tasks
from rockdove.store.remote import asked

# Seconds for which it is remembered that the journal has a message: longer than anybody who has seen it in the index
# takes to say so.
REMEMBER_S = 120.0
# Seconds after which every front-end that is at work on them has heard of it.
HEARD_S = 2.0
# Messages that go over at a time.
MOST_HANDED_OVER = 500


class Handover:
    """Whoever finds a message that somebody has left between the two finishes that."""

    def __init__(self, ledger: Ledger, replicas: Replicas, tasks: Tasks) -> None:
        self._ledger = ledger
        self._replicas = replicas
        self._tasks = tasks
        # By the number of the physical queue.
        self._under_way: defaultdict[int, set[asyncio.Future[None]]] = defaultdict(set)

    async def hand_over(self, uid: str, place: Place, limit: int, room_bytes: int) -> tuple[int, int]:
        """Visible messages; how many, and how many bytes. If they are fewer, the journal has what others hand over."""
        over: asyncio.Future[None] = asyncio.get_running_loop().create_future()
        under_way = self._under_way[place.number]
        under_way.add(over)
        try:
            taken, size = await self._hand_over(uid, place, limit, room_bytes)
        finally:
            over.set_result(None)
            under_way.discard(over)
            if not under_way:
                self._under_way.pop(place.number, None)
        if taken < limit and size < room_bytes:
            await self.settled(place)
        return taken, size

    async def settled(self, place: Place) -> None:
        """What is on its way to the journal of a physical queue at this moment is there then."""
        if place.known.taken:
            for future in list(self._under_way.get(place.number, ())):
                await future

    async def _hand_over(self, uid: str, place: Place, limit: int, room_bytes: int) -> tuple[int, int]:
        taken = size = 0
        while taken < limit and size < room_bytes:
            offered = await place.offer(min(limit - taken, MOST_HANDED_OVER), room_bytes - size)
            if not offered:
                break
            await place.hand_over(offered)
            await self._adopt(uid, place, offered)
            taken += len(offered)
            size += sum(row.state.bytes for _, row in offered)
        return taken, size

    async def _adopt(self, uid: str, place: Place, offered: Sequence[tuple[Spot, Row]]) -> None:
        replica = self._replicas.of(uid)
        entries = [_light(spot.id, row) for spot, row in offered]
        try:
            await replica.perform(command.Adopt(0, place.number, entries))
        except BaseException:
            place.keep(offered)
            raise
        place.handed_over(offered)
        self._tasks.run(self._look_again(uid, place, [spot.id for spot, _ in offered]))
        keys = [f"{entry.id:x}" for entry in entries]
        self._tasks.run(self._forget(uid, place, [spot for spot, _ in offered], keys))

    async def _look_again(self, uid: str, place: Place, ids: list[int]) -> None:
        """Others may have claimed one at the same moment, and deleted it before they heard that the journal has it."""
        await asyncio.sleep(HEARD_S)
        if self._ledger.queue(uid) is None:
            return
        replica = self._replicas.of(uid)
        if left := replica.known(place.number, ids):
            rows = await place.tables.states(place.queue, left)
            # What one node does not have, another may.
            gone = [id for id in left if rows[id] is None and await place.tables.is_gone(place.queue, id)]
            if gone := replica.known(place.number, gone):
                await replica.perform(asked.RemoveAll(0, place.number, gone))

    async def _forget(self, uid: str, place: Place, spots: list[Spot], keys: list[str]) -> None:
        """Once nobody can meet them in the index."""
        await asyncio.sleep(REMEMBER_S)
        if place.known.dropping.isdisjoint(spots) and self._ledger.queue(uid) is not None:
            await self._replicas.of(uid).perform(command.ForgetOnce(0, keys))

    async def strayed(self, place: Place, found: Sequence[tuple[Spot, Row]]) -> None:
        """The journal takes each of them once."""
        queue = self._ledger.queue_with(place.number)
        if queue is None:
            place.keep(found)
        else:
            await self._adopt(queue.uid, place, found)


def _light(id: int, row: Row) -> Entry:
    """For the journal: with a reference in place of the body."""
    state = row.state
    body = str(Reference(block_of(id), place_of(id), state.bytes)).encode()
    return Entry(id, state.visible_us, Message(row.sent_us, body, ""), state.receive_count, state.first_received_us)
