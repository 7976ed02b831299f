"""The operations on messages, as steps. A queue is given by its name or its URL."""

from collections.abc import Iterable, Iterator, Mapping, Sequence
from itertools import count, islice
from typing import TypeVar

from rockdove.client.outgoing import Attributes, Outgoing, cut, wire_attributes, wire_trace_header
from rockdove.client.step import Names, Steps, ask, tell
from rockdove.core.errors import BatchRequestTooLong
from rockdove.core.limits import MAX_BATCH_ENTRIES, MAX_PEEK_PAGE, MAX_RECEIVE
from rockdove.wire import extension, shape

T = TypeVar("T")

ALL = ("All",)


def send(
    names: Names,
    queue: str,
    body: str,
    *,
    delay_s: int | None = None,
    attributes: Attributes | None = None,
    group_id: str | None = None,
    deduplication_id: str | None = None,
    trace_header: str | None = None,
) -> Steps[shape.SendMessageResult]:
    """Send one message. When this returns, the service has it on disk (if its store has one)."""
    url = yield from names.url(queue)
    request = shape.SendMessage(
        queue_url=url,
        message_body=body,
        delay_seconds=delay_s,
        message_attributes=wire_attributes(attributes),
        message_system_attributes=wire_trace_header(trace_header),
        message_group_id=group_id,
        message_deduplication_id=deduplication_id,
    )
    return (yield from ask(request, shape.SendMessageResult))


def send_batch(names: Names, queue: str, messages: Iterable[str | Outgoing]) -> Steps[shape.SendMessageBatchResult]:
    """Send any number of messages, in requests as large as SQS allows.

    The ids in the result are the places of the messages, counted from 0. A request that fails as a whole raises; what
    earlier ones sent stays sent (`rockdove.client.cut` makes the same groups, for who needs to know which).
    """
    url = yield from names.url(queue)
    result = shape.SendMessageBatchResult(successful=[], failed=[])
    places = count()
    drafts = (message if isinstance(message, Outgoing) else Outgoing(body=message) for message in messages)
    for batch in cut(drafts):
        entries = [batch_entry(next(places), message) for message in batch]
        answer = yield from _send_entries(url, entries)
        result.successful += answer.successful
        result.failed += answer.failed
    return result


def _send_entries(url: str, entries: list[shape.SendMessageBatchRequestEntry]) -> Steps[shape.SendMessageBatchResult]:
    try:
        request = shape.SendMessageBatch(queue_url=url, entries=entries)
        return (yield from ask(request, shape.SendMessageBatchResult))
    except BatchRequestTooLong as fault:
        if len(entries) > 1:
            raise
        # One message is too large for any request: its failure, not that of the others.
        failed = shape.BatchResultErrorEntry(
            id=entries[0].id, sender_fault=True, code=fault.code, message=fault.message
        )
        return shape.SendMessageBatchResult(successful=[], failed=[failed])


def batch_entry(place: int, message: Outgoing) -> shape.SendMessageBatchRequestEntry:
    return shape.SendMessageBatchRequestEntry(
        id=str(place),
        message_body=message.body,
        delay_seconds=message.delay_s,
        message_attributes=wire_attributes(message.attributes),
        message_system_attributes=wire_trace_header(message.trace_header),
        message_group_id=message.group_id,
        message_deduplication_id=message.deduplication_id,
    )


def receive(
    names: Names,
    queue: str,
    *,
    limit: int = 1,
    wait_s: int | None = None,
    visibility_s: int | None = None,
    system_attributes: Sequence[str] = ALL,
    message_attributes: Sequence[str] = ALL,
    attempt_id: str | None = None,
) -> Steps[list[shape.Message]]:
    """Up to ``limit`` messages (100 at most), which are then invisible to others until they are deleted or time is up.

    Waits up to ``wait_s`` seconds for the first one; without it, as long as the queue says.
    """
    url = yield from names.url(queue)
    kind, result = (
        (shape.ReceiveMessage, shape.ReceiveMessageResult)
        if limit <= MAX_RECEIVE
        else (extension.Receive, extension.ReceiveResult)
    )
    request = kind(
        queue_url=url,
        max_number_of_messages=limit,
        wait_time_seconds=wait_s,
        visibility_timeout=visibility_s,
        message_system_attribute_names=list(system_attributes) or None,
        message_attribute_names=list(message_attributes) or None,
        receive_request_attempt_id=attempt_id,
    )
    answer = yield from ask(request, result)
    return answer.messages


def peek(
    names: Names,
    queue: str,
    *,
    limit: int = MAX_RECEIVE,
    system_attributes: Sequence[str] = ALL,
    message_attributes: Sequence[str] = ALL,
) -> Steps[list[extension.PeekedMessage]]:
    """Look at up to ``limit`` messages (100 at most) and disturb none: no receive is counted, nothing is hidden."""
    url = yield from names.url(queue)
    request = extension.Peek(
        queue_url=url,
        max_number_of_messages=limit,
        message_system_attribute_names=list(system_attributes) or None,
        message_attribute_names=list(message_attributes) or None,
    )
    answer = yield from ask(request, extension.PeekResult)
    return answer.messages


def peek_page(
    names: Names,
    queue: str,
    *,
    limit: int = MAX_PEEK_PAGE,
    token: str | None = None,
    system_attributes: Sequence[str] = ALL,
    message_attributes: Sequence[str] = ALL,
    physical_queue: int | None = None,
    sent_from: float | None = None,
    sent_until: float | None = None,
    group_id: str | None = None,
) -> Steps[extension.PeekResult]:
    """One page of a look at all messages, in any state: up to ``limit`` of them (1,000 at most) and 8 MiB.

    The next page is asked for by the ``next_token`` of this one; the last one has none. A message that is there from
    the first page to the last is on one of them, and on one only.

    The last four choose messages: those in one physical queue, those sent from one time to before another (seconds
    since 1970), those of one group. A page may have none of them and a token all the same.
    """
    url = yield from names.url(queue)
    request = extension.Peek(
        queue_url=url,
        max_number_of_messages=limit,
        message_system_attribute_names=list(system_attributes) or None,
        message_attribute_names=list(message_attributes) or None,
        order="sent",
        next_token=token,
        physical_queue=physical_queue,
        sent_from=sent_from,
        sent_until=sent_until,
        message_group_id=group_id,
    )
    return (yield from ask(request, extension.PeekResult))


def delete(names: Names, queue: str, receipt_handle: str) -> Steps[None]:
    """Delete a received message."""
    url = yield from names.url(queue)
    yield from tell(shape.DeleteMessage(queue_url=url, receipt_handle=receipt_handle))


def delete_batch(names: Names, queue: str, receipt_handles: Iterable[str]) -> Steps[shape.DeleteMessageBatchResult]:
    """Delete any number of received messages. The ids in the result are places, counted from 0."""
    url = yield from names.url(queue)
    result = shape.DeleteMessageBatchResult(successful=[], failed=[])
    entries = (
        shape.DeleteMessageBatchRequestEntry(id=str(place), receipt_handle=handle)
        for place, handle in enumerate(receipt_handles)
    )
    for batch in _tens(entries):
        request = shape.DeleteMessageBatch(queue_url=url, entries=batch)
        answer = yield from ask(request, shape.DeleteMessageBatchResult)
        result.successful += answer.successful
        result.failed += answer.failed
    return result


def change_visibility(names: Names, queue: str, receipt_handle: str, visibility_s: int) -> Steps[None]:
    """Hide a received message for so many seconds from now; 0 makes it visible."""
    url = yield from names.url(queue)
    request = shape.ChangeMessageVisibility(
        queue_url=url, receipt_handle=receipt_handle, visibility_timeout=visibility_s
    )
    yield from tell(request)


def change_visibility_batch(
    names: Names, queue: str, seconds: Mapping[str, int]
) -> Steps[shape.ChangeMessageVisibilityBatchResult]:
    """Hide any number of received messages, given by receipt handle. The ids in the result are places, from 0."""
    url = yield from names.url(queue)
    result = shape.ChangeMessageVisibilityBatchResult(successful=[], failed=[])
    entries = (
        shape.ChangeMessageVisibilityBatchRequestEntry(id=str(place), receipt_handle=handle, visibility_timeout=time_s)
        for place, (handle, time_s) in enumerate(seconds.items())
    )
    for batch in _tens(entries):
        request = shape.ChangeMessageVisibilityBatch(queue_url=url, entries=batch)
        answer = yield from ask(request, shape.ChangeMessageVisibilityBatchResult)
        result.successful += answer.successful
        result.failed += answer.failed
    return result


def _tens(items: Iterable[T]) -> Iterator[list[T]]:
    rest = iter(items)
    while batch := list(islice(rest, MAX_BATCH_ENTRIES)):
        yield batch
