"""Tells the recorder of a trace what happens: an event for each message of each operation, never a body.

What is done for each message here is little, because it is done on the hot path: no `Event` is made but a tuple of its
values, in the same order.
"""

from collections.abc import Callable, Sequence
from time import perf_counter
from typing import Any

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
    "ChangeMessageVisibility": "change_visibility",
    "ChangeMessageVisibilityBatch": "change_visibility",
    "PurgeQueue": "purge",
    "DeleteQueue": "purge",
}
_decode_name = msgspec.msgpack.Decoder(tuple[int, str]).decode
# Ids of dead letters are remembered from receive to delete, for so many at most.
MOST_RENAMED = 100_000


class Tracer:
    """One method for each thing that can happen. What answers a call is told just before the answer is written."""

    def __init__(self, add: Callable[[tuple[Any, ...]], None], broker: Broker) -> None:
        self._add = add
        self._now_us = broker.clock.now_us
        self._directory = broker.directory
        self._receipts = broker.receipts
        # Messages that have kept the id of another queue: a receipt handle does not tell it.
        self._renamed: dict[int, str] = {}
        # Called with each of them, so that other processes of the service know it, too.
        self.tell_name: Callable[[int, str], None] = lambda id, name: None

    def sent(self, call: Call, queue: Queue, draft: Draft, appended: Appended) -> None:
        message, (account, name) = draft.message, queue.key
        sent_us, extra = message.sent_us, message.extra
        # Written out, because it is done for every message sent: a call more is a tenth of all this.
        self._add(
            (
                self._now_us(),
                account,
                name,
                0 if len(queue.physical) == 1 else queue.index(ids.physical_of(appended.id)),
                "send",
                appended.message_id,
                None if extra is None else extra.group_id,
                None,
                None,
                None,
                None,
                sent_us,
                sent_us,
                None,
                int((perf_counter() - call.began_s) * 1_000_000),
                draft.bytes,
                None,
                200,
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
        account, name = queue.key
        number = ids.physical_of(receipt.id)
        self._add(
            (
                self._now_us(),
                account,
                name,
                queue.index(number),
                op,
                self._name(queue.by_number(number), receipt.id),
                None,
                None,
                None,
                None,
                receipt.receive_count,
                None,
                None,
                receipt.received_us,
                _latency_us(call),
                None,
                None,
                200 if outcome is None else outcome.status,
            )
        )
        if op == "delete" and outcome is None and self._renamed:
            self._renamed.pop(receipt.id, None)

    def acknowledged(self, call: Call, queue: Queue, ids: Sequence[int]) -> None:
        """Leased messages were deleted."""
        now_us, latency_us, (account, name) = self._now_us(), _latency_us(call), queue.key
        nothing = (None,) * 8
        for id in ids:
            number = physical_of(id)
            title = self._name(queue.by_number(number), id)
            row = (now_us, account, name, queue.index(number), "delete", title)
            self._add((*row, *nothing, latency_us, None, None, 200))
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
                queue = self._directory.by_url(url, call.account)
            except Fault:
                return
            self._note(call, op, queue, fault.status)

    # What nobody asked for; see `rockdove.broker.watch.Watch`.

    def expired(self, queue: Queue, physical: Physical, ids: Sequence[int]) -> None:
        now_us, (account, name), index = self._now_us(), queue.key, queue.index(physical.record.number)
        rest = (None,) * 11
        for id in ids:
            self._add((now_us, account, name, index, "expire", self._name(physical, id), *rest, 200))
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
        message, (account, name) = entry.message, queue.key
        sent_us, extra = message.sent_us, message.extra
        self._add(
            (
                self._now_us(),
                account,
                name,
                queue.index(physical.record.number),
                op,
                message_id(physical, entry),
                None if extra is None else extra.group_id,
                None,
                None,
                None,
                attempt,
                sent_us,
                sent_us,
                dequeued_us,
                latency_us,
                message_bytes(message),
                None,
                200,
            )
        )

    def _note(self, call: Call, op: str, queue: Queue, status: int) -> None:
        """An event without a message."""
        account, name = queue.key
        nothing = (None,) * 9
        self._add((self._now_us(), account, name, None, op, *nothing, _latency_us(call), None, None, status))

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
