"""Tells the recorder of a trace what happens: an event for each message of each operation, never a body.

What is done for each message here is little, because it is done on the hot path.
"""

from collections.abc import Callable, Sequence
from time import perf_counter

import msgspec

from rockdove.broker.broker import Broker
from rockdove.broker.compose import message_bytes
from rockdove.broker.deadletter import message_id, receive_count
from rockdove.broker.queue import Queue
from rockdove.broker.receive import Delivery
from rockdove.core import ids
from rockdove.core.errors import Fault
from rockdove.core.ids import physical_of
from rockdove.core.message import Entry
from rockdove.core.receipt import contents
from rockdove.server.call import Call
from rockdove.store.base import Appended, Draft, Physical
from rockdove.trace.writer import Row
from rockdove.wire.operation import Operation
from rockdove.wire.shape import Request

# What an operation is called in traces.
OPS = {
    "SendMessage": "send",
    "SendMessageBatch": "send",
    "ReceiveMessage": "receive",
    "Receive": "receive",
    "DeleteMessage": "delete",
    "DeleteMessageBatch": "delete",
    "LeaseBatch": "receive",
    "AckThrough": "delete",
    "PublishOnce": "send",
    "PublishBatch": "send",
    "ChangeMessageVisibility": "change_visibility",
    "ChangeMessageVisibilityBatch": "change_visibility",
    "PurgeQueue": "purge",
    "DeleteQueue": "purge",
}
_decode_name = msgspec.msgpack.Decoder(tuple[int, str]).decode
# Ids of dead letters are remembered from receive to delete, for so many at most.
MOST_RENAMED = 100_000


def row(
    now_us: int,
    key: tuple[str, str],
    physical: int | None,
    op: str,
    message_id: str | None = None,
    group_id: str | None = None,
    *,
    attempt: int | None = None,
    sent_us: int | None = None,
    dequeued_us: int | None = None,
    latency_us: int | None = None,
    size: int | None = None,
    status: int = 200,
) -> Row:
    """The values of an `Event` in their order. A plain tuple of them costs least."""
    account, queue = key
    # Only clients know these.
    sender = seq = receiver = checksum_ok = None
    # A message that is sent is in its queue at once.
    enqueued_us = sent_us
    return (
        now_us,
        account,
        queue,
        physical,
        op,
        message_id,
        group_id,
        sender,
        seq,
        receiver,
        attempt,
        sent_us,
        enqueued_us,
        dequeued_us,
        latency_us,
        size,
        checksum_ok,
        status,
    )


class Tracer:
    """One method for each thing that can happen. What answers a call is told just before the answer is written."""

    def __init__(self, add: Callable[[Row], None], broker: Broker) -> None:
        self._add = add
        self._now_us = broker.clock.now_us
        self._directory = broker.directory
        self._receipts = broker.receipts
        # Messages that have kept the id of another queue: a receipt handle does not tell it.
        self._renamed: dict[int, str] = {}
        # Called with each of them, so that other processes of the service know it, too.
        self.tell_name: Callable[[int, str], None] = lambda id, name: None

    def published(self, queue: Queue, sent: Sequence[tuple[Draft, Appended]]) -> None:
        for draft, appended in sent:
            message, extra = draft.message, draft.message.extra
            self._add(
                row(
                    self._now_us(),
                    queue.key,
                    queue.index(physical_of(appended.id)),
                    "send",
                    appended.message_id,
                    None if extra is None else extra.group_id,
                    sent_us=message.sent_us,
                    size=message_bytes(message),
                )
            )

    def sent(self, call: Call, queue: Queue, draft: Draft, appended: Appended) -> None:
        extra = draft.message.extra
        self._add(
            row(
                self._now_us(),
                queue.key,
                queue.index(physical_of(appended.id)),
                "send",
                appended.message_id,
                None if extra is None else extra.group_id,
                sent_us=draft.message.sent_us,
                # Written out, because it is done for every message sent.
                latency_us=int((perf_counter() - call.began_s) * 1_000_000),
                size=draft.bytes,
            )
        )

    def received(self, call: Call, queue: Queue, deliveries: Sequence[Delivery]) -> None:
        latency_us = _latency_us(call)
        if not deliveries:
            self._note(call, "miss", queue, 200)
        for delivery in deliveries:
            entry, physical = delivery.entry, delivery.physical
            self._had("receive", queue, physical, entry, receive_count(entry), delivery.claimed_us, latency_us)
            if entry.message.extra is not None and entry.message.extra.message_id is not None:
                self.remember(entry.id, entry.message.extra.message_id)
                self.tell_name(entry.id, entry.message.extra.message_id)

    def finished(self, call: Call, op: str, queue: Queue, handle: str, outcome: Fault | None) -> None:
        """Something was done with a receipt handle, or not."""
        # With success it is known that the handle is one of ours.
        receipt = contents(handle) if outcome is None else self._receipts.read(queue.uid, handle)
        if receipt is None:
            self._note(call, op, queue, 200 if outcome is None else outcome.status)
            return
        number = physical_of(receipt.id)
        self._add(
            row(
                self._now_us(),
                queue.key,
                queue.index(number),
                op,
                self._name(queue.by_number(number), receipt.id),
                attempt=receipt.receive_count,
                dequeued_us=receipt.received_us,
                latency_us=_latency_us(call),
                status=200 if outcome is None else outcome.status,
            )
        )
        if op == "delete" and outcome is None and self._renamed:
            self._renamed.pop(receipt.id, None)

    def acknowledged(self, call: Call, queue: Queue, ids: Sequence[int]) -> None:
        """Leased messages were deleted."""
        now_us, latency_us = self._now_us(), _latency_us(call)
        for id in ids:
            number = physical_of(id)
            name = self._name(queue.by_number(number), id)
            self._add(row(now_us, queue.key, queue.index(number), "delete", name, latency_us=latency_us))
            self._renamed.pop(id, None)

    def failed(self, call: Call, op: str, queue: Queue, fault: Fault) -> None:
        """An operation on a queue was refused, or did not succeed."""
        self._note(call, op, queue, fault.status)

    def purged(self, call: Call, queue: Queue) -> None:
        self._note(call, "purge", queue, 200)

    def refused(self, call: Call, operation: Operation, request: Request, fault: Fault) -> None:
        """A request was not even begun."""
        op, url = OPS.get(operation.name), getattr(request, "queue_url", None)
        if op is not None and url is not None:
            try:
                queue = self._directory.at_url(url, call.account)
            except Fault:
                return
            self._note(call, op, queue, fault.status)

    # What nobody asked for; see `rockdove.broker.watch.Watch`.

    def expired(self, queue: Queue, physical: Physical, ids: Sequence[int]) -> None:
        now_us, index = self._now_us(), queue.index(physical.record.number)
        for id in ids:
            self._add(row(now_us, queue.key, index, "expire", self._name(physical, id)))
            self._renamed.pop(id, None)

    def dead_lettered(self, queue: Queue, physical: Physical, entries: Sequence[Entry]) -> None:
        self._left("dead_letter", queue, physical, entries, 0)

    def redriven(self, queue: Queue, physical: Physical, entries: Sequence[Entry]) -> None:
        # The task has claimed them itself, which is no receive.
        self._left("redrive", queue, physical, entries, 1)

    def _left(self, op: str, queue: Queue, physical: Physical, entries: Sequence[Entry], claims: int) -> None:
        for entry in entries:
            self._had(op, queue, physical, entry, receive_count(entry) - claims, None, None)
            self._renamed.pop(entry.id, None)

    def _had(
        self,
        op: str,
        queue: Queue,
        physical: Physical,
        entry: Entry,
        attempt: int,
        dequeued_us: int | None,
        latency_us: int | None,
    ) -> None:
        """An event of a message that is at hand."""
        message, extra = entry.message, entry.message.extra
        self._add(
            row(
                self._now_us(),
                queue.key,
                queue.index(physical.record.number),
                op,
                message_id(physical, entry),
                None if extra is None else extra.group_id,
                attempt=attempt,
                sent_us=message.sent_us,
                dequeued_us=dequeued_us,
                latency_us=latency_us,
                size=message_bytes(message),
            )
        )

    def _note(self, call: Call, op: str, queue: Queue, status: int) -> None:
        """An event without a message."""
        self._add(row(self._now_us(), queue.key, None, op, latency_us=_latency_us(call), status=status))

    def _name(self, physical: Physical | None, id: int) -> str | None:
        if self._renamed and id in self._renamed:
            return self._renamed[id]
        return None if physical is None else ids.message_id(physical.record.prefix, id)

    def hear_name(self, payload: bytes) -> None:
        """Another process of the service has met one of them."""
        self.remember(*_decode_name(payload))

    def remember(self, id: int, name: str) -> None:
        """A message has kept the id of another queue."""
        if len(self._renamed) >= MOST_RENAMED:
            del self._renamed[next(iter(self._renamed))]
        self._renamed[id] = name


def _latency_us(call: Call) -> int:
    return int((perf_counter() - call.began_s) * 1_000_000)
