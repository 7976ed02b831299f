"""Publishing once with the Redis store: staged and decided at the home of a logical queue, then brought to its places.

See the comment at the head of `functions/publish.lua`.
"""

import asyncio
import secrets
from collections.abc import Callable, Sequence
from time import monotonic
from typing import Any, Literal

import msgspec
from msgspec import Struct

from rockdove.core.clock import Clock
from rockdove.core.errors import QueueGone, StoreError
from rockdove.core.limits import MAX_PUBLISH_ENTRIES, REMEMBERED_BATCHES
from rockdove.core.publication import Landing, Parcel, Partly, PublicationName, Winner
from rockdove.store.base import Appended, Done, Draft, Physical
from rockdove.store.base.publication import Decision, Published, Standing
from rockdove.store.common.gone import GonePhysical, gone
from rockdove.store.common.partly import choose
from rockdove.store.redis.keyed import Piece
from rockdove.store.redis.physical import RedisPhysical, home_key_of
from rockdove.store.redis.server import AlreadyThere, Server
from rockdove.store.redis.servers import Servers
from rockdove.store.redis.tasks import Tasks

# Where servers tell of queues with something to land, and with nothing left.
LANDING = "rd:landing"
# So often a decision is tried again because others stage or publish at the same time.
MOST_TRIES = 20
# Bytes of a chunk, about, that this process makes itself.
CHUNK_BYTES = 512 * 1024
# Seconds between two looks at what others are landing.
LOOK_S = 0.1
# Physical queues remember for an hour what has landed. Who was stopped for so many seconds does not go on.
LATE_S = 600

_encode = msgspec.msgpack.Encoder().encode
_decode = msgspec.msgpack.Decoder(list[Parcel]).decode


class RedisLanding(Landing):
    """``index`` counts the chunks of all that lands under the token."""

    token: str
    index: int


class _Route(Struct, array_like=True):
    """Which messages of a chunk go to a physical queue, by their places in the chunk."""

    number: int
    places: list[int]


_encode_routes = msgspec.json.Encoder().encode
_decode_routes = msgspec.json.Decoder(list[_Route]).decode


class RedisPublications:
    """See `rockdove.store.base.publication`: publications and landings. ``physical`` finds a queue by its number."""

    def __init__(self, servers: Servers, clock: Clock, tasks: Tasks, physical: Callable[[int], RedisPhysical]) -> None:
        self._servers = servers
        self._clock = clock
        self._tasks = tasks
        self._physical = physical
        self._name = secrets.token_hex(6)
        self._new: Callable[[], None] = lambda: None
        # Who waits for something to land.
        self._waiting: set[asyncio.Event] = set()

    # Staging.

    def stage(
        self,
        name: PublicationName,
        attempt: str,
        chunk: int,
        parcels: Sequence[Parcel],
        size_bytes: int,
        done: Done[Standing],
    ) -> None:
        self._tasks.tell(self._stage(name, attempt, chunk, parcels, size_bytes), done)

    async def _stage(
        self, name: PublicationName, attempt: str, chunk: int, parcels: Sequence[Parcel], size_bytes: int
    ) -> Standing:
        words = (self._clock.now_us(), _text(name), attempt, chunk, len(parcels), size_bytes, _encode(parcels))
        return _standing(await self._at_home(name.queue, "rd_stage", *words))

    def look(self, name: PublicationName, attempt: str, done: Done[Standing]) -> None:
        async def look() -> Standing:
            return _standing(await self._at_home(name.queue, "rd_stand", _text(name), attempt))

        self._tasks.tell(look(), done)

    def chunks(self, name: PublicationName, attempt: str, done: Done[dict[int, list[Parcel]]]) -> None:
        async def look() -> dict[int, list[Parcel]]:
            flat = await self._at_home(name.queue, "rd_staged", _text(name), attempt)
            return {int(flat[at]): _decode(flat[at + 1]) for at in range(0, len(flat), 2)}

        self._tasks.tell(look(), done)

    def discard(self, name: PublicationName, prefix: str, done: Done[None]) -> None:
        async def discard() -> None:
            await self._at_home(name.queue, "rd_discard", _text(name), prefix)

        self._tasks.tell(discard(), done)

    # Deciding.

    def commit(
        self,
        name: PublicationName,
        winners: Sequence[Winner],
        partly: Partly,
        place: Physical,
        done: Done[Decision],
    ) -> None:
        self._tasks.tell(self._commit(name, winners, partly, place.record.number), done)

    async def _commit(self, name: PublicationName, winners: Sequence[Winner], partly: Partly, place: int) -> Decision:
        named = [word for winner in winners for word in (winner.attempt, winner.chunks)]
        token = secrets.token_hex(8)
        for _ in range(MOST_TRIES):
            reply, flat, numbers = await self._at_home(
                name.queue, "rd_survey", self._clock.now_us(), _text(name), *named
            )
            standing = _standing(reply)
            if standing.winner is not None or standing.too_old:
                return Decision(standing.messages, too_old=standing.too_old)
            missing = next((winner for winner, number in zip(winners, numbers, strict=True) if number < 0), None)
            if missing is not None:
                return Decision(missing=missing.attempt)
            alone = {int(flat[at]): int(flat[at + 1]) for at in range(0, len(flat), 2)}
            choice = choose(list(zip(winners, numbers, strict=True)), alone, partly)
            if choice is None:
                return Decision(partly=len(alone))
            counts = {winner.attempt: number for winner, number in zip(winners, numbers, strict=True)}
            attempts = [(winner.attempt, winner.chunks, counts[winner.attempt]) for winner in choice.winners]
            decided = await self._decide(name, "", choice.total, place, token, str(len(alone)), attempts)
            if decided == "decided":
                return Decision(choice.total, is_new=True)
            if decided != "changed":
                return Decision(decided.messages, too_old=decided.too_old)
        raise StoreError("others publish the same batch")

    async def _decide(
        self,
        name: PublicationName,
        winner: str,
        total: int,
        place: int,
        token: str,
        alone: str,
        attempts: Sequence[tuple[str, int, int]],
    ) -> Standing | Literal["decided", "changed"]:
        """``changed``: what was surveyed is not so any more. Else how it stands, because others were quicker."""
        now_us, landing = self._clock.now_us(), sum(messages for _, _, messages in attempts)
        forgotten = f"{name.batch - REMEMBERED_BATCHES:020d}" if name.batch >= REMEMBERED_BATCHES else ""
        words = (now_us, _text(name), winner, total, landing, forgotten, place, token, now_us, self._name, alone)
        reply = await self._at_home(name.queue, "rd_decide", *words, *(word for each in attempts for word in each))
        if reply == b"decided":
            if landing:
                self._servers.landing.add(name.queue)
                self._new()
            return "decided"
        return "changed" if reply == b"changed" else _standing(reply)

    def publish(
        self,
        name: PublicationName,
        attempt: str,
        parts: Sequence[tuple[Physical, Sequence[Draft]]],
        done: Done[Published],
    ) -> None:
        if any(isinstance(physical, GonePhysical) for physical, _ in parts):
            done(gone())
        else:
            self._tasks.tell(self._publish(name, attempt, parts), done)

    async def _publish(
        self, name: PublicationName, attempt: str, parts: Sequence[tuple[Physical, Sequence[Draft]]]
    ) -> Published:
        """All of it is staged under a name of its own, and lands as a batch does."""
        token = secrets.token_hex(8)
        own = f"\0{token}"
        drafts = [draft for _, some in parts for draft in some]
        numbers = [physical.record.number for physical, some in parts for _ in some]
        cuts = _cuts(drafts)
        for chunk, (first, last) in enumerate(cuts):
            parcels = list(map(_parcel, drafts[first:last]))
            standing = await self._stage(name, own, chunk, parcels, 0)
            if standing.winner is not None or standing.too_old:
                await self._at_home(name.queue, "rd_discard", _text(name), own)
                return Published(standing)
        place = parts[0][0].record.number if parts else 0
        attempts = [(own, len(cuts), len(drafts))] if drafts else []
        decided = await self._decide(name, attempt, len(drafts), place, token, "", attempts)
        if decided == "changed":
            raise StoreError("what was to be published is not there any more")
        if decided != "decided":
            return Published(decided)
        standing = Standing(attempt, len(drafts))
        appended: list[Appended] = []
        try:
            for index, (first, last) in enumerate(cuts):
                some = await self._land(name.queue, token, index, drafts[first:last], _routes(numbers[first:last]))
                if some is None:
                    return Published(standing)
                appended += some
        except StoreError:
            # It is published, and whoever can brings the rest to its place.
            return Published(standing)
        rest = iter(appended)
        return Published(standing, [[next(rest) for _ in some] for _, some in parts])

    # Landing.

    def landed(self, name: PublicationName, done: Done[None]) -> None:
        self._tasks.tell(self._wait(name), done)

    async def _wait(self, name: PublicationName) -> None:
        while not await self._at_home(name.queue, "rd_has_landed", _text(name)):
            event = asyncio.Event()
            self._waiting.add(event)
            try:
                async with asyncio.timeout(1):
                    await event.wait()
            except TimeoutError:
                # Servers may have been lost, and with them what they told.
                continue
            finally:
                self._waiting.discard(event)

    def on_landing(self, call: Callable[[], None]) -> None:
        self._new = call

    def heard(self, text: bytes) -> None:
        """A server tells: the uid of a queue, and 1 if something is to land."""
        uid, _, is_landing = text.decode().rpartition(" ")
        if is_landing == "1":
            self._servers.landing.add(uid)
            self._new()
        else:
            self._servers.landing.discard(uid)
            for event in self._waiting:
                event.set()

    async def is_back(self, server: Server) -> None:
        """See what is to land by the word of a server that is there, perhaps again."""
        flat = await server.ask("rd_landing_places", "rd")
        uids = {uid.decode() for uid in flat[::2]}
        landing = self._servers.landing
        landing -= {uid for uid in landing if self._servers.home(uid) is server}
        landing |= uids
        if uids:
            self._new()

    def next(self, after: PublicationName | None, done: Done[Landing | None]) -> None:
        self._tasks.tell(self._next("" if after is None else f"{after.queue}\0{_text(after)}"), done)

    async def _next(self, after: str) -> Landing | None:
        while True:
            busy = False
            for server in {self._servers.home(uid) for uid in self._servers.landing}:
                if not server.is_up:
                    continue
                reply = await server.ask("rd_next_landing", "rd", self._name, after)
                if isinstance(reply, list):
                    return _landing(reply)
                busy = busy or reply == b"busy"
            if not busy:
                return None
            await asyncio.sleep(LOOK_S)

    def land(
        self,
        landing: Landing,
        drafts: Sequence[Draft],
        parts: Sequence[tuple[Physical, Sequence[int]]],
        done: Done[list[Appended] | None],
    ) -> None:
        assert isinstance(landing, RedisLanding)
        if any(isinstance(physical, GonePhysical) for physical, _ in parts):
            done(gone())
            return
        routes = [_Route(physical.record.number, list(chosen)) for physical, chosen in parts]
        self._tasks.tell(self._land(landing.name.queue, landing.token, landing.index, drafts, routes), done)

    async def _land(
        self, queue: str, token: str, index: int, drafts: Sequence[Draft], routes: Sequence[_Route]
    ) -> list[Appended] | None:
        """Bring a chunk to its places. None: it was there already, all or some of it, or was purged."""
        began_s = monotonic()
        appended: dict[int, Appended] = {}
        proposed = {at: route.number for route in routes for at in route.places}
        refused: set[int] = set()
        touched: set[int] = set()
        left, turn = list(range(len(drafts))), 0
        is_known = False
        while left:
            proposal = _routes([proposed[at] for at in left], left)
            # What was refused goes elsewhere, if anybody has said where to.
            is_stale = bool(refused & {route.number for route in proposal})
            text = b"" if is_stale else _encode_routes(proposal)
            reply = await self._at_home(queue, "rd_plan", token, index, turn, text)
            if not reply:
                return None
            if reply == b"open":
                raise gone()
            if monotonic() - began_s > LATE_S:
                raise StoreError("this process was stopped for so long that others may have done it")
            left = []
            for route, outcome in await self._land_round(_decode_routes(reply), Piece(token, index, turn), drafts):
                touched.add(route.number)
                if isinstance(outcome, QueueGone):
                    refused.add(route.number)
                    left += route.places
                elif isinstance(outcome, AlreadyThere):
                    is_known = True
                elif isinstance(outcome, StoreError):
                    raise outcome
                else:
                    appended.update(zip(route.places, outcome, strict=True))
            turn += bool(left)
        if not await self._at_home(queue, "rd_landed", token, index, turn):
            return None
        for number in touched:
            server, key = self._physical(number).server, self._physical(number).key
            server.call(lambda reply: None, "rd_forget_token", key, self._clock.now_us(), token)
        return None if is_known else [appended[at] for at in range(len(drafts))]

    async def _land_round(
        self, routes: Sequence[_Route], piece: Piece, drafts: Sequence[Draft]
    ) -> list[tuple[_Route, Any]]:
        told = await asyncio.gather(
            *(self._land_some(route, piece, [drafts[at] for at in route.places]) for route in routes)
        )
        return list(zip(routes, told, strict=True))

    async def _land_some(self, route: _Route, piece: Piece, drafts: Sequence[Draft]) -> list[Appended] | StoreError:
        future: asyncio.Future[list[Appended] | StoreError] = asyncio.get_running_loop().create_future()

        def done(outcome: list[Appended] | StoreError) -> None:
            if not future.done():
                future.set_result(outcome)

        self._physical(route.number).land(drafts, piece, done)
        return await future

    async def _at_home(self, queue: str, function: str, *words: Any) -> Any:
        return await self._servers.home(queue).ask(function, home_key_of(queue), *words)


def _text(name: PublicationName) -> str:
    return f"{name.application}\0{name.batch:020d}{name.partition + 1:010d}"


def _name(queue: str, text: str) -> PublicationName:
    application, _, digits = text.rpartition("\0")
    return PublicationName(queue, application, int(digits[:20]), int(digits[20:]) - 1)


def _standing(reply: Sequence[Any]) -> Standing:
    is_published, winner, messages, too_old, size = reply
    return Standing(winner.decode() if is_published else None, int(messages), bool(too_old), int(size))


def _landing(reply: Sequence[bytes]) -> RedisLanding:
    uid, token, publication, attempt, chunk, index, at_us, messages = reply
    return RedisLanding(
        name=_name(uid.decode(), publication.decode()),
        attempt=attempt.decode().rpartition("\0")[2],
        chunk=int(chunk),
        at_us=int(at_us),
        parcels=_decode(messages),
        token=token.decode(),
        index=int(index),
    )


def _parcel(draft: Draft) -> Parcel:
    message = draft.message
    delay_us = draft.visible_us - message.sent_us
    return Parcel(message.text, message.md5, delay_us, message.extra, draft.deduplication_key)


def _cuts(drafts: Sequence[Draft]) -> list[tuple[int, int]]:
    """First and last of chunks of a good size."""
    cuts: list[tuple[int, int]] = []
    first = size = 0
    for at, draft in enumerate(drafts, 1):
        size += len(draft.message.body)
        if at == len(drafts) or at - first == MAX_PUBLISH_ENTRIES or size >= CHUNK_BYTES:
            cuts.append((first, at))
            first, size = at, 0
    return cuts


def _routes(numbers: Sequence[int], places: Sequence[int] | None = None) -> list[_Route]:
    """By physical queue; the places are those of the numbers, or given."""
    routes: dict[int, list[int]] = {}
    for at, number in zip(range(len(numbers)) if places is None else places, numbers, strict=True):
        routes.setdefault(number, []).append(at)
    return [_Route(number, chosen) for number, chosen in routes.items()]
