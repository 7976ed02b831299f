"""Publishing once: from a request to the broker, and from its outcome to the result."""

from typing import cast, get_args

from rockdove.broker.compose import compose, message_bytes
from rockdove.broker.context import Context
from rockdove.broker.publish import Chunk, Publisher
from rockdove.broker.queue import Queue
from rockdove.core import limits
from rockdove.core.errors import Fault, InvalidParameterValue, OverLimit
from rockdove.core.publication import WHOLE, Parcel, Partly, PublicationName, Winner
from rockdove.server import batch
from rockdove.server.call import Call
from rockdove.server.leases import MAX_SEQUENCE, check_name
from rockdove.server.messages import within
from rockdove.server.tracer import Tracer
from rockdove.wire import publish as shape
from rockdove.wire.shape import BatchResultErrorEntry


class PublishOperations:
    """A partition by whoever is first, or a batch as a whole."""

    def __init__(self, context: Context, tracer: Tracer | None = None) -> None:
        self._publisher = Publisher(context)
        self._queue = context.directory.by_url
        self._clock = context.clock
        self._tracer = tracer

    async def publish_once(self, call: Call, request: shape.PublishOnce) -> shape.PublishOnceResult:
        queue = self._queue(request.queue_url, call.account)
        try:
            return await self._publish(call, queue, request)
        except Fault as fault:
            if self._tracer is not None:
                self._tracer.failed(call, "send", queue, fault)
            raise

    async def stage_batch(self, call: Call, request: shape.StageBatch) -> shape.StageBatchResult:
        queue = self._queue(request.queue_url, call.account)
        name = _name(call, queue, request, WHOLE)
        attempt = check_name("Attempt", request.attempt)
        number = within("Chunk", request.chunk, 0, 0, limits.MAX_BATCH_CHUNKS - 1)
        batch.check_ids(request.entries, limits.MAX_PUBLISH_ENTRIES)
        chunk, failed = self._chunk(call, queue, request, number)
        if failed:
            return shape.StageBatchResult(published=False, messages=0, failed=failed)
        standing = await self._publisher.stage(name, attempt, chunk)
        return shape.StageBatchResult(published=standing.winner is not None, messages=standing.messages)

    async def publish_batch(self, call: Call, request: shape.PublishBatch) -> shape.PublishBatchResult:
        queue = self._queue(request.queue_url, call.account)
        name, partly = _name(call, queue, request, WHOLE), request.partly or "refuse"
        if partly not in get_args(Partly):
            raise InvalidParameterValue(
                f"Value {partly} for parameter Partly is invalid. Reason: Must be one of {', '.join(get_args(Partly))}."
            )
        winners = _winners(request)
        decision, landed = await self._publisher.publish_batch(queue, name, winners, cast(Partly, partly))
        return shape.PublishBatchResult(published=decision.is_new, messages=decision.messages, landed=landed)

    async def abort_batch(self, call: Call, request: shape.AbortBatch) -> None:
        queue = self._queue(request.queue_url, call.account)
        await self._publisher.abort(_name(call, queue, request, WHOLE), check_name("Prefix", request.prefix))

    async def _publish(self, call: Call, queue: Queue, request: shape.PublishOnce) -> shape.PublishOnceResult:
        partition = within("Partition", request.partition, 0, 0, limits.MAX_SHARD)
        name = _name(call, queue, request, partition)
        attempt = check_name("Attempt", request.attempt)
        number = within("Chunk", request.chunk, 0, 0, limits.MAX_CHUNKS - 1)
        batch.check_ids(request.entries, limits.MAX_PUBLISH_ENTRIES)
        chunk, failed = self._chunk(call, queue, request, number)
        if failed:
            return shape.PublishOnceResult(published=False, messages=0, failed=failed)
        report = await self._publisher.publish(queue, name, attempt, chunk)
        if self._tracer is not None:
            for draft, appended in report.sent:
                # What was staged has forgotten its size.
                draft.bytes = message_bytes(draft.message)
                self._tracer.sent(call, queue, draft, appended)
        standing = report.standing
        return shape.PublishOnceResult(
            published=standing.winner == attempt, winner=standing.winner, messages=standing.messages
        )

    def _chunk(
        self, call: Call, queue: Queue, request: shape.PublishOnce | shape.StageBatch, number: int
    ) -> tuple[Chunk, list[BatchResultErrorEntry]]:
        """The messages, and which of them are wrong."""
        now_us = self._clock.now_us()
        chunk = Chunk(number, bool(getattr(request, "final", False)), [], 0)
        failed: list[BatchResultErrorEntry] = []
        for entry in request.entries:
            try:
                draft = compose(queue, entry, call.account, now_us, call.plain)
            except Fault as fault:
                failed.append(batch.failed(entry.id, fault))
                continue
            message = draft.message
            delay_us = draft.visible_us - now_us
            chunk.parcels.append(Parcel(message.text, message.md5, delay_us, message.extra, draft.deduplication_key))
            chunk.bytes += draft.bytes
        return chunk, failed


def _name(
    call: Call,
    queue: Queue,
    request: shape.PublishOnce | shape.StageBatch | shape.PublishBatch | shape.AbortBatch,
    partition: int,
) -> PublicationName:
    application = _own(check_name("Application", request.application), queue, call.account)
    return PublicationName(queue.record.uid, application, within("Batch", request.batch, 0, 0, MAX_SEQUENCE), partition)


def _winners(request: shape.PublishBatch) -> list[Winner]:
    if len(request.attempts) > limits.MAX_ATTEMPTS:
        raise OverLimit(f"A batch has at most {limits.MAX_ATTEMPTS:,} attempts that count.")
    winners = [
        Winner(
            check_name("Attempt", each.attempt),
            within("Chunks", each.chunks, 0, 0, limits.MAX_BATCH_CHUNKS),
            within("Partition", each.partition, at, 0, limits.MAX_SHARD),
        )
        for at, each in enumerate(request.attempts)
    ]
    if len({winner.attempt for winner in winners}) < len(winners):
        raise InvalidParameterValue("Value for parameter Attempts is invalid. Reason: An attempt is named twice.")
    if len({winner.partition for winner in winners}) < len(winners):
        raise InvalidParameterValue("Value for parameter Attempts is invalid. Reason: A partition is named twice.")
    return winners


def _own(application: str, queue: Queue, account: str) -> str:
    """Names are each account's own: whoever may send to a queue must not publish, or spoil, what another has named.

    The owner's are as they are, and have no line break in them.
    """
    return application if account == queue.key[0] else f"{account}\n{application}"
