"""Queues of which messages are in the index, in the journal, or in both: each verb goes where the message is.

Standard queues with the claim `fast` have in the index what is sent to them. Whatever must be agreed on is in the
journal: messages that are leased, published or moved, and all of a queue while some have groups (fair queues). A
message that is in the index goes over into the journal when it is leased, or when its queue is `strict` by now. It
keeps its id.
"""

import asyncio
from collections.abc import Callable, Sequence
from random import Random
from time import monotonic
from typing import Any

from msgspec.structs import replace

from rockdove.core.attribute import CLAIM, DRAW, FAST, LITERAL
from rockdove.core.clock import SECOND_US, Clock
from rockdove.core.message import Entry
from rockdove.core.queue import PhysicalRecord, QueueRecord
from rockdove.store.base import Appended, Claimed, Counts, Draft, Hint, Leased, Page, Scanned, Sight, Want
from rockdove.store.cassandra.agreed import Replicas
from rockdove.store.cassandra.index import browse
from rockdove.store.cassandra.index.crowd import Crowd
from rockdove.store.cassandra.index.draw import Order
from rockdove.store.cassandra.index.entry import is_indexed
from rockdove.store.cassandra.index.handover import Handover
from rockdove.store.cassandra.index.members import PlaceMembers
from rockdove.store.cassandra.index.merge import both, merged, rest_of
from rockdove.store.cassandra.index.place import Place
from rockdove.store.cassandra.index.removal import Removal
from rockdove.store.cassandra.index.tables import Tables
from rockdove.store.cassandra.index.voice import Voice, hear, number_in
from rockdove.store.cassandra.peers import Peers
from rockdove.store.cassandra.session import Session
from rockdove.store.common.arrivals import ArrivalListeners
from rockdove.store.common.gone import gone
from rockdove.store.common.ledger import Ledger
from rockdove.store.common.outcome import outcome_of
from rockdove.store.common.tasks import Tasks
from rockdove.store.remote import asked

# Seconds between two looks into the journal of a queue that is received from, and into the index of a strict one.
JOURNAL_S = 0.5
LEFT_S = 5.0
# A message that was sent so long before it is appended was moved here.
MOVED_US = 30 * SECOND_US
# Physical queues that are kept in memory though nobody uses them at the moment.
MOST_KEPT = 1_000


class IndexedQueues:
    """The link of the objects in `store.remote`. ``replicas`` has the journals."""

    def __init__(
        self,
        session: Session,
        clock: Clock,
        rng: Random,
        ledger: Ledger,
        replicas: Replicas,
        arrivals: ArrivalListeners,
        peers: Peers,
        tasks: Tasks,
        loop: asyncio.AbstractEventLoop,
    ) -> None:
        self._session = session
        self._clock = clock
        self._rng = rng
        self._ledger = ledger
        self._replicas = replicas
        self._arrivals = arrivals
        self._peers = peers
        self._tasks = tasks
        # What somebody has asked for is finished, also if the store is closed meanwhile.
        self._asked = Tasks(loop)
        self.tables = Tables(session)
        self._crowd = Crowd(clock)
        self._handover = Handover(ledger, replicas, tasks)
        self._removal = Removal(self.tables, replicas.notes, clock, tasks, self._make)
        self._places: dict[int, Place] = {}
        # When the journal of a queue, and the index of a strict one, was looked into.
        self._caught_up_s: dict[str, float] = {}
        self._left_s: dict[int, tuple[float, bool]] = {}
        self._verbs: dict[Any, Callable[..., Any]] = {
            asked.Append: self._append,
            asked.ClaimEntries: self._claim,
            asked.Move: self._move,
            asked.Remove: self._remove,
            asked.RemoveAll: self._remove_all,
            asked.Release: self._release,
            asked.CountEntries: self._count,
            asked.Find: self._find,
            asked.Read: self._read,
            asked.Oldest: self._oldest,
            asked.Sights: self._sights,
            asked.Scan: self._scan,
            asked.Expire: self._expire,
        }

    @property
    def is_busy(self) -> bool:
        return self._asked.is_busy or self.tables.is_busy

    # As a link.

    def ask(self, done: Callable[[Any], None], kind: Any, *words: Any) -> None:
        verb = self._verbs.get(kind)
        if verb is not None and (found := self._found(words[0])) is not None:
            self._asked.tell(verb(*found, *words), done)
        elif kind is asked.MakeLease:
            self._asked.tell(self._lease(*words), done)
        else:
            self._replicas.ask(done, kind, *words)

    ask_together = ask

    def _found(self, number: int) -> tuple[QueueRecord, Place] | None:
        """A physical queue that may have something in the index."""
        queue = self._ledger.queue_with(number)
        if queue is None or queue.fifo:
            return None
        return queue, self.place(queue, number)

    def place(self, queue: QueueRecord, number: int) -> Place:
        record = next(part for part in queue.physical if part.number == number)
        place = self._places.get(number)
        if place is None or place.record.prefix != record.prefix:
            place = self._places[number] = self._make(queue.uid, record)
            self._let_go()
        place.record = record
        place.look.is_alone = not self._peers.others
        return place

    def _make(self, uid: str, record: PhysicalRecord) -> Place:
        front_end = self._session.front_end
        voice = Voice(record.number, front_end, lambda text: self._peers.tell(text, 0))
        return Place(
            uid,
            record,
            self.tables,
            self._clock,
            self._rng,
            self._arrivals,
            self._tasks,
            PlaceMembers(front_end, voice.receives),
            voice,
            self._handover.strayed,
        )

    def _let_go(self) -> None:
        if len(self._places) <= MOST_KEPT:
            return
        for number, place in list(self._places.items())[: len(self._places) // 2]:
            queue = self._ledger.queue_with(number)
            if queue is None or (number not in self._arrivals.heard and not place.is_busy):
                place.directory.end_all()
                place.forget()
                del self._places[number]

    async def _journal(self, kind: Any, *words: Any) -> Any:
        return await outcome_of(lambda done: self._replicas.ask(done, kind, *words))

    # Telling each other.

    def heard(self, text: str) -> None:
        """Another front-end has told something of a physical queue."""
        place = self._places.get(number_in(text))
        if place is not None:
            hear(text, place.look)

    def look(self, number: int) -> None:
        """Somebody waits for its messages."""
        place = self._places.get(number)
        if place is not None:
            place.look.soon()

    async def hint(self, number: int) -> Hint:
        """Of the index alone; where nothing can be there, an empty one. Raises `StoreError`."""
        found = self._found(number)
        if found is None or not (_is_fast(found[0]) or await self._is_left(*found)):
            return Hint(None, False, False)
        _, place = found
        await place.look.gather(1, is_sure=True)
        next_us = 0 if place.candidates.visible else place.look.next_us()
        may_hold_any = bool(place.directory.segments)
        if may_hold_any and place.record.leaves:
            await place.quiet()
            may_hold_any = (await browse.count(place)).total > 0
        return Hint(next_us, may_hold_any, False)

    # Sending.

    async def _append(self, queue: QueueRecord, place: Place, number: int, drafts: Sequence[Draft]) -> list[Appended]:
        before_us = self._clock.now_us() - MOVED_US
        is_agreed_on = not _is_fast(queue) or any(_is_agreed_on(draft, before_us) for draft in drafts)
        if is_agreed_on or self._replicas.of(queue.uid).is_fair:
            appended: list[Appended] = await self._journal(asked.Append, number, list(drafts))
            return appended
        if place.record.leaves:
            raise gone()
        return await place.append(drafts) if drafts else []

    # Receiving.

    async def _claim(self, queue: QueueRecord, place: Place, number: int, want: Want) -> Claimed:
        with place.claiming():
            return await self._claim_both(queue, place, number, want)

    async def _claim_both(self, queue: QueueRecord, place: Place, number: int, want: Want) -> Claimed:
        replica = self._replicas.of(queue.uid)
        await replica.journal.open()
        if not _is_fast(queue) or replica.is_fair:
            # Who comes first is for the journal to say.
            if await self._may_hold(queue, place):
                await self._handover.hand_over(queue.uid, place, want.limit, 1 << 62)
            claimed: Claimed = await self._journal(asked.ClaimEntries, number, want)
            return claimed
        self._catch_up(queue.uid)
        if want.max_in_flight:
            places = [self.place(queue, part.number) for part in queue.physical]
            in_flight = await self._crowd.in_flight(places, want.max_in_flight)
            if in_flight >= want.max_in_flight:
                return Claimed([], [], crowded=True)
            want = replace(want, max_in_flight=want.max_in_flight - in_flight)
            if replica.in_flight >= want.max_in_flight:
                # Some of them may be visible again: the journal knows.
                looked: Claimed = await self._journal(asked.ClaimEntries, number, replace(want, limit=0))
                if looked.crowded:
                    return looked
        order = _order(queue, want)
        ready_us = replica.ready_us(number)
        head = place.candidates.head()
        if ready_us is not None and (head is None or ready_us < head.visible_us):
            first = await self._journal(asked.ClaimEntries, number, want)
            rest = rest_of(want, first)
            return first if rest is None else both(first, await place.claim(rest, order))
        first = await place.claim(want, order)
        rest = rest_of(want, first)
        if rest is None or (first.entries and replica.ready_us(number) is None):
            return first
        await self._handover.settled(place)
        return both(first, await self._journal(asked.ClaimEntries, number, rest))

    def _catch_up(self, uid: str) -> None:
        """See now and then what others have done in the journal; they also tell."""
        now_s = monotonic()
        if now_s - self._caught_up_s.get(uid, 0.0) > JOURNAL_S:
            if len(self._caught_up_s) > MOST_KEPT:
                self._caught_up_s.clear()
            self._caught_up_s[uid] = now_s
            self._tasks.run(self._replicas.of(uid).journal.catch_up())

    # Messages by their ids.

    async def _move(
        self, queue: QueueRecord, place: Place, number: int, id: int, visible_us: int, receive_count: int | None
    ) -> bool:
        moved = await place.move(id, visible_us, receive_count) if is_indexed(id) else None
        return bool(await self._journal(asked.Move, number, id, visible_us, receive_count) if moved is None else moved)

    async def _remove(self, queue: QueueRecord, place: Place, number: int, id: int, receive_count: int) -> bool:
        if is_indexed(id):
            entry = (await place.read([id])).get(id)
            if entry is not None:
                is_held = entry.receive_count == receive_count and entry.visible_us > self._clock.now_us()
                return is_held and id in (await place.remove_all([id]))[0]
        return bool(await self._journal(asked.Remove, number, id, receive_count))

    async def _remove_all(self, queue: QueueRecord, place: Place, number: int, ids: Sequence[int]) -> list[bool]:
        wanted = list(dict.fromkeys(ids))
        indexed = [id for id in wanted if is_indexed(id)]
        there, adopted = await place.remove_all(indexed) if indexed else (set(), [])
        others = [id for id in wanted if not is_indexed(id)] + adopted
        # What somebody had claimed here while another handed it over is in both.
        others += [id for id in self._replicas.of(queue.uid).known(number, indexed) if id not in adopted]
        if others:
            flags = await self._journal(asked.RemoveAll, number, others)
            there |= {id for id, was_there in zip(others, flags, strict=True) if was_there}
        # Of one that is named twice, the first counts.
        return [id in there and id not in ids[:at] for at, id in enumerate(ids)]

    async def _release(self, queue: QueueRecord, place: Place, number: int, entries: Sequence[Entry]) -> None:
        indexed = [entry for entry in entries if is_indexed(entry.id)]
        others = [entry for entry in entries if not is_indexed(entry.id)]
        if indexed:
            others += await place.release(indexed)
        if others:
            await self._journal(asked.Release, number, others)

    async def _find(self, queue: QueueRecord, place: Place, number: int, id: int) -> Entry | None:
        await place.quiet()
        entry = (await place.read([id])).get(id) if is_indexed(id) else None
        return entry or await self._journal(asked.Find, number, id)

    async def _read(self, queue: QueueRecord, place: Place, number: int, ids: Sequence[int]) -> list[Entry]:
        await place.quiet()
        found = await place.read([id for id in ids if is_indexed(id)])
        others = [id for id in ids if id not in found]
        if others:
            found |= {entry.id: entry for entry in await self._journal(asked.Read, number, others)}
        return [found[id] for id in ids if id in found]

    # Looking at all.

    async def _count(self, queue: QueueRecord, place: Place, number: int) -> Counts:
        await place.quiet()
        # The index first: what somebody has left between the two is in the journal then.
        indexed = await browse.count(place) if await self._may_hold(queue, place) else Counts(0, 0, 0)
        agreed: Counts = await self._journal(asked.CountEntries, number)
        return agreed + indexed

    async def _oldest(self, queue: QueueRecord, place: Place, number: int) -> int | None:
        await place.quiet()
        times = [await self._journal(asked.Oldest, number)]
        if await self._may_hold(queue, place):
            times.append(await browse.oldest(place))
        return min((time for time in times if time is not None), default=None)

    async def _sights(self, queue: QueueRecord, place: Place, number: int, limit: int) -> list[Sight]:
        await place.quiet()
        sights: list[Sight] = await self._journal(asked.Sights, number, limit)
        if await self._may_hold(queue, place):
            sights = sights + await browse.sight(place, limit)
        return sorted(sights, key=lambda each: (each.visible_us, each.id))[:limit]

    async def _scan(self, queue: QueueRecord, place: Place, number: int, page: Page) -> Scanned:
        await place.quiet()
        agreed: Scanned = await self._journal(asked.Scan, number, page)
        if not await self._may_hold(queue, place):
            return agreed
        return merged(agreed, await browse.scan(place, page), page)

    async def _expire(self, queue: QueueRecord, place: Place, number: int, sent_after_us: int) -> list[int]:
        await place.quiet()
        expired: list[int] = await self._journal(asked.Expire, number, sent_after_us)
        if await self._may_hold(queue, place):
            expired = expired + await browse.expire(place, sent_after_us)
        return expired

    async def _may_hold(self, queue: QueueRecord, place: Place) -> bool:
        return _is_fast(queue) or await self._is_left(queue, place)

    async def _is_left(self, queue: QueueRecord, place: Place) -> bool:
        """Whether a strict queue has something in the index, from the time when it was not."""
        at_s, is_left = self._left_s.get(place.number, (0.0, True))
        if monotonic() - at_s > LEFT_S:
            await place.directory.look(everything=True)
            if len(self._left_s) > MOST_KEPT:
                self._left_s.clear()
            is_left = bool(place.directory.segments)
            self._left_s[place.number] = (monotonic(), is_left)
        return is_left

    # From the index into the journal.

    async def _lease(self, name: Any, numbers: Sequence[int], want: Want, even_empty: bool) -> Leased:
        queue = self._ledger.queue(name.queue)
        if queue is not None and not queue.fifo and want.limit > 0:
            replica = self._replicas.of(queue.uid)
            await replica.journal.catch_up()
            if not replica.store.leases.knows(name):
                limit, room_bytes = want.limit, want.room_bytes or 1 << 62
                there = {part.number for part in queue.physical}
                for number in numbers:
                    if limit <= 0 or room_bytes <= 0:
                        break
                    if number not in there:
                        continue
                    place = self.place(queue, number)
                    if await self._may_hold(queue, place):
                        taken, size = await self._handover.hand_over(queue.uid, place, limit, room_bytes)
                        limit, room_bytes = limit - taken, room_bytes - size
        leased: Leased = await self._journal(asked.MakeLease, name, list(numbers), want, even_empty)
        return leased

    # Physical queues that go.

    async def close(self, queue: QueueRecord, numbers: Sequence[int]) -> None:
        """They take no more messages, being empty. Raises `StillHolds` if one is not, and then all go on."""
        if not queue.fifo:
            await self._removal.close([self.place(queue, number) for number in numbers])

    async def clear(self, uid: str, records: Sequence[PhysicalRecord]) -> None:
        """Remove all that physical queues have which are no more. Raises `StoreError`."""
        for record in records:
            if (known := self._places.pop(record.number, None)) is not None:
                known.forget()
        await self._removal.clear(uid, records)

    async def begin(self) -> None:
        """Clear what others have left. Raises `StoreError`."""
        for uid, record in await self._removal.left():
            self._tasks.run(self.clear(uid, [record]))


def _is_fast(queue: QueueRecord) -> bool:
    return queue.attributes.get(CLAIM, FAST) == FAST


def _is_agreed_on(draft: Draft, before_us: int) -> bool:
    """Whether it must be in the journal: a message that comes once, has a group, or was sent before a time."""
    extra = draft.message.extra
    has_group = extra is not None and extra.group_id is not None
    return draft.once_key is not None or has_group or draft.message.sent_us < before_us


def _order(queue: QueueRecord, want: Want) -> Order:
    is_auto = queue.attributes.get("RockdoveOrderHint") == "auto"
    return Order(None if is_auto else want.order_hint, queue.attributes.get(DRAW) == LITERAL)
