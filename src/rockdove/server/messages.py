"""The operations on messages: from a request to the broker, and from its outcome to the result."""

import re
from collections.abc import Callable, Sequence
from functools import partial
from typing import TypeAlias, TypeVar

from rockdove.broker.broker import Broker
from rockdove.broker.compose import check_groups, compose, system_md5
from rockdove.broker.look import Look
from rockdove.broker.queue import Queue
from rockdove.broker.receive import ClaimIds, Delivery, claims_of
from rockdove.core import ids, limits
from rockdove.core.clock import SECOND_US
from rockdove.core.errors import BatchRequestTooLong, Fault, InvalidParameterValue, MissingParameter
from rockdove.core.message import Extra
from rockdove.server import batch
from rockdove.server.call import Call
from rockdove.server.render import Selection, peeked, received, select
from rockdove.server.tracer import Tracer
from rockdove.store.base import LATEST_US, Appended, Draft, Page
from rockdove.wire import extension, shape

# Of tokens between pages, which are ids of entries.
_LAST_ID = 2**63 - 1
_TOKEN_LENGTH = len(str(_LAST_ID))
# Bytes of messages in an answer that is XML, but for one message: each may become six, which takes its time.
XML_BYTES = 2 * 1024 * 1024
# ReceiveRequestAttemptId: letters, digits and ASCII punctuation.
_ATTEMPT = re.compile(rf"[!-~]{{1,{limits.MAX_ID_LENGTH}}}")
Finish = Callable[[Fault | None], None]
# An entry of a batch on messages that somebody holds.
OfReceipt: TypeAlias = shape.DeleteMessageBatchRequestEntry | shape.ChangeMessageVisibilityBatchRequestEntry
E = TypeVar("E", bound=OfReceipt)


class Messages:
    """One method for each operation; they answer the call, at once or later."""

    def __init__(self, broker: Broker, tracer: Tracer | None = None) -> None:
        self._broker = broker
        self._tracer = tracer
        self._look = Look(broker.store, broker.context.processes)
        self._queue = broker.directory.at_url
        self._clock = broker.clock

    # Send.

    def send_message(self, call: Call, request: shape.SendMessage) -> None:
        queue = self._queue(request.queue_url, call.account)
        draft = compose(queue, request, call.account, self._clock.now_us(), call.plain, call.trace_id)
        self._broker.send(queue, (draft,), partial(self._sent, call, queue, draft))

    def _sent(self, call: Call, queue: Queue, draft: Draft, outcome: list[Appended] | Fault) -> None:
        if isinstance(outcome, Fault):
            self._failed(call, "send", queue, outcome)
            return
        message = draft.message
        result = shape.SendMessageResult(md5_of_message_body=message.md5, message_id=outcome[0].message_id)
        if message.extra is not None:
            _add_extra(result, queue, message.extra, outcome[0])
        if self._tracer is not None:
            self._tracer.sent(call, queue, draft, outcome[0])
        call.answer(result)

    def _failed(self, call: Call, op: str, queue: Queue, fault: Fault) -> None:
        if self._tracer is not None:
            self._tracer.failed(call, op, queue, fault)
        call.fail(fault)

    def send_message_batch(self, call: Call, request: shape.SendMessageBatch) -> None:
        queue = self._queue(request.queue_url, call.account)
        batch.check(request.entries, "SendMessageBatchRequestEntry")
        if queue.fifo:
            for entry in request.entries:
                check_groups(queue, entry)
        now, plain = self._clock.now_us(), call.plain
        result = shape.SendMessageBatchResult(successful=[], failed=[])
        good: list[tuple[str, Draft]] = []
        size = 0
        for entry in request.entries:
            try:
                draft = compose(queue, entry, call.account, now, plain, call.trace_id)
            except Fault as fault:
                result.failed.append(batch.failed(entry.id, fault))
                if self._tracer is not None:
                    self._tracer.failed(call, "send", queue, fault)
                size += len(entry.message_body.encode(errors="replace"))
            else:
                good.append((entry.id, draft))
                size += draft.bytes
        if size > limits.MAX_MESSAGE_BYTES:
            raise BatchRequestTooLong(
                f"Batch requests cannot be longer than {limits.MAX_MESSAGE_BYTES} bytes. You have sent {size} bytes."
            )
        if good:
            sent = partial(self._batch_sent, call, queue, good, result)
            self._broker.send(queue, [draft for _, draft in good], sent)
        else:
            call.answer(result)

    def _batch_sent(
        self,
        call: Call,
        queue: Queue,
        good: list[tuple[str, Draft]],
        result: shape.SendMessageBatchResult,
        outcome: list[Appended] | Fault,
    ) -> None:
        if isinstance(outcome, Fault):
            self._failed(call, "send", queue, outcome)
            return
        for (id, draft), appended in zip(good, outcome, strict=True):
            message = draft.message
            entry = shape.SendMessageBatchResultEntry(
                id=id, message_id=appended.message_id, md5_of_message_body=message.md5
            )
            if message.extra is not None:
                _add_extra(entry, queue, message.extra, appended)
            result.successful.append(entry)
            if self._tracer is not None:
                self._tracer.sent(call, queue, draft, appended)
        call.answer(result)

    # Receive.

    def receive_message(self, call: Call, request: shape.ReceiveMessage) -> None:
        self._receive(call, request, limits.MAX_RECEIVE)

    def receive(self, call: Call, request: extension.Receive) -> None:
        self._receive(call, request, limits.MAX_RECEIVE_EXTENDED)

    def _receive(self, call: Call, request: shape.ReceiveMessage, most: int) -> None:
        queue = self._queue(request.queue_url, call.account)
        settings = queue.settings
        limit = within("MaxNumberOfMessages", request.max_number_of_messages, 1, 1, most)
        wait_s = within("WaitTimeSeconds", request.wait_time_seconds, settings.wait_s, 0, limits.MAX_WAIT_S)
        timeout_us = settings.visibility_timeout_us
        if request.visibility_timeout is not None:
            timeout_s = request.visibility_timeout
            timeout_us = within("VisibilityTimeout", timeout_s, 0, 0, limits.MAX_VISIBILITY_TIMEOUT_S) * SECOND_US
        selection = select(
            request.attribute_names, request.message_system_attribute_names, request.message_attribute_names
        )
        attempt = _attempt(queue, request.receive_request_attempt_id)
        reply = partial(self._received, call, queue, selection)
        room_bytes = limits.MAX_ANSWER_BYTES if limit > limits.MAX_RECEIVE else XML_BYTES if call.is_xml else 0
        receive = self._broker.receive(queue, limit, timeout_us, wait_s, attempt, reply, room_bytes)
        if not receive.is_over:
            call.waiting = receive

    def _received(self, call: Call, queue: Queue, selection: Selection, outcome: list[Delivery] | Fault) -> bool:
        """False: the client has gone, and the messages with it."""
        if isinstance(outcome, Fault):
            self._failed(call, "receive", queue, outcome)
            return True
        if outcome and call.is_gone():
            return False
        if self._tracer is not None:
            self._tracer.received(call, queue, outcome)
        receipts = self._broker.receipts
        messages = [received(queue, delivery, selection, receipts) for delivery in outcome]
        call.answer(shape.ReceiveMessageResult(messages=messages))
        if outcome:
            # Without the messages: a client may take its time.
            call.when_taken(partial(self._taken, claims_of(outcome)))
        return True

    def _taken(self, claims: ClaimIds) -> None:
        for physical, claimed in claims:
            self._broker.store.delivered(physical, claimed)

    async def peek(self, call: Call, request: extension.Peek) -> extension.PeekResult:
        queue = self._queue(request.queue_url, call.account)
        after = _after(request.order, request.next_token)
        most = limits.MAX_RECEIVE_EXTENDED if after is None else limits.MAX_PEEK_PAGE
        limit = within("MaxNumberOfMessages", request.max_number_of_messages, 10, 1, most)
        selection = select(request.message_system_attribute_names, None, request.message_attribute_names)
        last: int | None = None
        if after is None:
            _refuse_choice(request)
            found = await self._look.next(queue, limit)
        else:
            part = request.physical_queue
            if part is not None:
                within("PhysicalQueue", part, 0, 0, limits.MAX_PHYSICAL_QUEUES - 1)
            found, last = await self._look.page(queue, _page(request, after, limit), part)
        now = self._clock.now_us()
        return extension.PeekResult(
            messages=[peeked(queue, index, delivery, selection, now) for index, delivery in found],
            next_token=None if last is None else str(last),
        )

    # Delete, change visibility.

    def delete_message(self, call: Call, request: shape.DeleteMessage) -> None:
        queue, handle = self._queue(request.queue_url, call.account), request.receipt_handle
        self._broker.delete(queue, handle, partial(self._finish, call, "delete", queue, handle))

    def delete_message_batch(self, call: Call, request: shape.DeleteMessageBatch) -> None:
        queue = self._queue(request.queue_url, call.account)
        batch.check(request.entries, "DeleteMessageBatchRequestEntry")
        result = shape.DeleteMessageBatchResult(successful=[], failed=[])

        def succeeded(id: str) -> None:
            result.successful.append(shape.DeleteMessageBatchResultEntry(id=id))

        def deleted(outcomes: list[Fault | None]) -> None:
            for entry, fault in zip(request.entries, outcomes, strict=True):
                if told is not None:
                    told(entry, fault)
                if fault is None:
                    succeeded(entry.id)
                else:
                    result.failed.append(batch.failed(entry.id, fault))
            call.answer(result)

        def delete(entry: shape.DeleteMessageBatchRequestEntry, done: Finish) -> None:
            self._broker.delete(queue, entry.receipt_handle, done)

        told = self._teller(call, "delete", queue)
        if queue.fifo:
            _each(request.entries, delete, succeeded, result.failed, told, lambda: call.answer(result))
        else:
            self._broker.delete_all(queue, [entry.receipt_handle for entry in request.entries], deleted)

    def change_message_visibility(self, call: Call, request: shape.ChangeMessageVisibility) -> None:
        queue, handle = self._queue(request.queue_url, call.account), request.receipt_handle
        done = partial(self._finish, call, "change_visibility", queue, handle)
        self._broker.change_visibility(queue, handle, request.visibility_timeout, done)

    def change_message_visibility_batch(self, call: Call, request: shape.ChangeMessageVisibilityBatch) -> None:
        queue = self._queue(request.queue_url, call.account)
        batch.check(request.entries, "ChangeMessageVisibilityBatchRequestEntry")
        result = shape.ChangeMessageVisibilityBatchResult(successful=[], failed=[])

        def change(entry: shape.ChangeMessageVisibilityBatchRequestEntry, done: Finish) -> None:
            if entry.visibility_timeout is None:
                raise MissingParameter("The request must contain the parameter VisibilityTimeout.")
            self._broker.change_visibility(queue, entry.receipt_handle, entry.visibility_timeout, done)

        def succeeded(id: str) -> None:
            result.successful.append(shape.ChangeMessageVisibilityBatchResultEntry(id=id))

        told = self._teller(call, "change_visibility", queue)
        _each(request.entries, change, succeeded, result.failed, told, lambda: call.answer(result))

    def _finish(self, call: Call, op: str, queue: Queue, handle: str, outcome: Fault | None) -> None:
        if self._tracer is not None:
            self._tracer.finished(call, op, queue, handle, outcome)
        if outcome is None:
            call.answer(None)
        else:
            call.fail(outcome)

    def _teller(self, call: Call, op: str, queue: Queue) -> Callable[[OfReceipt, Fault | None], None] | None:
        """For a batch: traces what became of an entry; None where there is no trace."""
        tracer = self._tracer
        if tracer is None:
            return None
        return lambda entry, outcome: tracer.finished(call, op, queue, entry.receipt_handle, outcome)


def _add_extra(
    result: shape.SendMessageResult | shape.SendMessageBatchResultEntry,
    queue: Queue,
    extra: Extra,
    appended: Appended,
) -> None:
    """What most messages do not have."""
    result.md5_of_message_attributes = extra.attributes_md5
    result.md5_of_message_system_attributes = system_md5(extra)
    if queue.fifo:
        result.sequence_number = ids.sequence_number(appended.id)


def within(name: str, value: int | None, default: int, low: int, high: int) -> int:
    """A parameter's value, or its default. Raises the fault of one that is out of range."""
    if value is None:
        return default
    if not low <= value <= high:
        raise InvalidParameterValue(
            f"Value {value} for parameter {name} is invalid. "
            f"Reason: Must be {f'>= {low} and <=' if low == 0 else f'between {low} and'} {high}, if provided."
        )
    return value


def _refuse_choice(request: extension.Peek) -> None:
    for name, value in (
        ("PhysicalQueue", request.physical_queue),
        ("SentFrom", request.sent_from),
        ("SentUntil", request.sent_until),
        ("MessageGroupId", request.message_group_id),
    ):
        if value is not None:
            raise InvalidParameterValue(f"{name} needs Order to be sent.")


def _page(request: extension.Peek, after: int, limit: int) -> Page:
    return Page(
        after=after,
        limit=limit,
        room_bytes=limits.MAX_ANSWER_BYTES,
        sent_from_us=_micros("SentFrom", request.sent_from, 0),
        sent_until_us=_micros("SentUntil", request.sent_until, LATEST_US),
        group=request.message_group_id,
    )


def _micros(name: str, seconds: float | None, default: int) -> int:
    if seconds is None:
        return default
    if not 0 <= seconds < LATEST_US / SECOND_US:
        raise InvalidParameterValue(
            f"Value {seconds} for parameter {name} is invalid. Reason: Must be seconds since 1970."
        )
    return round(seconds * SECOND_US)


def _after(order: str | None, token: str | None) -> int | None:
    """After which entry a look at all messages goes on; None: it is one at those that are next."""
    if order not in (None, "visible", "sent"):
        raise InvalidParameterValue(f"Value {order} for parameter Order is invalid. Reason: Must be visible or sent.")
    if token is None:
        return 0 if order == "sent" else None
    if order != "sent":
        raise InvalidParameterValue("NextToken needs Order to be sent: what is visible next has no pages.")
    if not (token.isascii() and token.isdecimal() and len(token) <= _TOKEN_LENGTH):
        raise InvalidParameterValue("Invalid or expired next token.")
    return min(int(token), _LAST_ID)


def _attempt(queue: Queue, attempt: str | None) -> str | None:
    if attempt is None:
        return None
    if not queue.fifo:
        raise InvalidParameterValue(
            f"Value {attempt} for parameter ReceiveRequestAttemptId is invalid. "
            "Reason: The request include parameter that is not valid for this queue type."
        )
    if not _ATTEMPT.fullmatch(attempt):
        raise InvalidParameterValue(
            f"Value {attempt} for parameter ReceiveRequestAttemptId is invalid. Reason: ReceiveRequestAttemptId can "
            f"only include alphanumeric and punctuation characters. 1 to {limits.MAX_ID_LENGTH} in length."
        )
    return attempt


def _each(
    entries: Sequence[E],
    act: Callable[[E, Finish], None],
    succeeded: Callable[[str], None],
    failures: list[shape.BatchResultErrorEntry],
    told: Callable[[E, Fault | None], None] | None,
    done: Callable[[], None],
) -> None:
    """Do something for each entry of a batch; tell when all have had their outcome."""
    left = len(entries)

    def finished(entry: E, outcome: Fault | None) -> None:
        nonlocal left
        left -= 1
        if told is not None:
            told(entry, outcome)
        if outcome is None:
            succeeded(entry.id)
        else:
            failures.append(batch.failed(entry.id, outcome))
        if not left:
            done()

    for entry in entries:
        try:
            act(entry, partial(finished, entry))
        except Fault as fault:
            finished(entry, fault)
