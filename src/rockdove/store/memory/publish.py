"""Publishing once with the memory store."""

from collections import deque
from collections.abc import Callable, Iterable, Sequence
from typing import TypeAlias

from msgspec import Struct

from rockdove.core.clock import SECOND_US, Clock
from rockdove.core.errors import StoreError
from rockdove.core.limits import APPLICATION_S, PUBLISHED_S, REMEMBERED_BATCHES, STAGED_S
from rockdove.core.publication import Landing, Parcel, Partly, PublicationName, Winner
from rockdove.store.base import Appended, Done, Draft, Physical
from rockdove.store.base.publication import Decision, Published, Standing, in_order
from rockdove.store.common.gone import gone
from rockdove.store.common.partly import choose
from rockdove.store.common.unlanded import Unlanded
from rockdove.store.memory.physical import MemoryPhysical
from rockdove.store.memory.tell import tell_soon


class _Chunk(Struct):
    at_us: int
    bytes: int
    parcels: list[Parcel]


class _Known(Struct):
    """Of an application: through which batch nothing is known any more, and when it last has published."""

    forgotten: int
    seen_us: int


class PublicationsState(Struct, array_like=True):
    """Publications as they are written down."""

    staged: list[tuple[PublicationName, str, int, _Chunk]]
    published: list[tuple[PublicationName, str, int]]
    applications: list[tuple[tuple[str, str], _Known]]
    landing: list[Landing]
    unlanded: list[tuple[PublicationName, int, int]]


_Attempt: TypeAlias = tuple[PublicationName, str]
# By the queue's uid and the application's name.
_Application: TypeAlias = tuple[str, str]
_Places: TypeAlias = Sequence[tuple[MemoryPhysical | None, Sequence[Draft]]]


class MemoryPublications:
    """See `rockdove.store.base.publication`: publications and landings. ``physical`` finds a queue by its number."""

    def __init__(
        self, clock: Clock, physical: Callable[[int], MemoryPhysical | None], unlanded: dict[int, int]
    ) -> None:
        """``unlanded``: how many messages are published and have not landed, by the physical queue that counts them."""
        self._clock = clock
        self._physical = physical
        self._staged: dict[_Attempt, dict[int, _Chunk]] = {}
        # Who has published, and how many messages.
        self._published: dict[PublicationName, tuple[str, int]] = {}
        self._applications: dict[_Application, _Known] = {}
        # What is published, and has not landed: batches in their order, each with its chunks.
        self._landing: dict[PublicationName, deque[Landing]] = {}
        self._unlanded = Unlanded(unlanded)
        self._new: Callable[[], None] = lambda: None

    def state(self) -> "PublicationsState":
        staged = [(*key, number, each) for key, chunks in self._staged.items() for number, each in chunks.items()]
        landing = [each for chunks in self._landing.values() for each in chunks]
        published = [(name, *won) for name, won in self._published.items()]
        return PublicationsState(staged, published, list(self._applications.items()), landing, self._unlanded.state())

    def take_state(self, state: "PublicationsState") -> None:
        for name, attempt, number, chunk in state.staged:
            self._staged.setdefault((name, attempt), {})[number] = chunk
        self._published = {name: (attempt, number) for name, attempt, number in state.published}
        self._applications = dict(state.applications)
        for landing in state.landing:
            self._landing.setdefault(landing.name, deque()).append(landing)
        for name, place, number in state.unlanded:
            self._unlanded.add(name, place, number)

    def first_landing(self, name: PublicationName) -> Landing | None:
        """The chunk of a batch that lands next."""
        chunks = self._landing.get(name)
        return None if chunks is None else chunks[0]

    def parcels(self) -> Iterable[Parcel]:
        """All that are staged, or have not landed."""
        for chunks in self._staged.values():
            for chunk in chunks.values():
                yield from chunk.parcels
        for landings in self._landing.values():
            for landing in landings:
                yield from landing.parcels

    def fail_waiting(self, error: StoreError) -> None:
        """Nobody here tells any more who waits."""
        self._unlanded.fail_all(error)

    def drop_queue(self, queue: str) -> None:
        self.purge_queue(queue)
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
            chunks[chunk] = _Chunk(self._clock.now_us(), size_bytes, list(parcels))
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

    def commit(
        self,
        name: PublicationName,
        winners: Sequence[Winner],
        partly: Partly,
        place: Physical,
        done: Done[Decision],
    ) -> None:
        self._forget_old()
        tell_soon(done, self._commit(name, winners, partly, place.record.number))

    def landed(self, name: PublicationName, done: Done[None]) -> None:
        self._unlanded.wait(name, lambda failed: tell_soon(done, failed))

    def _commit(self, name: PublicationName, winners: Sequence[Winner], partly: Partly, place: int) -> Decision:
        standing = self._standing(name, "")
        if standing.winner is not None or standing.too_old:
            return Decision(standing.messages, too_old=standing.too_old)
        alone = {
            each.partition: number
            for each, (_, number) in self._published.items()
            if (*_of(each), each.batch) == (*_of(name), name.batch)
        }
        counted = list[tuple[Winner, int]]()
        for winner in winners:
            chunks = self._staged.get((name, winner.attempt), {})
            if sorted(chunks) != list(range(winner.chunks)):
                return Decision(missing=winner.attempt)
            counted.append((winner, sum(len(chunk.parcels) for chunk in chunks.values())))
        choice = choose(counted, alone, partly)
        if choice is None:
            return Decision(partly=len(alone))
        now_us = self._clock.now_us()
        landing = deque(
            Landing(name, winner.attempt, at, now_us, list(self._staged[name, winner.attempt][at].parcels))
            for winner in choice.winners
            for at in range(winner.chunks)
        )
        self._has_published(name, "", choice.total)
        if landing:
            self._landing[name] = landing
            self._unlanded.add(name, place, choice.landing)
            self._new()
        return Decision(choice.total, is_new=True)

    def discard(self, name: PublicationName, prefix: str, done: Done[None]) -> None:
        for key in [key for key in self._staged if key[0] == name and key[1].startswith(prefix)]:
            del self._staged[key]
        tell_soon(done, None)

    # Landings.

    def on_landing(self, call: Callable[[], None]) -> None:
        self._new = call

    def next(self, after: PublicationName | None, done: Done[Landing | None]) -> None:
        if after is not None and after in self._landing:
            # The others first.
            self._landing[after] = self._landing.pop(after)
        tell_soon(done, next((chunks[0] for chunks in self._landing.values()), None))

    def land(
        self,
        landing: Landing,
        drafts: Sequence[Draft],
        parts: Sequence[tuple[Physical, Sequence[int]]],
        done: Done[list[Appended] | None],
    ) -> None:
        chunks = self._landing.get(landing.name)
        places = [(self._physical(physical.record.number), [drafts[at] for at in chosen]) for physical, chosen in parts]
        if chunks is None or chunks[0] is not landing or not _are_kept(places):
            tell_soon(done, None)
            return
        if _refuse(places):
            tell_soon(done, gone())
            return
        tell_soon(done, in_order([chosen for _, chosen in parts], self._append(places)))
        chunks.popleft()
        if not chunks:
            del self._landing[landing.name]
        self._unlanded.drop(landing.name, len(landing.parcels))

    def purge_queue(self, queue: str) -> None:
        """What has not landed never will."""
        self._landing = {name: chunks for name, chunks in self._landing.items() if name.queue != queue}
        self._unlanded.drop_queue(queue)

    def _append(self, places: _Places) -> list[list[Appended]]:
        appended: list[list[Appended]] = []
        for place, drafts in places:
            assert place is not None
            assert place.pile is not None
            appended.append(place.pile.append(drafts))
            place.appended(drafts)
        return appended

    def _publish(
        self, name: PublicationName, attempt: str, parts: Sequence[tuple[Physical, Sequence[Draft]]]
    ) -> Published | StoreError:
        self._forget_old()
        standing = self._standing(name, attempt)
        if standing.winner is not None or standing.too_old:
            return Published(standing)
        places = [(self._physical(physical.record.number), drafts) for physical, drafts in parts]
        if not _are_kept(places) or _refuse(places):
            return gone()
        appended = self._append(places)
        self._has_published(name, attempt, sum(map(len, appended)))
        return Published(self._standing(name, attempt), appended)

    def _has_published(self, name: PublicationName, attempt: str, number: int) -> None:
        self._published[name] = (attempt, number)
        self._staged = {key: chunks for key, chunks in self._staged.items() if key[0] != name}
        known = self._applications.setdefault(_of(name), _Known(-1, 0))
        known.forgotten = max(known.forgotten, name.batch - REMEMBERED_BATCHES)
        known.seen_us = self._clock.now_us()
        self._forget_batches(_of(name), known.forgotten)

    def _forget_batches(self, application: _Application, through: int) -> None:
        for each in [each for each in self._published if _of(each) == application and each.batch <= through]:
            del self._published[each]

    def _standing(self, name: PublicationName, attempt: str) -> Standing:
        won = self._published.get(name) or self._published.get(name.whole)
        if won is not None:
            return Standing(*won)
        known = self._applications.get(_of(name))
        if known is not None and name.batch <= known.forgotten:
            return Standing(too_old=True)
        chunks = self._staged.get((name, attempt), {}).values()
        messages = sum(len(chunk.parcels) for chunk in chunks)
        return Standing(None, messages, bytes=sum(chunk.bytes for chunk in chunks))

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


def _are_kept(places: _Places) -> bool:
    """Whether none of them was purged or deleted."""
    return all(place is not None and place.pile is not None for place, _ in places)


def _refuse(places: _Places) -> bool:
    """Whether one of them leaves, and does not take these any more."""
    return any(place is not None and place.refuses(drafts) for place, drafts in places)


def _of(name: PublicationName) -> _Application:
    return name.queue, name.application
