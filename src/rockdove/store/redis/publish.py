"""Publishing once with the Redis store: staged and decided at the home of a logical queue. Then it lands.

See the comment at the head of `functions/publish.lua`.
"""

import secrets
from collections.abc import Sequence
from typing import Any, Literal

import msgspec

from rockdove.core.clock import Clock
from rockdove.core.errors import StoreError
from rockdove.core.limits import MAX_PUBLISH_ENTRIES, REMEMBERED_BATCHES
from rockdove.core.publication import Parcel, Partly, PublicationName, Winner
from rockdove.store.base import Appended, Done, Draft, Physical
from rockdove.store.base.publication import Decision, Published, Standing
from rockdove.store.common.gone import GonePhysical, gone
from rockdove.store.common.partly import choose
from rockdove.store.common.tasks import Tasks
from rockdove.store.redis.landing import RedisLandings, routes_of, text_of
from rockdove.store.redis.physical import home_key_of
from rockdove.store.redis.servers import Servers

# So often a decision is tried again because others stage or publish at the same time.
MOST_TRIES = 20
# Bytes of a chunk, about, that this process makes itself.
CHUNK_BYTES = 512 * 1024

_encode = msgspec.msgpack.Encoder().encode
_decode = msgspec.msgpack.Decoder(list[Parcel]).decode


class RedisPublications:
    """See `rockdove.store.base.Publications`."""

    def __init__(self, servers: Servers, clock: Clock, tasks: Tasks, landings: RedisLandings) -> None:
        self._servers = servers
        self._clock = clock
        self._tasks = tasks
        self._landings = landings

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
        words = (self._clock.now_us(), text_of(name), attempt, chunk, len(parcels), size_bytes, _encode(parcels))
        return _standing(await self._at_home(name.queue, "rd_stage", *words))

    def look(self, name: PublicationName, attempt: str, done: Done[Standing]) -> None:
        async def look() -> Standing:
            return _standing(await self._at_home(name.queue, "rd_stand", text_of(name), attempt))

        self._tasks.tell(look(), done)

    def chunks(self, name: PublicationName, attempt: str, done: Done[dict[int, list[Parcel]]]) -> None:
        async def look() -> dict[int, list[Parcel]]:
            flat = await self._at_home(name.queue, "rd_staged", text_of(name), attempt)
            return {int(flat[at]): _decode(flat[at + 1]) for at in range(0, len(flat), 2)}

        self._tasks.tell(look(), done)

    def discard(self, name: PublicationName, prefix: str, done: Done[None]) -> None:
        async def discard() -> None:
            await self._at_home(name.queue, "rd_discard", text_of(name), prefix)

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
                name.queue, "rd_survey", self._clock.now_us(), text_of(name), *named
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
        words = (
            now_us,
            text_of(name),
            winner,
            total,
            landing,
            forgotten,
            place,
            token,
            now_us,
            self._landings.lander,
            alone,
        )
        reply = await self._at_home(name.queue, "rd_decide", *words, *(word for each in attempts for word in each))
        if reply == b"decided":
            if landing:
                self._landings.begin(name.queue)
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
                await self._at_home(name.queue, "rd_discard", text_of(name), own)
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
                some = await self._landings.land_chunk(
                    name.queue, token, index, drafts[first:last], routes_of(numbers[first:last])
                )
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
        self._tasks.tell(self._landings.wait(name), done)

    async def _at_home(self, queue: str, function: str, *words: Any) -> Any:
        return await self._servers.home(queue).ask(function, home_key_of(queue), *words)


def _standing(reply: Sequence[Any]) -> Standing:
    is_published, winner, messages, too_old, size = reply
    if too_old:
        return Standing(too_old=True)
    return Standing(winner.decode() if is_published else None, int(messages), bytes=int(size))


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
