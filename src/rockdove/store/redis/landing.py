"""What is published and has to land: brought from the home of a logical queue to its physical queues, chunk by chunk.

See the comment at the head of `functions/publish.lua`.
"""

import asyncio
import contextlib
import secrets
from collections.abc import Callable, Iterable, Sequence
from time import monotonic
from typing import Any

import msgspec
from msgspec import Struct

from rockdove.core.clock import Clock
from rockdove.core.errors import QueueAway, QueueGone, StoreError
from rockdove.core.publication import Landing, Parcel, PublicationName
from rockdove.store.base import Appended, Done, Draft, Physical
from rockdove.store.common.gone import GonePhysical, gone
from rockdove.store.common.ledger import Ledger
from rockdove.store.common.outcome import outcome_of
from rockdove.store.common.tasks import Tasks
from rockdove.store.redis.keyed import Piece
from rockdove.store.redis.physical import RedisPhysical, home_key_of
from rockdove.store.redis.server import AlreadyThere, Server
from rockdove.store.redis.servers import Servers

# Where servers tell of queues with something to land, and with nothing left.
LANDING = "rd:landing"
# Seconds between two looks at what others are landing.
LOOK_S = 0.1
# Physical queues remember for an hour what has landed. A process that was stopped for so many seconds does not go on.
LATE_S = 600

_decode = msgspec.msgpack.Decoder(list[Parcel]).decode


class RedisLanding(Landing):
    """``index`` counts the chunks of all that lands under the token."""

    token: str
    index: int


class Route(Struct, array_like=True):
    """Which messages of a chunk go to a physical queue, by their places in the chunk."""

    number: int
    places: list[int]


_encode_routes = msgspec.json.Encoder().encode
_decode_routes = msgspec.json.Decoder(list[Route]).decode


class RedisLandings:
    """See `rockdove.store.base.Landings`. ``physical`` finds a physical queue by its number."""

    def __init__(
        self,
        servers: Servers,
        ledger: Ledger,
        clock: Clock,
        tasks: Tasks,
        physical: Callable[[int], RedisPhysical],
    ) -> None:
        self._servers = servers
        self._ledger = ledger
        self._clock = clock
        self._tasks = tasks
        self._physical = physical
        # What the home knows this process by.
        self.lander = secrets.token_hex(6)
        self._new: Callable[[], None] = lambda: None
        # Who waits for something to land.
        self._waiting: set[asyncio.Event] = set()
        # How often it was told that something is to land, and of each queue of which that is so, which time it was.
        self._times = 0
        self._told: dict[str, int] = {}

    def begin(self, queue: str) -> None:
        """Something was published that has to land."""
        self._is_landing(queue)

    def _is_landing(self, queue: str) -> None:
        self._times += 1
        self._told[queue] = self._times
        self._servers.landing.add(queue)
        self._new()

    async def wait(self, name: PublicationName) -> None:
        """Until nothing is left of it to land."""
        while not await self._at_home(name.queue, "rd_has_landed", text_of(name)):
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
            self._is_landing(uid)
        else:
            self._told.pop(uid, None)
            self._servers.landing.discard(uid)
            for event in self._waiting:
                event.set()

    async def is_back(self, server: Server) -> None:
        """See what is to land by the word of a server that is there, perhaps again. Raises `StoreError`."""

        def known(flat: list[bytes], times: int) -> None:
            uids = {uid.decode() for uid in flat[::2]}
            self._forget(server, times)
            self._servers.landing |= uids
            if uids:
                self._new()

        await self._ask_in_order(server, known, "rd_landing_places", "rd")

    def _forget(self, server: Server, times: int) -> None:
        """All of a server, but what was told after so many times: that comes on a connection of its own, and the answer
        may be from before.
        """
        landing = self._servers.landing
        gone = {uid for uid in landing if self._servers.home(uid) is server and self._told.get(uid, 0) <= times}
        landing -= gone
        for uid in gone:
            self._told.pop(uid, None)

    async def _ask_in_order(self, server: Server, known: Callable[[Any, int], None], function: str, *words: Any) -> Any:
        """``known`` gets the answer at once, and how often it was told before it was asked."""

        def ask(done: Callable[[Any], None]) -> None:
            times = self._times

            def told(reply: Any) -> None:
                if not isinstance(reply, StoreError):
                    known(reply, times)
                done(reply)

            server.call(told, function, *words)

        return await outcome_of(ask)

    def next(self, after: PublicationName | None, done: Done[Landing | None]) -> None:
        self._tasks.tell(self._next(after), done)

    async def _next(self, name: PublicationName | None) -> Landing | None:
        """Of each server in turn: what waits for one that is away holds up nothing that others decide on."""
        after = "" if name is None else f"{name.queue}\0{text_of(name)}"
        turn = -1 if name is None else self._servers.home(name.queue).slot
        while True:
            busy = False
            homes = {self._servers.home(uid) for uid in self._servers.landing}
            for server in sorted(homes, key=lambda home: (home.slot <= turn, home.slot)):
                if not server.is_up:
                    continue

                def known(reply: Any, times: int, server: Server = server) -> None:
                    if not reply:
                        # Others were quicker than the word of what this process has published.
                        self._forget(server, times)

                reply = await self._ask_in_order(server, known, "rd_next_landing", "rd", self.lander, after)
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
        routes = [Route(physical.record.number, list(chosen)) for physical, chosen in parts]
        self._tasks.tell(self.land_chunk(landing.name.queue, landing.token, landing.index, drafts, routes), done)

    async def land_chunk(
        self, queue: str, token: str, index: int, drafts: Sequence[Draft], routes: Sequence[Route]
    ) -> list[Appended] | None:
        """Bring a chunk to its places. None: it was there already, all or some of it, or was purged."""
        began_s = monotonic()
        appended: dict[int, Appended] = {}
        proposed = {at: route.number for route in routes for at in route.places}
        refused: set[int] = set()
        touched: set[int] = set()
        left, turn = list(range(len(drafts))), 0
        is_known = False
        # Its groups do not go elsewhere.
        is_fifo = self._is_fifo(queue)
        while left:
            proposal = routes_of([proposed[at] for at in left], left)
            # What was refused, or cannot be reached, goes elsewhere, if anybody has said where to.
            numbers = {route.number for route in proposal}
            away = frozenset() if is_fifo else self._away(numbers)
            text = b"" if refused & numbers or away else _encode_routes(proposal)
            reply = await self._at_home(queue, "rd_plan", token, index, turn, text)
            if not reply:
                return None
            if reply == b"open":
                raise _cannot_reach(away) if away else gone()
            if monotonic() - began_s > LATE_S:
                raise StoreError("this process was stopped for so long that others may have done it")
            left = []
            there: list[Route] = []
            failed: StoreError | None = None
            piece = Piece(token, index, turn)
            for route, outcome in await self._land_round(_decode_routes(reply), piece, drafts):
                touched.add(route.number)
                if isinstance(outcome, QueueGone):
                    refused.add(route.number)
                    left += route.places
                elif isinstance(outcome, AlreadyThere):
                    is_known = True
                    there.append(route)
                elif isinstance(outcome, StoreError):
                    failed = outcome
                else:
                    appended.update(zip(route.places, outcome, strict=True))
                    there.append(route)
            if failed is not None:
                await self._set_aside(queue, piece, there, failed)
                raise failed
            turn += bool(left)
        if not await self._at_home(queue, "rd_landed", token, index, turn):
            return None
        for number in touched:
            server, key = self._physical(number).server, self._physical(number).key
            server.call(lambda reply: None, "rd_forget_token", key, self._clock.now_us(), token)
        return None if is_known else [appended[at] for at in range(len(drafts))]

    async def _set_aside(self, queue: str, piece: Piece, there: Sequence[Route], why: StoreError) -> None:
        """Some of a chunk waits for a server that is away, and may be there: what comes after it does not wait.

        But for FIFO queues: there it would overtake.
        """
        goes_on = isinstance(why, QueueAway) and not self._is_fifo(queue)
        words = (word for route in there for word in (route.number, len(route.places)))
        # If it fails, too, the next try does it.
        with contextlib.suppress(StoreError):
            rest = secrets.token_hex(8) if goes_on else ""
            await self._at_home(queue, "rd_set_aside", piece.token, piece.index, piece.round, rest, *words)

    def _is_fifo(self, queue: str) -> bool:
        record = self._ledger.queue(queue)
        return record is None or record.fifo

    def _away(self, numbers: Iterable[int]) -> frozenset[int]:
        return frozenset(each for each in numbers if not self._servers.of_physical(each).takes_messages)

    async def _land_round(
        self, routes: Sequence[Route], piece: Piece, drafts: Sequence[Draft]
    ) -> list[tuple[Route, Any]]:
        told = await asyncio.gather(
            *(self._land_some(route, piece, [drafts[at] for at in route.places]) for route in routes)
        )
        return list(zip(routes, told, strict=True))

    async def _land_some(self, route: Route, piece: Piece, drafts: Sequence[Draft]) -> list[Appended] | StoreError:
        future: asyncio.Future[list[Appended] | StoreError] = asyncio.get_running_loop().create_future()

        def done(outcome: list[Appended] | StoreError) -> None:
            if not future.done():
                future.set_result(outcome)

        self._physical(route.number).land(drafts, piece, done)
        return await future

    async def _at_home(self, queue: str, function: str, *words: Any) -> Any:
        return await self._servers.home(queue).ask(function, home_key_of(queue), *words)


def text_of(name: PublicationName) -> str:
    return f"{name.application}\0{name.batch:020d}{name.partition + 1:010d}"


def _name(queue: str, text: str) -> PublicationName:
    application, _, digits = text.rpartition("\0")
    return PublicationName(queue, application, int(digits[:20]), int(digits[20:]) - 1)


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


def _cannot_reach(numbers: frozenset[int]) -> QueueAway:
    error = QueueAway(f"physical queues cannot be reached: {len(numbers)}")
    error.numbers = numbers
    return error


def routes_of(numbers: Sequence[int], places: Sequence[int] | None = None) -> list[Route]:
    """By physical queue; the places are those of the numbers, or given."""
    routes: dict[int, list[int]] = {}
    for at, number in zip(range(len(numbers)) if places is None else places, numbers, strict=True):
        routes.setdefault(number, []).append(at)
    return [Route(number, chosen) for number, chosen in routes.items()]
