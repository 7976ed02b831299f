"""Publishing once: from a request to the broker, and from its outcome to the result."""

from rockdove.broker.compose import compose, message_bytes
from rockdove.broker.context import Context
from rockdove.broker.publish import Chunk, Publisher
from rockdove.broker.queue import Queue
from rockdove.core import limits
from rockdove.core.errors import Fault
from rockdove.core.publication import Parcel, PublicationName
from rockdove.server import batch
from rockdove.server.call import Call
from rockdove.server.leases import MAX_SEQUENCE, check_name
from rockdove.server.messages import within
from rockdove.server.tracer import Tracer
from rockdove.wire import lease as shape
from rockdove.wire.shape import BatchResultErrorEntry


class PublishOperations:
    """Its one operation."""

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

    async def _publish(self, call: Call, queue: Queue, request: shape.PublishOnce) -> shape.PublishOnceResult:
        name = PublicationName(
            queue.record.uid,
            _own(check_name("Application", request.application), queue, call.account),
            within("Batch", request.batch, 0, 0, MAX_SEQUENCE),
            within("Partition", request.partition, 0, 0, limits.MAX_SHARD),
        )
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
        self, call: Call, queue: Queue, request: shape.PublishOnce, number: int
    ) -> tuple[Chunk, list[BatchResultErrorEntry]]:
        """The messages, and which of them are wrong."""
        now_us = self._clock.now_us()
        chunk = Chunk(number, bool(request.final), [], 0)
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


def _own(application: str, queue: Queue, account: str) -> str:
    """Names are each account's own: whoever may send to a queue must not publish, or spoil, what another has named.

    The owner's are as they are, and have no line break in them.
    """
    return application if account == queue.key[0] else f"{account}\n{application}"
