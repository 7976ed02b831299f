"""A queue that all front-ends agree on: each has it in memory, and does what its journal says.

A verb that changes something becomes an entry of the journal, together with others that wait. When the entry is added,
every front-end does it, in the order of the journal, at the time that the entry names, on the same state: so all come
to the same result, and the one that has asked tells it. What changes nothing is answered from memory, once all entries
that were added before are taken.

No clock moves the state but that of the entries: a look must not change what the next entry meets.
"""

import asyncio
from collections.abc import Callable, Iterable, Iterator, Sequence
from contextlib import contextmanager
from random import Random
from typing import Any, Protocol

import msgspec
from msgspec import Struct

from rockdove.core.clock import SECOND_US, Clock
from rockdove.core.errors import StoreError, StoreInterrupted
from rockdove.core.message import Entry, Message
from rockdove.core.queue import QueueRecord
from rockdove.store.base import Claimed, Draft, Hint, Physical
from rockdove.store.cassandra import command
from rockdove.store.cassandra.bodies import Bodies, Reference, reference, referred_bytes
from rockdove.store.cassandra.index.entry import AGREED
from rockdove.store.cassandra.journal import PART, Journal
from rockdove.store.cassandra.session import Session
from rockdove.store.common.arrivals import ArrivalListeners
from rockdove.store.common.gone import GonePhysical
from rockdove.store.common.tasks import Tasks
from rockdove.store.memory.store import MemoryStore, QueueState
from rockdove.store.remote import asked
from rockdove.store.remote.perform import browsing_verbs, lease_verbs, physical_verbs, publication_verbs

# Commands in one entry, and about how many bytes they have.
MOST_COMMANDS = 500
ENTRY_BYTES = 256 * 1024
# Seconds after which bodies of removed messages are removed, many at a time.
UNNEEDED_S = 0.5
# A queue's blocks of bodies that nothing refers to are removed after so many seconds: somebody may be about to refer.
UNUSED_S = 600
# For so long it is remembered which blocks were removed.
SWEPT_US = 86_400 * SECOND_US


class _State(Struct, array_like=True):
    """A queue as it is written down. ``swept``: blocks that were removed, and when."""

    record_version: int
    log_us: int
    swept: dict[int, int]
    queue: QueueState | None


_decode_state = msgspec.msgpack.Decoder(_State).decode

# What is logged, and what is only looked at.
_CHANGES = frozenset(command.Command.__args__)

Told = Callable[[Any], None]


class Following(Protocol):
    """What replicas tell the store of."""

    def added(self, uid: str, version: int) -> None:
        """This front-end has added an entry."""

    def landing(self, uid: str, is_own: bool) -> None:
        """Something is published, by this front-end or another, and has not landed."""


class _LogClock:
    """Tells the time of the last entry, so that the same is done with it everywhere; to those who look, what it is."""

    def __init__(self, clock: Clock) -> None:
        self._clock = clock
        self.log_us = 0
        self._looking_us: int | None = None

    def now_us(self) -> int:
        return self.log_us if self._looking_us is None else self._looking_us

    def own_us(self) -> int:
        """For an entry that is to be added."""
        return max(self.log_us, self._clock.now_us())

    @contextmanager
    def looking(self) -> Iterator[None]:
        """What was not due when somebody began to look does not become due meanwhile."""
        self._looking_us = self.own_us()
        try:
            yield
        finally:
            self._looking_us = None


class Replica:
    """One logical queue. For the event loop's thread."""

    def __init__(
        self,
        uid: str,
        session: Session,
        clock: Clock,
        bodies: Bodies,
        arrivals: ArrivalListeners,
        following: Following,
        tasks: Tasks,
        record: Callable[[], tuple[QueueRecord | None, int]],
    ) -> None:
        """``record`` gives the queue's record, and the version of the records."""
        self.uid = uid
        self._tasks = tasks
        self._record = record
        self._bodies = bodies
        self._arrivals = arrivals
        self._following = following
        self._clock = _LogClock(clock)
        self._rng = Random()
        self.journal = Journal(f"queue {uid}", session, self._take, self._load, self._dump)
        # Verbs that wait for their turn, and who is told.
        self._waiting: list[tuple[Any, Told]] = []
        self._task: asyncio.Task[None] | None = None
        # The entry that this front-end is adding, and who is told of its outcomes, by their tokens.
        self._adding: tuple[bytes, dict[int, Told]] | None = None
        self._own: dict[int, Told] = {}
        # References that the entries have removed, while they are this front-end's.
        self._removed: list[Reference] = []
        # What can be removed soon: somebody may just be reading it.
        self._unneeded: list[Reference] = []
        self.record_version = 0
        self._swept: dict[int, int] = {}
        self._is_new = True
        self.store: MemoryStore
        self._verbs: dict[type, Callable[[Any], None]] = {}
        self._new_store()

    def _new_store(self) -> None:
        self.store = MemoryStore(self._clock, self._rng, self._arrivals, referred_bytes, self._forgotten, AGREED)
        self.store.publications.on_landing(self._heard_of_landing)
        self._verbs = {
            **physical_verbs(self),
            **browsing_verbs(self),
            **lease_verbs(self),
            **publication_verbs(self),
            command.SetQueue: self._set_queue,
            command.ClosePlaces: self._close_places,
            command.EndQueue: self._end_queue,
            command.PassTime: self._pass_time,
            command.LandChunk: self._land,
            command.SweepBlocks: self._sweep_blocks,
            command.ForgetOnce: self._forget_once,
            command.Adopt: self._adopt,
        }

    def _heard_of_landing(self) -> None:
        # What was published before this front-end came may be nobody's any more.
        self._following.landing(self.uid, bool(self._own) or not self.journal.is_loaded)

    # Asking.

    def ask(self, verb: Any, done: Told) -> None:
        """Have a verb done; its token is not looked at."""
        self._waiting.append((verb, done))
        if self._task is None:
            self._task = asyncio.get_running_loop().create_task(self._work())

    async def perform(self, verb: Any) -> Any:
        """Raises `StoreError`."""
        future: asyncio.Future[Any] = asyncio.get_running_loop().create_future()

        def done(outcome: Any) -> None:
            if not future.done():
                future.set_result(outcome)

        self.ask(verb, done)
        outcome = await future
        if isinstance(outcome, StoreError):
            raise outcome
        return outcome

    @property
    def is_busy(self) -> bool:
        return self._task is not None

    def close(self) -> None:
        if self._task is not None:
            self._task.cancel()

    def forget(self) -> None:
        """Nobody uses it any more: it goes at once, and not when somebody looks for circles."""
        self.store.forget()
        vars(self).clear()

    async def _work(self) -> None:
        try:
            while self._waiting:
                some = self._next_together()
                try:
                    await self._do(some)
                except StoreError as error:
                    for _, done in some:
                        done(error)
        finally:
            self._task = None

    def _next_together(self) -> list[tuple[Any, Told]]:
        """As many as fit into one entry."""
        size, number = 0, 0
        for verb, _ in self._waiting[:MOST_COMMANDS]:
            size += _roughly(verb)
            if number and size > ENTRY_BYTES:
                break
            number += 1
        some = self._waiting[:number]
        del self._waiting[:number]
        return some

    async def _do(self, some: list[tuple[Any, Told]]) -> None:
        """Each is taken out of ``some`` when it is done. Raises `StoreError`."""
        await self.journal.open()
        self._heed_record(some)
        referred = await self._refer(some)
        is_current = False
        while some:
            changes = self._changes(referred)
            if not changes and not is_current:
                await self.journal.catch_up()
                is_current = True
                continue
            if changes:
                if await self._add(changes):
                    del some[: len(changes)], referred[: len(changes)]
                is_current = True
                continue
            with self._clock.looking():
                if not self._is_due:
                    verb, done = referred.pop(0)
                    some.pop(0)
                    self._look(verb, done)
                    continue
            # To look would change something, and not for others: so it is written down.
            await self._add([(command.PassTime(0), _ignore)])

    def _heed_record(self, some: list[tuple[Any, Told]]) -> None:
        """What the record says comes first, if it was not written down yet."""
        record, version = self._record()
        known = self.store.ledger.queue(self.uid)
        is_new = record is not None and version > self.record_version
        if record is not None and is_new and (known is None or known.physical != record.physical):
            some.insert(0, (command.SetQueue(0, record, version), _ignore))

    def _changes(self, verbs: list[tuple[Any, Told]]) -> list[tuple[Any, Told]]:
        """Those at the head that have to be written down, to judge by what is known."""
        number = 0
        while number < len(verbs) and self._is_change(verbs[number][0], number):
            number += 1
        return verbs[:number]

    def _is_change(self, verb: Any, before: int) -> bool:
        """``before``: so many changes come first."""
        if isinstance(verb, asked.ClaimEntries):
            return before > 0 or self.ready_us(verb.physical) is not None or verb.want.attempt is not None
        return type(verb) in _CHANGES

    @property
    def _is_due(self) -> bool:
        return any(place.pile is not None and place.pile.is_due for place in self.store.places)

    async def _refer(self, some: list[tuple[Any, Told]]) -> list[tuple[Any, Told]]:
        """Bodies are stored before anything refers to them. Raises `StoreError`."""
        drafts = [draft for verb, _ in some for draft in _new_drafts(verb)]
        light = iter(await self._bodies.refer(self.uid, drafts)) if drafts else iter(())
        referred: list[tuple[Any, Told]] = []
        for verb, done in some:
            told = done
            if isinstance(verb, asked.StageChunk):
                parcels = await self._bodies.refer_parcels(self.uid, verb.parcels)
                verb = msgspec.structs.replace(verb, parcels=parcels)
            elif isinstance(verb, asked.Append):
                verb = msgspec.structs.replace(verb, drafts=[next(light) for _ in verb.drafts])
            elif isinstance(verb, asked.PublishAttempt):
                parts = [(number, [next(light) for _ in drafts]) for number, drafts in verb.parts]
                verb = msgspec.structs.replace(verb, parts=parts)
            referred.append((verb, told))
        return referred

    async def _add(self, changes: list[tuple[Any, Told]]) -> bool:
        """False: others have changed something meanwhile. Raises `StoreError`."""
        for token, (verb, _) in enumerate(changes):
            verb.token = token
        entry = command.encode(command.Said(self._clock.own_us(), [verb for verb, _ in changes]))
        self._adding = (entry, {token: done for token, (_, done) in enumerate(changes)})
        try:
            if not await self.journal.add(entry, self.journal.version):
                return False
        finally:
            self._adding = None
        self._following.added(self.uid, self.journal.version)
        if self._removed:
            if not self._unneeded:
                asyncio.get_running_loop().call_later(UNNEEDED_S, self._remove)
            self._unneeded += self._removed
            self._removed = []
        if self.journal.version % (2 * PART) == 0:
            self._tasks.run(self.keep())
        return True

    def _remove(self) -> None:
        unneeded, self._unneeded = self._unneeded, []
        self._tasks.run(self._bodies.remove(self.uid, unneeded))

    def _look(self, verb: Any, done: Told) -> None:
        """What changes nothing. All that was added before is taken."""
        if isinstance(verb, asked.ClaimEntries):
            done(self._claim_nothing(verb))
            return
        self._own = {0: done}
        verb.token = 0
        try:
            self._verbs[type(verb)](verb)
        finally:
            self._own = {}

    def _claim_nothing(self, verb: asked.ClaimEntries) -> Claimed:
        place = self.store.find(verb.physical)
        if place is None or place.pile is None:
            return Claimed([], [], gone=True)
        if place.pile.is_crowded(verb.want):
            return Claimed([], [], crowded=True)
        return Claimed([], [], place.pile.next_visible_us(), self._clock.now_us(), landing=place.is_landing)

    @property
    def is_fair(self) -> bool:
        """Whether messages with groups are there, as far as this front-end knows."""
        return any(place.pile is not None and place.pile.grouped for place in self.store.places)

    @property
    def in_flight(self) -> int:
        """At most so many, as far as this front-end knows."""
        return sum(place.pile.hidden for place in self.store.places if place.pile is not None)

    def ready_us(self, number: int) -> int | None:
        """Since when the first visible message is, as far as this front-end knows."""
        place = self.store.find(number)
        next_us = None if place is None or place.pile is None else place.pile.next_visible_us()
        return next_us if next_us is not None and next_us <= self._clock.own_us() else None

    def known(self, number: int, ids: Iterable[int]) -> list[int]:
        """Those of the messages that are in the journal, as far as this front-end knows."""
        place = self.store.find(number)
        return [] if place is None or place.pile is None else [id for id in ids if place.pile.has(id)]

    async def hint(self, number: int) -> Hint:
        """Raises `StoreError`."""
        await self.journal.catch_up()
        place = self.store.find(number)
        if place is None or place.pile is None:
            return Hint(None, False, False)
        next_us = 0 if place.is_landing else place.pile.next_visible_us()
        return Hint(next_us, place.holds_any, place.pile.may_be_noisy)

    # Doing what the journal says.

    def _take(self, version: int, entry: bytes) -> None:
        said = command.decode(entry)
        self._own = self._adding[1] if self._adding is not None and self._adding[0] is entry else {}
        self._removed = []
        self._clock.log_us = max(self._clock.log_us, said.now_us)
        self._rng.seed(version)
        try:
            for verb in said.commands:
                self._perform(verb)
        finally:
            self._own = {}

    def _perform(self, verb: Any) -> None:
        if self._swept and self._refers_to_swept(verb):
            self.outcome(verb.token)(
                StoreInterrupted("the message came so late that its body was removed; send it again")
            )
            return
        try:
            self._verbs[type(verb)](verb)
        except Exception as error:
            # That is a defect. It is the same in all front-ends, and the next entries are done as ever.
            context = {"message": f"a {type(verb).__name__} in the journal of a queue failed", "exception": error}
            asyncio.get_running_loop().call_exception_handler(context)
            self.outcome(verb.token)(StoreError(f"{type(error).__name__}: {error}"))

    def outcome(self, token: int, kind: Any = None) -> Told:
        """See `rockdove.store.remote.perform.Desk`."""
        return self._own.get(token, _ignore)

    def physical(self, number: int) -> Physical:
        return self.store.find(number) or GonePhysical(number)

    def _forgotten(self, entry: Entry) -> None:
        if self._own:
            self._removed.append(reference(entry.message.body))

    def _refers_to_swept(self, verb: Any) -> bool:
        bodies: list[str | bytes] = [draft.message.body for draft in _drafts(verb)]
        if isinstance(verb, asked.StageChunk):
            bodies = [parcel.body for parcel in verb.parcels]
        return any(reference(body).block in self._swept for body in bodies)

    # Commands of our own.

    def _set_queue(self, verb: command.SetQueue) -> None:
        if verb.version > self.record_version:
            self.record_version = verb.version
            self.store.set_queue(verb.queue)
        self.outcome(verb.token)(None)

    def _close_places(self, verb: command.ClosePlaces) -> None:
        self.outcome(verb.token)(self.store.close_places(verb.numbers))

    def _end_queue(self, verb: command.EndQueue) -> None:
        self.store.end_queue(self.uid)
        self.outcome(verb.token)(None)

    def _pass_time(self, verb: command.PassTime) -> None:
        for place in self.store.places:
            if place.pile is not None:
                place.pile.count()

    def _land(self, verb: command.LandChunk) -> None:
        publications, done = self.store.publications, self.outcome(verb.token)
        landing = publications.first_landing(verb.name)
        if landing is None or (landing.attempt, landing.chunk) != (verb.attempt, verb.chunk):
            done(None)
            return
        parts = [(self.physical(number), places) for number, places in verb.parts]
        publications.land(landing, verb.drafts, parts, done)

    def _forget_once(self, verb: command.ForgetOnce) -> None:
        self.store.forget_once(self.uid, verb.keys)
        self.outcome(verb.token)(None)

    def _adopt(self, verb: command.Adopt) -> None:
        place = self.store.find(verb.physical)
        if place is not None:
            place.adopt(verb.entries)
        self.outcome(verb.token)(None)

    def _sweep_blocks(self, verb: command.SweepBlocks) -> None:
        now_us = self._clock.now_us()
        self._swept = {block: at_us for block, at_us in self._swept.items() if now_us - at_us < SWEPT_US}
        self._swept |= dict.fromkeys(verb.blocks, now_us)
        self.outcome(verb.token)(None)

    # Snapshots.

    def _load(self, data: bytes | None) -> None:
        if not self._is_new:
            before = self.store
            self._new_store()
            before.publications.fail_waiting(StoreInterrupted("this front-end has fallen behind; ask again"))
        self._is_new = False
        state = _State(0, 0, {}, None) if data is None else _decode_state(data)
        self.record_version = state.record_version
        self._clock.log_us = state.log_us
        self._swept = state.swept
        if state.queue is not None:
            self.store.take_state(state.queue)
            if state.queue.publications.landing:
                self._following.landing(self.uid, True)

    def _dump(self) -> bytes:
        record = self.store.ledger.queue(self.uid)
        queue = None if record is None else self.store.state(self.uid)
        return command.encode(_State(self.record_version, self._clock.log_us, self._swept, queue))

    async def keep(self) -> None:
        """Keep a snapshot, and remove bodies that nothing refers to. Raises `StoreError`."""
        version, data = self.journal.version, self._dump()
        kept = {reference(message.body).block for message in self._messages()}
        kept |= {reference(parcel.body).block for parcel in self.store.publications.parcels()}
        await self.journal.keep(data, version)
        unused = await self._bodies.unused(self.uid, kept, self._clock.own_us() - UNUSED_S * SECOND_US)
        if unused:
            await self.perform(command.SweepBlocks(0, unused))
            await self._bodies.drop(self.uid, unused)

    def _messages(self) -> Iterator[Message]:
        for place in self.store.places:
            if place.pile is not None:
                yield from place.pile.messages()


def _ignore(outcome: Any) -> None:
    pass


def _new_drafts(verb: Any) -> Sequence[Draft]:
    """Those whose bodies are to be stored."""
    if isinstance(verb, asked.Append):
        return verb.drafts
    if isinstance(verb, asked.PublishAttempt):
        return [draft for _, drafts in verb.parts for draft in drafts]
    return ()


def _drafts(verb: Any) -> Sequence[Draft]:
    """Also those whose bodies were stored when they were staged."""
    return verb.drafts if isinstance(verb, command.LandChunk) else _new_drafts(verb)


def _roughly(verb: Any) -> int:
    """About how many bytes a verb has in an entry."""
    if isinstance(verb, asked.StageChunk):
        return 150 * len(verb.parcels)
    if isinstance(verb, asked.RemoveAll):
        return 20 + 9 * len(verb.ids)
    if isinstance(verb, command.Adopt):
        return 20 + 60 * len(verb.entries)
    return 100 + 200 * len(_drafts(verb))
