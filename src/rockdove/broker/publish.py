"""Publishes once: a partition of a batch, of whichever attempt is the first to finish, or a batch as a whole."""

import asyncio
from collections.abc import Sequence
from functools import partial

from msgspec import Struct

from rockdove.broker.ask import ask, need
from rockdove.broker.compose import unpack
from rockdove.broker.context import Context
from rockdove.broker.placing import place_all
from rockdove.broker.queue import Queue
from rockdove.broker.route import Parts
from rockdove.core import limits
from rockdove.core.errors import (
    BatchPartlyPublished,
    BatchTooOld,
    Fault,
    InvalidParameterValue,
    OverLimit,
    ServiceUnavailable,
)
from rockdove.core.publication import Parcel, Partly, PublicationName, Winner
from rockdove.store.base import Appended, Decision, Draft, Physical, Publications, Published, Standing

# Seconds that a request waits for a batch to land, at most.
LANDING_S = 10.0


class Chunk(Struct):
    """A chunk on its way in; ``number`` counts those of its attempt from 0."""

    number: int
    final: bool
    parcels: list[Parcel]
    bytes: int


class Report(Struct):
    """How it went; ``sent`` has the messages if this very request has published them."""

    standing: Standing
    sent: list[tuple[Draft, Appended]]


class Publisher:
    """Stateless: what is staged and published is in the store."""

    def __init__(self, context: Context) -> None:
        self._context = context

    @property
    def _store(self) -> Publications:
        store = self._context.store
        return need(store.publications, "publications", store.name)

    async def publish(self, queue: Queue, name: PublicationName, attempt: str, chunk: Chunk) -> Report:
        """Stage a chunk, and publish with the final one."""
        if self._context.store.full is not None:
            raise ServiceUnavailable(self._context.store.full)
        standing = _check_age(await ask(partial(self._store.look, name, attempt)))
        if standing.winner is not None:
            return Report(standing, [])
        if standing.bytes + chunk.bytes > limits.MAX_STAGED_BYTES:
            raise OverLimit(
                f"The messages of an attempt are at most {limits.MAX_STAGED_BYTES} bytes together. Cut the partition "
                "into several."
            )
        if standing.messages + len(chunk.parcels) > limits.MAX_STAGED:
            raise OverLimit(f"An attempt has at most {limits.MAX_STAGED:,} messages. Cut the partition into several.")
        if not chunk.final:
            staging = partial(self._store.stage, name, attempt, chunk.number, chunk.parcels, chunk.bytes)
            return Report(_check_age(await ask(staging)), [])
        return await self._finish(queue, name, attempt, await self._gather(name, attempt, chunk))

    async def stage(self, name: PublicationName, attempt: str, chunk: Chunk) -> Standing:
        """Keep a chunk of a whole batch, unless that is published."""
        if self._context.store.full is not None:
            raise ServiceUnavailable(self._context.store.full)
        staging = partial(self._store.stage, name, attempt, chunk.number, chunk.parcels, chunk.bytes)
        return _check_age(await ask(staging))

    async def publish_batch(
        self, queue: Queue, name: PublicationName, winners: Sequence[Winner], partly: Partly
    ) -> tuple[Decision, bool]:
        """Publish what these attempts have staged, unless the batch is published. And whether all is in the queue."""

        async def commit(_: Parts) -> Decision:
            return await ask(partial(self._store.commit, name, winners, partly, queue.physical[0]))

        decision = await place_all(self._context.store.records, queue, (), commit)
        if decision.too_old:
            raise _too_old()
        if decision.missing is not None:
            raise InvalidParameterValue(
                f"Value {decision.missing} for parameter Attempt is invalid. Reason: It has not staged so many chunks, "
                "or did too long ago. Stage all of them again."
            )
        if decision.partly:
            raise BatchPartlyPublished(
                f"{decision.partly} partitions of this batch were published on their own, by PublishOnce. Say by "
                "Partly what is to be done: match leaves them out, if they have as many messages now, and is right "
                "only if these are the same messages; skip takes the batch for published as it is; again publishes "
                "all of it."
            )
        try:
            async with asyncio.timeout(LANDING_S):
                await ask(partial(self._store.landed, name))
        except (TimeoutError, Fault):
            # It is published, and lands when the store can: on a full disk, when there is room.
            return decision, False
        return decision, True

    async def abort(self, name: PublicationName, prefix: str) -> None:
        await ask(partial(self._store.discard, name, prefix))

    async def _gather(self, name: PublicationName, attempt: str, last: Chunk) -> list[Parcel]:
        """All messages of an attempt, in order."""
        staged = await ask(partial(self._store.chunks, name, attempt)) if last.number else {}
        missing = [number for number in range(last.number) if number not in staged]
        if missing:
            standing = await ask(partial(self._store.look, name, attempt))
            if standing.winner is not None:
                # It was published while we looked, and what was staged is gone for that.
                return []
            raise InvalidParameterValue(
                f"Value {last.number} for parameter Chunk is invalid. Reason: Chunk {missing[0]} of attempt {attempt} "
                "is not staged, or was for too long. Send all chunks again, from 0 on."
            )
        return [parcel for number in range(last.number) for parcel in staged[number]] + last.parcels

    async def _finish(self, queue: Queue, name: PublicationName, attempt: str, parcels: Sequence[Parcel]) -> Report:
        now_us = self._context.clock.now_us()
        drafts = unpack(queue, parcels, now_us)
        parts: list[tuple[Physical, list[Draft]]] = []

        async def append(places: Parts) -> Published:
            parts[:] = [(physical, [drafts[at] for at in chosen]) for physical, chosen in places]
            return await ask(partial(self._store.publish, name, attempt, parts))

        published = await place_all(self._context.store.records, queue, drafts, append)
        _check_age(published.standing)
        if published.appended is None:
            return Report(published.standing, [])
        sent = [
            pair
            for (_, part), appended in zip(parts, published.appended, strict=True)
            for pair in zip(part, appended, strict=True)
        ]
        queue.events.sent += len(drafts)
        return Report(published.standing, sent)


def _check_age(standing: Standing) -> Standing:
    if standing.too_old:
        raise _too_old()
    return standing


def _too_old() -> BatchTooOld:
    return BatchTooOld(
        f"The last {limits.REMEMBERED_BATCHES} batches of an application are remembered, until it has published "
        "nothing for a week, and this one is older: nobody knows whether it was published."
    )
