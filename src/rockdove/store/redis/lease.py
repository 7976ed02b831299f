"""Leases of the Redis store: decided at the home of a logical queue, for messages that are on any server.

See the comment at the head of `functions/lease.lua`.
"""

import asyncio
import contextlib
import secrets
from collections import defaultdict
from collections.abc import Sequence
from time import monotonic
from typing import Any
from weakref import WeakValueDictionary

from msgspec import Struct
from msgspec.structs import replace

from rockdove.core import ids as entry_ids
from rockdove.core.clock import Clock
from rockdove.core.errors import StoreError
from rockdove.core.lease import Holder, Holding, Lease, LeaseName
from rockdove.core.message import Entry
from rockdove.store.base import Claimed, Done, Physical, Want
from rockdove.store.base.lease import Ended, Leased, Outcome, left
from rockdove.store.common.tasks import Tasks
from rockdove.store.redis.codec import entries, entry_name
from rockdove.store.redis.connection import Word
from rockdove.store.redis.physical import MOST_EXPIRED, RedisPhysical, home_key_of, key_of, wanted
from rockdove.store.redis.server import Server, ServerAway
from rockdove.store.redis.servers import Servers

# Messages that one call claims or settles at most: others wait for so long.
AT_ONCE = 1_000
# Seconds between two tries while another front-end makes the same lease, or may give messages back, at first and later;
# and for how long it is tried: longer than it takes to find out what somebody who has died has left.
BUSY_S = 0.02
LATER_S = 0.5
MOST_S = 12.0
# Seconds after which whoever makes a lease says that he is still at it: a third of MAKING_US in functions/lease.lua.
RENEW_S = 1.0


class _Some(Struct):
    """Messages of a lease that are in one physical queue."""

    number: int
    names: list[str]

    def __str__(self) -> str:
        return f"{self.number}:{' '.join(self.names)}"


class _NotYet(Exception):
    """It cannot be made at the moment, for this reason."""

    def __init__(self, reason: str, claims: list[tuple[int, Claimed]]) -> None:
        super().__init__(reason)
        self.claims = claims


class RedisLeases:
    """See `rockdove.store.base.lease.Leases`."""

    def __init__(self, servers: Servers, clock: Clock, tasks: Tasks) -> None:
        self._servers = servers
        self._clock = clock
        self._tasks = tasks
        # Those who ask for the same lease in this process go one after another.
        self._turns: WeakValueDictionary[LeaseName, asyncio.Lock] = WeakValueDictionary()
        # Those that read messages of the same server, too: it answers nobody before it has worked off all that it was
        # asked, and several large answers together may take it so long that it seems to be dead.
        self._reads: defaultdict[Server, asyncio.Lock] = defaultdict(asyncio.Lock)

    # Making one.

    def lease(
        self, name: LeaseName, parts: Sequence[Physical], want: Want, even_empty: bool, done: Done[Leased]
    ) -> None:
        # A lease takes messages in the best order. With a timeout of 0, dead entries would be met again.
        want = replace(want, order_hint=1, timeout_us=max(want.timeout_us, 1))
        redis = [part for part in parts if isinstance(part, RedisPhysical)]
        self._tasks.tell(self._lease(name, redis, want, even_empty), done)

    async def _lease(self, name: LeaseName, parts: Sequence[RedisPhysical], want: Want, even_empty: bool) -> Leased:
        turn = self._turns.setdefault(name, asyncio.Lock())
        until_s, pause_s = monotonic() + MOST_S, BUSY_S
        met: list[tuple[int, Claimed]] = []
        async with turn:
            while True:
                try:
                    leased = await self._try(name, parts, want, even_empty)
                except _NotYet as reason:
                    met += reason.claims
                    if monotonic() > until_s:
                        raise StoreError(str(reason)) from None
                else:
                    return replace(leased, claims=met + leased.claims) if met else leased
                await asyncio.sleep(pause_s)
                pause_s = min(1.5 * pause_s, LATER_S)

    async def _try(self, name: LeaseName, parts: Sequence[RedisPhysical], want: Want, even_empty: bool) -> Leased:
        """Raises `_NotYet`."""
        token = secrets.token_hex(8)
        reply = await self._at_home(name.queue, "rd_lease_begin", self._clock.now_us(), _text(name), token)
        if reply == b"ended":
            return Leased(Outcome.ENDED, [], 0, [])
        if reply == b"busy":
            raise _NotYet("others are making the same lease", [])
        if reply != b"new":
            return await self._again(reply)
        attempt = _Attempt(self, name, token)
        try:
            claims = await attempt.claim(parts, want)
        except (StoreError, _NotYet):
            await attempt.give_up()
            raise
        found = [entry for _, claimed in claims for entry in claimed.entries]
        dead = any(claimed.dead for _, claimed in claims)
        if not found and even_empty and not dead and want.limit and attempt.others_claim:
            # An empty lease is for ever, and they may give back what they have claimed.
            await attempt.leave()
            raise _NotYet("others are leasing the messages of the queue, and may not come to an end with it", claims)
        if not found and (not even_empty or dead or not want.limit):
            await attempt.leave()
            return Leased(Outcome.NOTHING, [], 0, claims, landing=name.queue in self._servers.landing)
        return await attempt.make(found, claims)

    async def _again(self, reply: Any) -> Leased:
        made_us, number, token, messages = reply
        found: list[Entry] = []
        for some in map(_some, messages):
            server = self._servers.of_physical(some.number)
            async with self.read(server):
                flat = await server.ask("rd_leased", key_of(some.number), token, *some.names)
            found += entries(some.number, flat)
        return Leased(Outcome.AGAIN, found, int(made_us), [], int(number))

    # Ending them.

    def ack(
        self, queue: str, consumer: str, shard: int | None, sequence: int | None, tell_ids: bool, done: Done[Ended]
    ) -> None:
        self._tasks.tell(self._end(queue, consumer, shard, sequence, "ack", False, tell_ids), done)

    def release(self, queue: str, consumer: str, forget: bool, done: Done[Ended]) -> None:
        self._tasks.tell(self._end(queue, consumer, None, None, "release", forget, False), done)

    async def _end(
        self,
        queue: str,
        consumer: str,
        shard: int | None,
        sequence: int | None,
        how: str,
        forget: bool,
        tell_ids: bool,
    ) -> Ended:
        ended = Ended(0, 0, [])
        words = (consumer, _digits(shard), _digits(sequence), how, int(forget))
        more = 1
        while more:
            more, over = await self._at_home(queue, "rd_lease_end", self._clock.now_us(), *words)
            for token, messages in over:
                gone = await self._settle(queue, token.decode(), list(map(_some, messages)), how)
                ended.leases += 1
                ended.messages += len(gone)
                if tell_ids:
                    ended.ids += gone
        return ended

    async def _settle(self, queue: str, token: str, messages: Sequence[_Some], how: str) -> list[int]:
        """Tell physical queues that a lease has ended; the messages that were there.

        It is decided: what a server that is away does not hear now, it hears later, and nobody else gets it until then.
        """
        told = await asyncio.gather(*(self.settle_some(some, token, how) for some in messages), return_exceptions=True)
        found: list[int] = []
        for some, outcome in zip(messages, told, strict=True):
            if isinstance(outcome, BaseException) and not isinstance(outcome, StoreError):
                raise outcome
            there = [True] * len(some.names) if isinstance(outcome, BaseException) else outcome
            found += [_id(some.number, name) for name, is_there in zip(some.names, there, strict=True) if is_there]
        if not any(isinstance(outcome, StoreError) for outcome in told):
            self._servers.home(queue).call(lambda reply: None, "rd_lease_forget", home_key_of(queue), token)
        return found

    async def settle_some(self, some: _Some, token: str, how: str) -> list[bool]:
        server = self._servers.of_physical(some.number)
        words: tuple[Word, ...] = (self._clock.now_us(), token, how, *some.names)
        return list(map(bool, await server.ask("rd_lease_settle", key_of(some.number), *words)))

    # Looking.

    def page(
        self, queue: str, consumer: str | None, after: tuple[str, int, int] | None, limit: int, done: Done[list[Lease]]
    ) -> None:
        first = "" if consumer is None else f"{consumer}\0"
        if after is not None:
            first = max(first, _text(LeaseName(queue, *after)))
        last = b"" if consumer is None else f"{consumer}\0".encode() + b"\xff"

        async def look() -> list[Lease]:
            flat = await self._at_home(queue, "rd_lease_page", first, last, limit)
            return [
                Lease(*_parts(flat[at]), messages=int(flat[at + 2]), made_us=int(flat[at + 1]))
                for at in range(0, len(flat), 3)
            ]

        self._tasks.tell(look(), done)

    def holders(self, queue: str, consumer: str | None, limit: int, done: Done[list[Holder]]) -> None:
        async def look() -> list[Holder]:
            found = _holders(await self._at_home(queue, "rd_lease_holders"))
            wanted = [holder for _, holder in found if consumer in (None, holder.consumer)]
            return sorted(wanted, key=lambda holder: (holder.seen_us, holder.consumer))[:limit]

        self._tasks.tell(look(), done)

    def holdings(self, done: Done[dict[str, Holding]]) -> None:
        async def look() -> dict[str, Holding]:
            by_queue: dict[str, list[Holder]] = defaultdict(list)
            for queue, holder in await self._all_holders():
                by_queue[queue].append(holder)
            return {queue: _sum(holders) for queue, holders in by_queue.items()}

        self._tasks.tell(look(), done)

    def silent(self, before_us: int, done: Done[list[tuple[str, str]]]) -> None:
        async def look() -> list[tuple[str, str]]:
            found = await self._all_holders()
            return sorted((queue, holder.consumer) for queue, holder in found if holder.seen_us < before_us)

        self._tasks.tell(look(), done)

    async def _all_holders(self) -> list[tuple[str, Holder]]:
        """Of queues whose home is away nobody knows."""
        told = await asyncio.gather(*(server.ask("rd_all_holders", "rd") for server in self._servers.up))
        return [holder for flat in told for holder in _holders(flat)]

    # Finishing what others have left.

    async def finish(self, server: Server, before_us: int) -> None:
        """What was claimed on a server for a lease that is not made, and leases that it says have ended."""
        claimed, ending = await server.ask("rd_lease_unfinished", "rd", before_us, AT_ONCE)
        for at in range(0, len(ending), 2):
            uid, token = ending[at].decode(), ending[at + 1].decode()
            how, messages = await server.ask("rd_lease_ended", home_key_of(uid), token)
            if how:
                await self._settle(uid, token, list(map(_some, messages)), how.decode())
        for at in range(0, len(claimed), 3):
            number, token, uid = int(claimed[at]), claimed[at + 1].decode(), claimed[at + 2].decode()
            # One whose home is away waits, and the others do not.
            with contextlib.suppress(StoreError):
                (what,) = await self._at_home(uid, "rd_lease_ask", self._clock.now_us(), token)
                await self._learn(server, number, token, what)

    async def _learn(self, server: Server, number: int, token: str, what: bytes) -> None:
        while what == b"void":
            names = await server.ask("rd_lease_claimed", key_of(number), token)
            if not names:
                break
            await self.settle_some(_Some(number, [name.decode() for name in names]), token, "void")
        if what:
            await server.ask("rd_lease_confirm", key_of(number), token)

    async def _at_home(self, queue: str, function: str, *words: Any) -> Any:
        return await self._servers.home(queue).ask(function, home_key_of(queue), *words)

    # For an attempt.

    def read(self, server: Server) -> asyncio.Lock:
        return self._reads[server]

    async def claim_some(self, part: RedisPhysical, token: str, want: Want, last: str) -> tuple[Claimed, bool]:
        """Also whether others have claimed there, and may give it back. ``last``: the last entry that it has there."""
        words: tuple[Word, ...] = (self._clock.now_us(), token, *wanted(want), last)
        reply = await part.server.ask("rd_lease_claim", part.key, *words)
        return part.claimed(reply), reply != b"gone" and bool(reply[6])

    async def renew(self, name: LeaseName, token: str) -> bool:
        """Whether it is still the caller's to make."""
        return bool(await self._at_home(name.queue, "rd_lease_renew", self._clock.now_us(), _text(name), token))

    async def make(self, name: LeaseName, token: str, messages: Sequence[_Some]) -> Any:
        number = sum(len(some.names) for some in messages)
        words = (self._clock.now_us(), _text(name), token, number, *map(str, messages))
        return await self._at_home(name.queue, "rd_lease_make", *words)

    async def leave(self, name: LeaseName, token: str) -> None:
        await self._at_home(name.queue, "rd_lease_leave", _text(name), token)

    def confirm(self, number: int, token: str) -> None:
        server = self._servers.of_physical(number)
        server.call(lambda reply: None, "rd_lease_confirm", key_of(number), token)


class _Attempt:
    """At a lease, under a token."""

    def __init__(self, leases: RedisLeases, name: LeaseName, token: str) -> None:
        self._leases = leases
        self._name = name
        self._token = token
        self._messages: list[_Some] = []
        self._renewed_s = monotonic()
        # Whether others have claimed where it has looked, and may give it back.
        self.others_claim = False

    async def claim(self, parts: Sequence[RedisPhysical], want: Want) -> list[tuple[int, Claimed]]:
        """What each physical queue gives, one after another; those that are away are left out, unless all are."""
        claims: list[tuple[int, Claimed]] = []
        away: ServerAway | None = None
        for part in parts:
            if want.limit <= 0 or want.room_bytes <= 0:
                break
            claimed, error = await self._claim_all(part, want)
            if error is not None and not claimed.entries:
                away = error
                continue
            claims.append((part.record.number, claimed))
            want = left(want, claimed)
        if away is not None and not claims:
            raise away
        return claims

    async def _claim_all(self, part: RedisPhysical, want: Want) -> tuple[Claimed, ServerAway | None]:
        """In pieces: while one is claimed, the server does nothing else. It may go away between two."""
        whole = Claimed([], [])
        while want.limit > 0 and want.room_bytes > 0:
            limit = min(want.limit, AT_ONCE)
            some = replace(want, limit=limit)
            last = entry_name(whole.entries[-1].id) if whole.entries else ""
            async with self._leases.read(part.server):
                await self._renew()
                try:
                    claimed, others = await self._leases.claim_some(part, self._token, some, last)
                except ServerAway as error:
                    return whole, error
            self.others_claim = self.others_claim or others
            if claimed.entries:
                names = [entry_name(entry.id) for entry in claimed.entries]
                self._messages.append(_Some(part.record.number, names))
            whole.entries += claimed.entries
            whole.dead += claimed.dead
            whole.expired = whole.expired + claimed.expired
            whole.next_us, whole.claimed_us = claimed.next_us, claimed.claimed_us
            whole.bytes += claimed.bytes
            want = left(want, claimed)
            if len(claimed.entries) < limit and len(claimed.expired) < MOST_EXPIRED:
                break
        return whole, None

    async def _renew(self) -> None:
        """Raises `_NotYet`."""
        if monotonic() - self._renewed_s > RENEW_S:
            if not await self._leases.renew(self._name, self._token):
                raise _NotYet("others have begun to make the same lease", [])
            self._renewed_s = monotonic()

    async def make(self, found: list[Entry], claims: list[tuple[int, Claimed]]) -> Leased:
        reply = await self._leases.make(self._name, self._token, self._messages)
        if reply in (b"void", b"ended"):
            await self._void()
            if reply == b"void":
                raise _NotYet("others have begun to make the same lease", claims)
            return Leased(Outcome.ENDED, [], 0, claims)
        for number in {some.number for some in self._messages}:
            self._leases.confirm(number, self._token)
        return Leased(Outcome.MADE, found, int(reply[0]), claims, len(found))

    async def leave(self) -> None:
        await self._leases.leave(self._name, self._token)

    async def give_up(self) -> None:
        """What a server does not hear now is found out later."""
        try:
            await self.leave()
            await self._void()
        except StoreError:
            return

    async def _void(self) -> None:
        for some in self._messages:
            await self._leases.settle_some(some, self._token, "void")
        for number in {some.number for some in self._messages}:
            self._leases.confirm(number, self._token)


def _digits(number: int | None) -> str:
    return "" if number is None else f"{number:020d}"


def _text(name: LeaseName) -> str:
    return f"{name.consumer}\0{_digits(name.shard)}{_digits(name.sequence)}"


def _parts(lease: bytes) -> tuple[str, int, int]:
    consumer, _, digits = lease.decode().partition("\0")
    return consumer, int(digits[:20]), int(digits[20:])


def _some(text: bytes) -> _Some:
    number, _, names = text.decode().partition(":")
    return _Some(int(number), names.split())


def _id(number: int, name: str) -> int:
    return entry_ids.entry_id(number, int(name, 16))


def _holders(flat: Sequence[bytes]) -> list[tuple[str, Holder]]:
    return [
        (
            flat[at].decode(),
            Holder(flat[at + 1].decode(), int(flat[at + 2]), int(flat[at + 3]), int(flat[at + 4])),
        )
        for at in range(0, len(flat), 5)
    ]


def _sum(holders: Sequence[Holder]) -> Holding:
    return Holding(
        len(holders),
        sum(holder.leases for holder in holders),
        sum(holder.messages for holder in holders),
        min(holder.seen_us for holder in holders),
    )
