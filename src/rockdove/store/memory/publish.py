"""Publishing once with the memory store."""

from collections.abc import Callable, Sequence
from typing import TypeAlias

from msgspec import Struct

from rockdove.core.clock import SECOND_US, Clock
from rockdove.core.errors import StoreError
from rockdove.core.limits import APPLICATION_S, PUBLISHED_S, REMEMBERED_BATCHES, STAGED_S
from rockdove.core.publication import Parcel, PublicationName
from rockdove.store.base import Appended, Done, Draft, Physical
from rockdove.store.base.publication import Published, Standing
from rockdove.store.common.gone import gone
from rockdove.store.memory.physical import MemoryPhysical
from rockdove.store.memory.tell import tell_soon


class _Chunk(Struct):
    at_us: int
    bytes: int
    parcels: Sequence[Parcel]


class _Known(Struct):
    """Of an application: through which batch nothing is known any more, and when it last has published."""

    forgotten: int
    seen_us: int


_Attempt: TypeAlias = tuple[PublicationName, str]
# By the queue's uid and the application's name.
_Application: TypeAlias = tuple[str, str]


class MemoryPublications:
    """See `rockdove.store.base.publication.Publications`. ``physical`` finds a physical queue by its number."""

    def __init__(self, clock: Clock, physical: Callable[[int], MemoryPhysical | None]) -> None:
        self._clock = clock
        self._physical = physical
        self._staged: dict[_Attempt, dict[int, _Chunk]] = {}
        # Who has published, and how many messages.
        self._published: dict[PublicationName, tuple[str, int]] = {}
        self._applications: dict[_Application, _Known] = {}

    def drop_queue(self, queue: str) -> None:
        self._staged = {key: chunks for key, chunks in self._staged.items() if key[0].queue != queue}
        self._published = {name: won for name, won in self._published.items() if name.queue != queue}
        self._applications = {key: known for key, known in self._applications.items() if key[0] != queue}

    def stage(
        self,
        name: PublicationName,
        attempt: str,
        chunk: int,
        parcels: Sequence[Parcel],
        size_bytes: int,
        done: Done[Standing],
    ) -> None:
        self._forget_old()
        standing = self._standing(name, attempt)
        if standing.winner is None and not standing.too_old:
            chunks = self._staged.setdefault((name, attempt), {})
            chunks[chunk] = _Chunk(self._clock.now_us(), size_bytes, parcels)
            standing = self._standing(name, attempt)
        tell_soon(done, standing)

    def look(self, name: PublicationName, attempt: str, done: Done[Standing]) -> None:
        tell_soon(done, self._standing(name, attempt))

    def chunks(self, name: PublicationName, attempt: str, done: Done[dict[int, list[Parcel]]]) -> None:
        found = self._staged.get((name, attempt), {})
        tell_soon(done, {number: list(chunk.parcels) for number, chunk in found.items()})

    def publish(
        self,
        name: PublicationName,
        attempt: str,
        parts: Sequence[tuple[Physical, Sequence[Draft]]],
        done: Done[Published],
    ) -> None:
        tell_soon(done, self._publish(name, attempt, parts))

    def _publish(
        self, name: PublicationName, attempt: str, parts: Sequence[tuple[Physical, Sequence[Draft]]]
    ) -> Published | StoreError:
        self._forget_old()
        standing = self._standing(name, attempt)
        if standing.winner is not None or standing.too_old:
            return Published(standing)
        appended: list[list[Appended]] = []
        places = [(self._physical(physical.record.number), drafts) for physical, drafts in parts]
        if any(place is None or place.pile is None for place, _ in places):
            return gone()
        for place, drafts in places:
            assert place is not None
            assert place.pile is not None
            appended.append(place.pile.append(drafts))
            place.appended(drafts)
        self._published[name] = (attempt, sum(map(len, appended)))
        self._staged = {key: chunks for key, chunks in self._staged.items() if key[0] != name}
        known = self._applications.setdefault(_of(name), _Known(-1, 0))
        known.forgotten = max(known.forgotten, name.batch - REMEMBERED_BATCHES)
        known.seen_us = self._clock.now_us()
        self._forget_batches(_of(name), known.forgotten)
        return Published(self._standing(name, attempt), appended)

    def _forget_batches(self, application: _Application, through: int) -> None:
        for each in [each for each in self._published if _of(each) == application and each.batch <= through]:
            del self._published[each]

    def _standing(self, name: PublicationName, attempt: str) -> Standing:
        won = self._published.get(name)
        if won is not None:
            return Standing(*won)
        known = self._applications.get(_of(name))
        chunks = self._staged.get((name, attempt), {}).values()
        return Standing(
            None,
            sum(len(chunk.parcels) for chunk in chunks),
            known is not None and name.batch <= known.forgotten,
            sum(chunk.bytes for chunk in chunks),
        )

    def _forget_old(self) -> None:
        now_us = self._clock.now_us()
        before_us = now_us - STAGED_S * SECOND_US
        for key, chunks in list(self._staged.items()):
            kept = {number: chunk for number, chunk in chunks.items() if chunk.at_us > before_us}
            if kept:
                self._staged[key] = kept
            else:
                del self._staged[key]
        for application, known in list(self._applications.items()):
            if known.seen_us <= now_us - PUBLISHED_S * SECOND_US:
                batches = [name.batch for name in self._published if _of(name) == application]
                known.forgotten = max([known.forgotten, *batches])
                self._forget_batches(application, known.forgotten)
            if known.seen_us <= now_us - APPLICATION_S * SECOND_US:
                del self._applications[application]


def _of(name: PublicationName) -> _Application:
    return name.queue, name.application
