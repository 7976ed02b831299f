"""Queues that all front-ends agree on, as physical queues, leases and publications: each verb goes to its replica."""

import asyncio
import contextlib
import logging
from collections import OrderedDict
from collections.abc import Callable, Sequence
from functools import partial
from random import Random
from time import monotonic
from typing import Any, Protocol

from msgspec.structs import replace

from rockdove.core.clock import Clock, SystemClock
from rockdove.core.errors import StoreError
from rockdove.core.ids import physical_of
from rockdove.core.lease import Holding
from rockdove.core.message import Entry
from rockdove.core.queue import PhysicalRecord, QueueRecord
from rockdove.store.base import UNKNOWN, Appended, Claimed, Done, Draft, Hint, Leased, Physical, Scanned
from rockdove.store.base.lease import Outcome
from rockdove.store.cassandra import command
from rockdove.store.cassandra.bodies import Bodies
from rockdove.store.cassandra.journal import EntriesMissing
from rockdove.store.cassandra.note import DROPPED, LANDING, LEASE, Notes
from rockdove.store.cassandra.replica import Following, Replica
from rockdove.store.cassandra.session import Session
from rockdove.store.common.arrivals import ArrivalListeners
from rockdove.store.common.gone import GonePhysical
from rockdove.store.common.ledger import Ledger
from rockdove.store.common.outcome import outcome_of
from rockdove.store.common.tasks import Tasks
from rockdove.store.memory.store import MemoryStore
from rockdove.store.memory.tell import tell_soon
from rockdove.store.remote import asked
from rockdove.store.remote.perform import Asks, browsing_verbs, lease_verbs, physical_verbs, publication_verbs
from rockdove.store.remote.physical import RemotePhysical

log = logging.getLogger("rockdove")

# Queues that are kept in memory though nobody uses them at the moment.
MOST_KEPT = 1_000
# Seconds after which every front-end that lives has heard of a change.
HEARD_S = 10.0
# Seconds for which a hint holds: for whoever has asked for it.
HINTED_S = 0.05

_BY_NAME = (
    asked.MakeLease,
    asked.StageChunk,
    asked.LookAtPublication,
    asked.ReadChunks,
    asked.PublishAttempt,
    asked.CommitBatch,
    asked.AwaitLanding,
    asked.DiscardStage,
)
_NOTED = {asked.MakeLease: LEASE, asked.CommitBatch: LANDING}
_BY_QUEUE = (asked.AckLeases, asked.ReleaseLeases, asked.PageLeases, asked.ListHolders)


class Replicas:
    """All that this front-end has, by the uids of their queues. It is the link of the objects in `store.remote`."""

    def __init__(
        self,
        session: Session,
        clock: Clock,
        ledger: Ledger,
        bodies: Bodies,
        arrivals: ArrivalListeners,
        following: Following,
        tasks: Tasks,
    ) -> None:
        self._session = session
        self._clock = clock
        self._ledger = ledger
        self._bodies = bodies
        self._arrivals = arrivals
        self._following = following
        self._tasks = tasks
        self._all: OrderedDict[str, Replica] = OrderedDict()
        self.notes = Notes(session)

    @property
    def is_busy(self) -> bool:
        return any(replica.is_busy for replica in self._all.values())

    def close(self) -> None:
        for replica in self._all.values():
            replica.close()

    def get(self, uid: str) -> Replica | None:
        """One that this front-end has."""
        return self._all.get(uid)

    def of(self, uid: str) -> Replica:
        replica = self._all.get(uid)
        if replica is None:
            replica = self._all[uid] = Replica(
                uid,
                self._session,
                self._clock,
                self._bodies,
                self._arrivals,
                self._following,
                self._tasks,
                lambda: (self._ledger.queue(uid), self._ledger.version),
            )
            self._let_go()
        self._all.move_to_end(uid)
        return replica

    def _let_go(self) -> None:
        if len(self._all) > MOST_KEPT:
            for uid, replica in list(self._all.items())[: len(self._all) - MOST_KEPT]:
                if not replica.is_busy and not any(
                    place.record.number in self._arrivals.heard for place in replica.store.places
                ):
                    del self._all[uid]

    def forget(self, uid: str) -> None:
        self._all.pop(uid, None)

    # As a link.

    def ask(self, done: Callable[[Any], None], kind: Any, *words: Any) -> None:
        if kind is asked.ListHoldings:
            self._tasks.tell(self._holdings(), done)
        elif kind is asked.ListSilent:
            self._tasks.tell(self._silent(*words), done)
        else:
            self._ask(done, kind, words)

    ask_together = ask

    def _ask(self, done: Callable[[Any], None], kind: Any, words: tuple[Any, ...]) -> None:
        uid = self._uid(kind, words[0])
        verb = kind(0, *words)
        if uid is None or self._ledger.queue(uid) is None:
            Nothing().ask(verb, done)
            return
        if kind in _RESOLVED:
            done = self._resolving(uid, kind, done)
        if kind in _NOTED:
            done = self._noting(_NOTED[kind], uid, done)
        self.of(uid).ask(verb, done)

    def _uid(self, kind: Any, first: Any) -> str | None:
        if kind in _BY_NAME:
            return str(first.queue)
        if kind in _BY_QUEUE:
            return str(first)
        queue = self._ledger.queue_with(first)
        return None if queue is None else queue.uid

    # Results have what messages carry.

    def _resolving(self, uid: str, kind: Any, done: Callable[[Any], None]) -> Callable[[Any], None]:
        def told(outcome: Any) -> None:
            if outcome is None or isinstance(outcome, StoreError):
                done(outcome)
            else:
                self._tasks.tell(self._resolve(uid, kind, outcome), done)

        return told

    async def _resolve(self, uid: str, kind: Any, outcome: Any) -> Any:
        resolved = await _RESOLVED[kind](self._bodies, uid, outcome)
        if isinstance(outcome, Claimed | Leased):
            there = {entry.id for entry in _entries(resolved)}
            missing = [entry for entry in _entries(outcome) if entry.id not in there]
            if missing:
                self._tasks.run(self._give_up(uid, missing))
        return resolved

    async def _give_up(self, uid: str, entries: Sequence[Entry]) -> None:
        """A message whose body is lost would be claimed again and again, and nobody would get it."""
        if await self._bodies.are_lost(uid, entries):
            queue = self._ledger.queue(uid)
            name = uid if queue is None else queue.name
            log.error("Cassandra has lost the bodies of messages of %s, which are removed: %d", name, len(entries))
            numbers = {physical_of(entry.id) for entry in entries}
            for number in numbers:
                ids = [entry.id for entry in entries if physical_of(entry.id) == number]
                self.ask(lambda outcome: None, asked.RemoveAll, number, ids)

    def _noting(self, kind: str, uid: str, done: Callable[[Any], None]) -> Callable[[Any], None]:
        """``done`` is called when it is also written down that there is such a queue."""
        noted = asyncio.ensure_future(self.notes.add(kind, uid))

        async def both(outcome: Any) -> Any:
            await noted
            return outcome

        return lambda outcome: self._tasks.tell(both(outcome), done)

    # Leases of all queues.

    async def _all_leasing(self) -> list[Replica]:
        replicas: list[Replica] = []
        for uid in await self.notes.read(LEASE):
            if self._ledger.queue(uid) is None:
                await self.notes.drop(LEASE, uid)
                continue
            replica = self.of(uid)
            await replica.journal.catch_up()
            replicas.append(replica)
        return replicas

    async def _holdings(self) -> dict[str, Holding]:
        found: dict[str, Holding] = {}
        for replica in await self._all_leasing():
            found |= await outcome_of(replica.store.leases.holdings)
        return found

    async def _silent(self, before_us: int) -> list[tuple[str, str]]:
        found: list[tuple[str, str]] = []
        for replica in await self._all_leasing():
            found += await outcome_of(partial(replica.store.leases.silent, before_us))
        return sorted(found)


class Nothing:
    """Answers for a queue, or a physical queue, that is no more. See `rockdove.store.remote.perform.Desk`."""

    def __init__(self) -> None:
        self.store = MemoryStore(SystemClock(), Random())
        self._done: Callable[[Any], None] = lambda outcome: None
        self._verbs = {
            **physical_verbs(self),
            **browsing_verbs(self),
            **lease_verbs(self),
            **publication_verbs(self),
        }

    def physical(self, number: int) -> Physical:
        return GonePhysical(number)

    def outcome(self, token: int, kind: Any = None) -> Callable[[Any], None]:
        done = self._done
        return lambda outcome: tell_soon(done, outcome)

    def ask(self, verb: Any, done: Callable[[Any], None]) -> None:
        self._done = done
        self._verbs[type(verb)](verb)


# Bodies.


def _entries(outcome: Claimed | Leased) -> list[Entry]:
    if isinstance(outcome, Claimed):
        return [*outcome.entries, *outcome.dead]
    return [*outcome.entries, *(entry for _, claimed in outcome.claims for entry in _entries(claimed))]


async def _claimed(bodies: Bodies, uid: str, claimed: Claimed) -> Claimed:
    if not claimed.entries and not claimed.dead:
        return claimed
    both = await bodies.resolve(uid, [*claimed.entries, *claimed.dead])
    dead = {entry.id for entry in claimed.dead}
    return replace(
        claimed,
        entries=[entry for entry in both if entry.id not in dead],
        dead=[entry for entry in both if entry.id in dead],
    )


async def _leased(bodies: Bodies, uid: str, leased: Leased) -> Leased:
    claims = [(number, await _claimed(bodies, uid, claimed)) for number, claimed in leased.claims]
    if leased.outcome is Outcome.MADE:
        entries = [entry for _, claimed in claims for entry in claimed.entries]
    else:
        entries = await bodies.resolve(uid, leased.entries)
    return replace(leased, entries=entries, claims=claims)


async def _found(bodies: Bodies, uid: str, entry: Entry) -> Entry | None:
    found = await bodies.resolve(uid, [entry])
    return found[0] if found else None


async def _scanned(bodies: Bodies, uid: str, scanned: Scanned) -> Scanned:
    return Scanned(await bodies.resolve(uid, scanned.entries), scanned.after)


async def _chunks(bodies: Bodies, uid: str, chunks: dict[int, Any]) -> dict[int, Any]:
    return {number: await bodies.resolve_parcels(uid, parcels) for number, parcels in chunks.items()}


_RESOLVED: dict[Any, Callable[[Bodies, str, Any], Any]] = {
    asked.ClaimEntries: _claimed,
    asked.MakeLease: _leased,
    asked.Find: _found,
    asked.Read: lambda bodies, uid, entries: bodies.resolve(uid, entries),
    asked.Scan: _scanned,
    asked.ReadChunks: _chunks,
}


class AgreedPhysical(RemotePhysical):
    """See `rockdove.store.base.Physical`."""

    def __init__(self, link: Asks, uid: str, record: PhysicalRecord) -> None:
        super().__init__(link, record)
        self.uid = uid
        self._hinted_until_s = 0.0

    def hint(self) -> Hint:
        """Others change the queue, too: what was true a moment ago is not known any more."""
        return self.known if monotonic() < self._hinted_until_s else UNKNOWN

    def take_hint(self, hint: Hint) -> None:
        self.known = hint
        self._hinted_until_s = monotonic() + HINTED_S


class Index(Protocol):
    """See `rockdove.store.cassandra.index.queues.IndexedQueues`."""

    async def close(self, queue: QueueRecord, numbers: Sequence[int]) -> None: ...

    async def clear(self, uid: str, records: Sequence[PhysicalRecord]) -> None: ...


class AgreedPlaces:
    """See `rockdove.store.cassandra.record.Places`."""

    def __init__(self, replicas: Replicas, index: Index, bodies: Bodies, tasks: Tasks, ledger: Ledger) -> None:
        self._replicas = replicas
        self._index = index
        self._bodies = bodies
        self._tasks = tasks
        self._ledger = ledger

    async def close(self, queue: QueueRecord, numbers: list[int]) -> None:
        await self._index.close(queue, numbers)
        await self._replicas.of(queue.uid).perform(command.ClosePlaces(0, numbers))

    async def settle(self, queue: QueueRecord, before: QueueRecord | None, version: int) -> None:
        if before is None or before.physical == queue.physical:
            return
        replica = self._replicas.of(queue.uid)
        await replica.perform(command.SetQueue(0, queue, version))
        kept = {part.number for part in queue.physical}
        if not queue.fifo:
            self._tasks.run(self._index.clear(queue.uid, [part for part in before.physical if part.number not in kept]))
        if not any(part.number in kept for part in before.physical):
            # Purged: nothing refers to what was there.
            self._tasks.run(replica.keep())

    async def drop(self, queue: QueueRecord) -> None:
        uid = queue.uid
        await self._replicas.notes.add(DROPPED, uid)
        replica = self._replicas.of(uid)
        await replica.perform(command.EndQueue(0))
        self._replicas.forget(uid)
        self._bodies.forget(uid)
        if not queue.fifo:
            self._tasks.run(self._index.clear(uid, queue.physical))
        self._tasks.run(self._clear(replica))

    async def begin(self) -> None:
        """Clear what others have left. Raises `StoreError`."""
        for uid in await self._replicas.notes.read(DROPPED):
            # What cannot be cleared now does not hold up the others: the next front-end that starts tries it again.
            with contextlib.suppress(StoreError):
                await self._clear_left(uid)

    async def _clear_left(self, uid: str) -> None:
        replica = self._replicas.of(uid)
        try:
            # Whoever was about to remove it may have removed a part.
            with contextlib.suppress(EntriesMissing):
                await replica.journal.open()
        finally:
            self._replicas.forget(uid)
        await self._clear(replica)

    async def _clear(self, replica: Replica) -> None:
        """When all front-ends have heard that the queue is gone."""
        await asyncio.sleep(HEARD_S)
        if self._ledger.queue(replica.uid) is None:
            blocks = await self._bodies.unused(replica.uid, set(), 1 << 62)
            await self._bodies.drop(replica.uid, blocks)
            await replica.journal.drop()
        await self._replicas.notes.drop(DROPPED, replica.uid)
        replica.forget()


class AgreedTransfers:
    """See `rockdove.store.base.Transfers`: appended once there, then removed here, then the keys are forgotten."""

    def __init__(self, replicas: Replicas, link: Asks, tasks: Tasks) -> None:
        self._replicas = replicas
        self._link = link
        self._tasks = tasks

    def transfer(
        self,
        source: Physical,
        ids: Sequence[int],
        target: Physical,
        drafts: Sequence[Draft],
        done: Done[list[Appended]],
    ) -> None:
        self._tasks.tell(self._transfer(source, ids, target, drafts), done)

    async def _transfer(
        self, source: Physical, ids: Sequence[int], target: Physical, drafts: Sequence[Draft]
    ) -> list[Appended]:
        there: list[Entry] = await outcome_of(
            lambda done: self._link.ask(done, asked.Read, source.record.number, list(ids))
        )
        found = {entry.id for entry in there}
        pairs = [(id, draft) for id, draft in zip(ids, drafts, strict=True) if id in found]
        if not pairs:
            return []
        keys = [f"{source.record.prefix}{id}" for id, _ in pairs]
        keyed = [replace(draft, once_key=key) for key, (_, draft) in zip(keys, pairs, strict=True)]
        appended: list[Appended] = await outcome_of(lambda done: target.append(keyed, done))
        await outcome_of(lambda done: source.remove_all([id for id, _ in pairs], done))
        if isinstance(target, AgreedPhysical):
            self._tasks.run(self._replicas.of(target.uid).perform(command.ForgetOnce(0, keys)))
        return appended
