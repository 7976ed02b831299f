"""One physical queue in the index, as one front-end sees it.

A message has a row, which says what its deliveries have left behind (its state), and entries in the index. The state
names the entry that counts. To take a message, a front-end adds an entry for the time at which it is visible again,
then changes the state, then removes the old entry. So whatever happens in between, the entry that the state names is
there. Two front-ends may take the same message at the same moment: nobody is asked. Then it is delivered twice, and
both may delete it.

An entry that does not count is removed only if the state is of a later turn: a write that has come late cannot make it
count then. Otherwise it is left for later.
"""

import asyncio
import contextlib
from collections.abc import AsyncIterator, Awaitable, Callable, Iterator, Sequence
from random import Random
from time import monotonic

from rockdove.core.clock import SECOND_US, Clock
from rockdove.core.message import Entry
from rockdove.core.queue import PhysicalRecord
from rockdove.store.base import Appended, Claimed, Draft, Want
from rockdove.store.cassandra.index.check import Check
from rockdove.store.cassandra.index.draw import IN_ORDER, Draws, Order
from rockdove.store.cassandra.index.entry import Kind, Row, Spot, State
from rockdove.store.cassandra.index.known import Known
from rockdove.store.cassandra.index.look import Look
from rockdove.store.cassandra.index.members import PlaceMembers
from rockdove.store.cassandra.index.sending import Sending
from rockdove.store.cassandra.index.tables import Tables
from rockdove.store.cassandra.index.voice import Voice
from rockdove.store.common.arrivals import ArrivalListeners
from rockdove.store.common.size import DeadBound
from rockdove.store.common.tasks import Tasks

# An entry that may count later is looked at again after so long.
LATER_US = 2 * SECOND_US
LEAST_OWN = 1_000
# Where entries do not count that are drawn, so many more are drawn at most: each look at them takes a while.
MOST_MORE = 64


class Place:
    """For the event loop's thread. Everything that is awaited raises `StoreError`."""

    def __init__(
        self,
        uid: str,
        record: PhysicalRecord,
        tables: Tables,
        clock: Clock,
        rng: Random,
        arrivals: ArrivalListeners,
        tasks: Tasks,
        members: PlaceMembers,
        voice: Voice,
        strayed: Callable[["Place", Sequence[tuple[Spot, Row]]], Awaitable[None]],
    ) -> None:
        """``strayed`` is called with messages that the journal should have, and perhaps does not; they are to be
        handed over, or kept."""
        session = tables.session
        self.record = record
        self.number = record.number
        self.queue = session.named(uid)
        self.name = session.named(record.prefix)
        self._front_end = session.front_end
        self.tables = tables
        self.clock = clock
        self._arrivals = arrivals
        self._tasks = tasks
        self.voice = voice
        self._strayed = strayed
        self.members = members
        self.known = Known(self.name, tables, clock, rng, members, tasks)
        self.candidates = self.known.candidates
        self.directory = self.known.directory
        self.look = Look(self.number, self.name, self.known, tables, clock, arrivals, members, tasks)
        self._draws = Draws(self.known, self.look, clock, members, voice)
        self._sending = Sending(
            record, self.queue, self.name, tables, clock, arrivals, tasks, members, voice, self.known, self.look
        )
        self.check = Check()
        # Messages that this front-end has hidden, and where they stand as far as it knows.
        self._own: dict[int, Spot] = {}
        # With more than so many, those are forgotten that are not hidden any more.
        self._most_own = LEAST_OWN
        # What is under way: claims, and what is done to messages by their ids.
        self._claims: set[asyncio.Future[None]] = set()
        self._at_work: dict[int, asyncio.Future[None]] = {}

    @property
    def is_busy(self) -> bool:
        return self.known.is_busy

    def forget(self) -> None:
        """Nobody uses it any more: it goes at once, and not when somebody looks for circles."""
        self.directory.forget_place()

    async def append(self, drafts: Sequence[Draft]) -> list[Appended]:
        return await self._sending.append(drafts)

    # Receiving.

    @contextlib.contextmanager
    def claiming(self) -> Iterator[None]:
        """Whatever is begun meanwhile waits for it, if it is about messages that may be claimed."""
        over: asyncio.Future[None] = asyncio.get_running_loop().create_future()
        self._claims.add(over)
        try:
            yield
        finally:
            self._claims.discard(over)
            over.set_result(None)

    async def claim(self, want: Want, order: Order) -> Claimed:
        begun_s = monotonic()
        claimed = await self._claim(want, order)
        if claimed.entries:
            self.look.claimed(monotonic() - begun_s)
        return claimed

    async def _claim(self, want: Want, order: Order) -> Claimed:
        alive: list[tuple[Spot, Row]] = []
        dead: list[tuple[Spot, Row]] = []
        dead_entries: list[Entry] = []
        bound = DeadBound(dead_entries)
        expired: list[Spot] = []
        size = more = 0
        is_sure = True
        try:
            while len(alive) < want.limit and not bound.is_reached:
                need = want.limit - len(alive) + more
                await self.look.gather(need, is_sure)
                drawn = self._draws.draw(need, order)
                if not drawn:
                    break
                # What is far from the head is not looked for again.
                is_sure = False
                rows = await self._read(drawn)
                more = min(2 * need, MOST_MORE) if not rows else 0
                for at, (spot, row) in enumerate(rows):
                    if row.sent_us < want.sent_after_us:
                        expired.append(spot)
                    elif 0 < want.max_receives <= row.state.receive_count:
                        dead.append((spot, row))
                        dead_entries.append(row.entry(spot.id))
                    else:
                        alive.append((spot, row))
                        size += row.state.bytes
                    is_full = len(alive) == want.limit or (want.room_bytes and size >= want.room_bytes)
                    if is_full or bound.is_reached:
                        self.known.put_back(spot for spot, _ in rows[at + 1 :])
                        break
                if order.literal or (want.room_bytes and size >= want.room_bytes):
                    break
            now_us = self.clock.now_us()
            await self._remove_expired(expired)
            entries, dead_entries = await self._hide(alive, dead, now_us, want.timeout_us)
        except BaseException:
            self.known.put_back(spot for spot, _ in (*alive, *dead))
            self.known.put_back(expired)
            raise
        nothing = not entries
        return Claimed(
            entries,
            dead_entries,
            self.look.next_us() if nothing else None,
            now_us,
            [spot.id for spot in expired],
            size if want.room_bytes else 0,
        )

    async def _read(self, drawn: list[Spot], light: bool = False) -> list[tuple[Spot, Row]]:
        """Those of the drawn ones that count."""
        read = self.tables.states if light else self.tables.messages
        try:
            rows = await read(self.queue, [spot.id for spot in drawn])
        except BaseException:
            self.known.put_back(drawn)
            raise
        return [(spot, row) for spot in drawn if (row := self._judge(spot, rows[spot.id])) is not None]

    def _judge(self, spot: Spot, row: Row | None) -> Row | None:
        """The row, if the entry counts; else it is removed, or left for later."""
        if row is not None and row.state.spot(spot.id) == spot and not row.state.adopted:
            return row
        segment = self.directory.segments.get(spot.segment)
        self._draws.collided += row is not None
        self._own.pop(spot.id, None)
        if row is not None and row.state.adopted:
            self._tasks.run(self.strayed([(spot, row)]))
            return None
        is_over = row is not None and row.state.turn > spot.turn
        # A message that is being sent may have its entry before its row.
        is_gone = row is None and (
            spot.turn > 0
            or segment is None
            or (segment.owner == self._front_end and segment.is_final)
            or segment.is_closed(self.clock.now_us())
        )
        self.known.taken.discard(spot)
        if is_over or is_gone:
            self.known.drop([spot])
        else:
            # The longer it has been there, the less likely it is that its row is on its way.
            now_us = self.clock.now_us()
            self.known.learn([spot], now_us + max(LATER_US, now_us - spot.visible_us))
        return None

    async def _remove_expired(self, expired: list[Spot]) -> None:
        if expired:
            await self.tables.drop_messages(self.queue, [spot.id for spot in expired])
            self.known.taken.difference_update(expired)
            self.known.drop(expired)

    async def _hide(
        self, alive: list[tuple[Spot, Row]], dead: list[tuple[Spot, Row]], now_us: int, timeout_us: int
    ) -> tuple[list[Entry], list[Entry]]:
        """Entries as they are after the claim."""
        if not alive and not dead:
            return [], []
        visible_us = now_us + timeout_us

        def received(state: State) -> tuple[int, int, int]:
            return visible_us, state.receive_count + 1, state.first_received_us or now_us

        def met(state: State) -> tuple[int, int, int]:
            return visible_us, state.receive_count, state.first_received_us

        changes = [(spot, row, *received(row.state)) for spot, row in alive]
        changes += [(spot, row, *met(row.state)) for spot, row in dead]
        changed = await self.change(changes)
        if self.members.number > 1:
            self.voice.took([spot for spot, *_ in changes])
        return changed[: len(alive)], changed[len(alive) :]

    async def change(self, changes: Sequence[tuple[Spot, Row, int, int, int]]) -> list[Entry]:
        """Give messages another time, receive count and time of the first receive; their entries then.

        Those who ask have taken them. If it fails, nobody knows whether they were changed.
        """
        fillings = await self.directory.begin(Kind.HELD, [visible_us for _, _, visible_us, _, _ in changes])
        states = [
            (spot.id, State(row.state.turn + 1, filling.segment.number, visible_us, count, first_us, row.state.bytes))
            for (spot, row, visible_us, count, first_us), (filling, _) in zip(changes, fillings, strict=True)
        ]
        new = [state.spot(id) for id, state in states]
        old = [change[0] for change in changes]
        try:
            await self.tables.add_spots(self.name, new)
            for filling, _ in fillings:
                filling.check()
            await self.tables.put_states(self.queue, states)
        except BaseException:
            # Either may count.
            self.known.taken.difference_update(old)
            for filling, _ in fillings:
                filling.segment.is_touched = True
            self.known.learn((*old, *new))
            raise
        finally:
            self.directory.finish(fillings)
        self.known.taken.difference_update(old)
        self.known.drop(old)
        self.known.learn(new)
        now_us = self.clock.now_us()
        if len(self._own) > self._most_own:
            # Others may have removed them since.
            self._own = {id: spot for id, spot in self._own.items() if spot.visible_us > now_us}
            self._most_own = max(LEAST_OWN, 2 * len(self._own))
        self._own.update((spot.id, spot) for spot in new)
        entries = [
            row._replace(state=state).entry(id) for (_, row, *_), (id, state) in zip(changes, states, strict=True)
        ]
        self._arrivals.appended(self.number, entries, now_us)
        return entries

    # One after another.

    async def quiet(self) -> None:
        """Wait for all that has begun."""
        await self._sending.quiet()
        for future in [*self._claims, *self._at_work.values()]:
            await future

    @contextlib.asynccontextmanager
    async def _alone_with(self, wanted: Sequence[int]) -> AsyncIterator[list[Spot]]:
        """What was begun with these messages before comes first, and nobody here takes them; their known entries."""
        now_us = self.clock.now_us()
        over: asyncio.Future[None] = asyncio.get_running_loop().create_future()
        before = {future for id in wanted if (future := self._at_work.get(id)) is not None}
        if not all((spot := self._own.get(id)) is not None and spot.visible_us > now_us for id in wanted):
            # A claim that has begun may take them.
            before |= self._claims
        self._at_work.update(dict.fromkeys(wanted, over))
        spots: list[Spot] = []
        try:
            # What claims have begun with is theirs.
            if not before:
                spots = self.known.take_out(wanted)
            for future in before:
                await future
            spots += self.known.take_out(wanted)
            yield spots
        finally:
            self.known.learn(spots)
            over.set_result(None)
            for id in wanted:
                if self._at_work.get(id) is over:
                    del self._at_work[id]

    # Messages by their ids.

    async def remove_all(self, wanted: Sequence[int]) -> tuple[set[int], list[int]]:
        """Those of them that were there; and those that the journal has."""
        async with self._alone_with(wanted) as spots:
            return await self._remove_all(wanted, spots)

    async def _remove_all(self, wanted: Sequence[int], taken_out: list[Spot]) -> tuple[set[int], list[int]]:
        now_us = self.clock.now_us()
        known = {id: spot for id in wanted if (spot := self._own.get(id)) is not None and spot.visible_us > now_us}
        unknown = [id for id in wanted if id not in known]
        rows = await self.tables.states(self.queue, unknown) if unknown else {}
        adopted = [id for id, row in rows.items() if row is not None and row.state.adopted]
        spots = {id: row.state.spot(id) for id, row in rows.items() if row is not None and not row.state.adopted}
        spots |= known
        if spots:
            await self.tables.drop_messages(self.queue, spots)
            for id in spots:
                self._own.pop(id, None)
            others = [spot for id, spot in spots.items() if id in rows]
            if others:
                # Who has received them need not look for them.
                self.voice.took(others)
            # Those of before, too: the message is gone.
            self.known.drop(spot for spot in taken_out if spot.id in spots)
            self.known.drop(spots.values())
        return set(spots), adopted

    async def read(self, wanted: Sequence[int]) -> dict[int, Entry]:
        """Those that are there, and that the journal does not have."""
        rows = await self.tables.messages(self.queue, wanted)
        return {id: row.entry(id) for id, row in rows.items() if row is not None and not row.state.adopted}

    async def move(self, id: int, visible_us: int, receive_count: int | None) -> bool | None:
        """None: the journal has it. See `rockdove.store.base.Physical`."""
        async with self._alone_with([id]):
            return await self._move(id, visible_us, receive_count)

    async def _move(self, id: int, visible_us: int, receive_count: int | None) -> bool | None:
        row = (await self.tables.messages(self.queue, [id]))[id]
        if row is None:
            return False
        state, now_us = row.state, self.clock.now_us()
        if state.adopted:
            return None
        if not state.receive_count:
            return False
        if receive_count is not None and (state.receive_count != receive_count or state.visible_us <= now_us):
            return False
        await self._change_one(row, id, max(visible_us, now_us), state.receive_count, state.first_received_us)
        return True

    async def _change_one(self, row: Row, id: int, visible_us: int, count: int, first_us: int) -> None:
        spot = row.state.spot(id)
        self.candidates.discard(spot)
        self.known.taken.add(spot)
        is_own = self._own.get(id) == spot
        await self.change([(spot, row, visible_us, count, first_us)])
        if not is_own:
            self.voice.took([spot])

    async def release(self, entries: Sequence[Entry]) -> list[Entry]:
        """Undo claims; those that the journal has."""
        async with self._alone_with([entry.id for entry in entries]):
            return await self._release(entries)

    async def _release(self, entries: Sequence[Entry]) -> list[Entry]:
        rows = await self.tables.messages(self.queue, [entry.id for entry in entries])
        adopted: list[Entry] = []
        now_us = self.clock.now_us()
        for entry in entries:
            row = rows[entry.id]
            if row is None:
                continue
            state = row.state
            if state.adopted:
                adopted.append(entry)
            elif state.receive_count and (state.visible_us, state.receive_count) == (
                entry.visible_us,
                entry.receive_count,
            ):
                count = state.receive_count - 1
                await self._change_one(row, entry.id, now_us, count, state.first_received_us if count else 0)
        return adopted

    # Handing over to the journal.

    async def offer(self, limit: int, room_bytes: int) -> list[tuple[Spot, Row]]:
        """Visible messages, without what they carry; nobody here gets them until they are put back, or handed over."""
        offered: list[tuple[Spot, Row]] = []
        size = 0
        is_sure = True
        try:
            while len(offered) < limit and size < room_bytes:
                await self.look.gather(limit - len(offered), is_sure)
                drawn = self._draws.draw(limit - len(offered), IN_ORDER)
                if not drawn:
                    break
                is_sure = False
                rows = await self._read(drawn, light=True)
                for at, (spot, row) in enumerate(rows):
                    if size >= room_bytes:
                        self.known.put_back(spot for spot, _ in rows[at:])
                        break
                    offered.append((spot, row))
                    size += row.state.bytes
        except BaseException:
            self.known.put_back(spot for spot, _ in offered)
            raise
        return offered

    async def hand_over(self, offered: Sequence[tuple[Spot, Row]]) -> None:
        """From now on the journal has them, or will have."""
        states = [(spot.id, _adopted(row.state)) for spot, row in offered]
        try:
            await self.tables.put_states(self.queue, states)
        except BaseException:
            self.known.put_back(spot for spot, _ in offered)
            raise

    async def strayed(self, found: Sequence[tuple[Spot, Row]]) -> None:
        """Whoever was handing them over may have died. Raises `StoreError`."""
        await self._strayed(self, found)

    def handed_over(self, offered: Sequence[tuple[Spot, Row]]) -> None:
        """The journal has them."""
        spots = [spot for spot, _ in offered]
        self.known.taken.difference_update(spots)
        self.known.drop(spots)

    def keep(self, offered: Sequence[tuple[Spot, Row]]) -> None:
        """The journal may not have them: they are looked at again."""
        self.known.put_back(spot for spot, _ in offered)


def _adopted(state: State) -> State:
    return State(
        state.turn + 1,
        state.segment,
        state.visible_us,
        state.receive_count,
        state.first_received_us,
        state.bytes,
        True,
    )
