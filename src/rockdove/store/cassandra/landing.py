"""What is published, and has not landed: brought into its queue by the front-end that has published it.

If that one is gone, another does it. To do it twice does no harm: the journal takes each chunk once.
"""

import asyncio
from collections.abc import Callable, Sequence
from functools import partial

from rockdove.core.message import Message
from rockdove.core.publication import Landing, PublicationName
from rockdove.store.base import Appended, Done, Draft, Physical
from rockdove.store.cassandra import command
from rockdove.store.cassandra.agreed import Replicas
from rockdove.store.cassandra.bodies import Bodies
from rockdove.store.cassandra.note import LANDING
from rockdove.store.common.outcome import outcome_of
from rockdove.store.common.tasks import Tasks

# Seconds that the front-end which has published has, before others begin.
OWN_S = 3.0


class AgreedLandings:
    """See `rockdove.store.base.Landings`."""

    def __init__(
        self,
        replicas: Replicas,
        bodies: Bodies,
        tasks: Tasks,
        loop: asyncio.AbstractEventLoop,
        is_there: Callable[[str], bool],
    ) -> None:
        """``is_there``: whether there is a queue of a uid."""
        self._is_there = is_there
        self._replicas = replicas
        self._bodies = bodies
        self._tasks = tasks
        self._loop = loop
        self._new: Callable[[], None] = lambda: None
        # Queues in which something is to land, by their uids, and when this front-end may do it.
        self._due: dict[str, float] = {}

    def on_landing(self, call: Callable[[], None]) -> None:
        self._new = call

    async def begin(self) -> None:
        """See what was left. Raises `StoreError`."""
        for uid in await self._replicas.notes.read(LANDING):
            if self._is_there(uid):
                await self._replicas.of(uid).journal.open()
            else:
                await self._replicas.notes.drop(LANDING, uid)

    def heard(self, uid: str, is_own: bool) -> None:
        """Something is to land in a queue."""
        at_s = self._loop.time() + (0 if is_own else OWN_S)
        self._due[uid] = min(at_s, self._due.get(uid, at_s))
        self._loop.call_at(at_s, lambda: self._new())

    def next(self, after: PublicationName | None, done: Done[Landing | None]) -> None:
        self._tasks.tell(self._next(after), done)

    async def _next(self, after: PublicationName | None) -> Landing | None:
        for uid, at_s in list(self._due.items()):
            replica = self._replicas.get(uid)
            if replica is None or at_s > self._loop.time():
                continue
            landing: Landing | None = await outcome_of(partial(replica.store.publications.next, after))
            if landing is None:
                self._due.pop(uid, None)
                continue
            # Others first, the next time.
            self._due[uid] = self._due.pop(uid)
            parcels = await self._bodies.resolve_parcels(uid, landing.parcels)
            return Landing(landing.name, landing.attempt, landing.chunk, landing.at_us, parcels)
        return None

    def land(
        self,
        landing: Landing,
        drafts: Sequence[Draft],
        parts: Sequence[tuple[Physical, Sequence[int]]],
        done: Done[list[Appended] | None],
    ) -> None:
        uid = landing.name.queue
        replica = self._replicas.of(uid)
        kept = replica.store.publications.first_landing(landing.name)
        if kept is None or (kept.attempt, kept.chunk) != (landing.attempt, landing.chunk):
            self._loop.call_soon(done, None)
            return
        # What they carry is stored already.
        light = [
            Draft(
                Message(draft.message.sent_us, parcel.body.encode(), "", parcel.extra),
                draft.visible_us,
                draft.deduplication_key,
            )
            for draft, parcel in zip(drafts, kept.parcels, strict=True)
        ]
        numbered = [(physical.record.number, list(places)) for physical, places in parts]
        verb = command.LandChunk(0, landing.name, landing.attempt, landing.chunk, light, numbered)
        replica.ask(verb, done)
