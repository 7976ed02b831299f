"""The operations on leases: from a request to the broker, and from its outcome to the result."""

import base64
import re
from collections.abc import Sequence
from functools import partial

import msgspec

from rockdove.broker.context import Context
from rockdove.broker.lease import Given, Leasing
from rockdove.broker.queue import Queue
from rockdove.core import limits
from rockdove.core.errors import Fault, InvalidParameterValue
from rockdove.core.lease import Lease
from rockdove.server.call import Call
from rockdove.server.messages import within
from rockdove.server.render import Selection, leased, select
from rockdove.server.tracer import Tracer
from rockdove.wire import lease as shape

_NAME = re.compile(rf"[ -~]{{1,{limits.MAX_CONSUMER_LENGTH}}}")
MAX_SEQUENCE = 2**63 - 1


class LeaseOperations:
    """One method for each operation."""

    def __init__(self, context: Context, tracer: Tracer | None = None) -> None:
        self._leasing = Leasing(context)
        self._queue = context.directory.by_url
        self._tracer = tracer

    def lease_batch(self, call: Call, request: shape.LeaseBatch) -> None:
        queue = self._queue(request.queue_url, call.account)
        limit = within("Max", request.max, 1_000, 1, limits.MAX_LEASE)
        wait_s = within("WaitTimeSeconds", request.wait_time_seconds, 0, 0, limits.MAX_WAIT_S)
        consumer, shard, sequence = _consumer(request.consumer), _shard(request.shard), _sequence(request.sequence)
        assert shard is not None
        assert sequence is not None
        selection = select(request.message_system_attribute_names, None, request.message_attribute_names)
        reply = partial(self._leased, call, queue, selection)
        asked = self._leasing.lease(queue, consumer, shard, sequence, limit, wait_s, reply)
        if not asked.is_over:
            call.waiting = asked

    def _leased(self, call: Call, queue: Queue, selection: Selection, outcome: Given | Fault) -> None:
        if isinstance(outcome, Fault):
            if self._tracer is not None:
                self._tracer.failed(call, "receive", queue, outcome)
            call.fail(outcome)
            return
        if self._tracer is not None and outcome.new:
            self._tracer.received(call, queue, outcome.deliveries)
        messages = [leased(queue, delivery, selection) for delivery in outcome.deliveries]
        made_ms = outcome.made_us // 1000
        call.answer(shape.LeaseBatchResult(messages=messages, leased_timestamp=made_ms, deleted=outcome.deleted))

    async def ack_through(self, call: Call, request: shape.AckThrough) -> shape.AckThroughResult:
        queue = self._queue(request.queue_url, call.account)
        try:
            consumer, shard, sequence = _consumer(request.consumer), _shard(request.shard), _sequence(request.sequence)
            ended = await self._leasing.ack(queue, consumer, shard, sequence, self._tracer is not None)
        except Fault as fault:
            if self._tracer is not None:
                self._tracer.failed(call, "delete", queue, fault)
            raise
        if self._tracer is not None:
            self._tracer.acknowledged(call, queue, ended.ids)
        return shape.AckThroughResult(leases=ended.leases, messages=ended.messages)

    async def release_consumer(self, call: Call, request: shape.ReleaseConsumer) -> shape.ReleaseConsumerResult:
        queue = self._queue(request.queue_url, call.account)
        ended = await self._leasing.release(queue, _consumer(request.consumer), bool(request.forget))
        return shape.ReleaseConsumerResult(leases=ended.leases, messages=ended.messages)

    async def list_leases(self, call: Call, request: shape.ListLeases) -> shape.ListLeasesResult:
        queue = self._queue(request.queue_url, call.account)
        most = within("MaxResults", request.max_results, limits.MAX_LISTED_LEASES, 1, limits.MAX_LISTED_LEASES)
        consumer = None if request.consumer is None else _consumer(request.consumer)
        after = None if request.next_token is None else _read_token(request.next_token)
        holders = await self._leasing.holders(queue, consumer)
        page = await self._leasing.page(queue, consumer, after, most + 1)
        return shape.ListLeasesResult(
            consumers=[
                shape.ListedConsumer(
                    consumer=holder.consumer,
                    leases=holder.leases,
                    messages=holder.messages,
                    last_call_timestamp=holder.seen_us // 1000,
                )
                for holder in holders
            ],
            leases=[_listed(lease) for lease in page[:most]],
            next_token=_token(page[:most]) if len(page) > most else None,
        )


def _listed(lease: Lease) -> shape.ListedLease:
    return shape.ListedLease(
        consumer=lease.consumer,
        shard=lease.shard,
        sequence=lease.sequence,
        messages=lease.messages,
        leased_timestamp=lease.made_us // 1000,
    )


def _consumer(name: str) -> str:
    return check_name("Consumer", name)


def check_name(parameter: str, name: str) -> str:
    """Raises the fault of a name that is none."""
    if not _NAME.fullmatch(name):
        raise InvalidParameterValue(
            f"Value {name} for parameter {parameter} is invalid. Reason: Must be 1 to {limits.MAX_CONSUMER_LENGTH} "
            "printable ASCII characters."
        )
    return name


def _shard(shard: int | None) -> int | None:
    return None if shard is None else within("Shard", shard, 0, 0, limits.MAX_SHARD)


def _sequence(sequence: int | None) -> int | None:
    return None if sequence is None else within("Sequence", sequence, 0, 0, MAX_SEQUENCE)


def _token(page: Sequence[Lease]) -> str:
    """Names the last lease given."""
    last = page[-1]
    return base64.urlsafe_b64encode(msgspec.json.encode((last.consumer, last.shard, last.sequence))).decode()


def _read_token(token: str) -> tuple[str, int, int]:
    try:
        text = base64.b64decode(token, altchars=b"-_", validate=True)
        consumer, shard, sequence = msgspec.json.decode(text, type=tuple[str, int, int])
        if not (0 <= shard <= limits.MAX_SHARD and 0 <= sequence <= MAX_SEQUENCE):
            raise ValueError("no lease has such a name")
        return consumer, shard, sequence
    except ValueError:
        raise InvalidParameterValue("Invalid or expired next token.") from None
