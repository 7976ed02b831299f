"""What becomes of a message that changes its queue."""

from collections.abc import Sequence

from msgspec.structs import replace

from rockdove.broker.queue import Queue
from rockdove.core import ids
from rockdove.core.message import Entry, Extra, Message
from rockdove.store.base import Draft, Physical


def letters(source: Queue, physical: Physical, dead: Sequence[Entry], target: Queue, now_us: int) -> list[Draft]:
    """Messages on their way to a dead-letter queue.

    They keep their message id and the count of their receives, and on standard queues the time of sending, so that
    retention counts from there; FIFO queues count it anew, as SQS documents.
    """
    return [_letter(source, physical, entry, target, now_us) for entry in dead]


def _letter(source: Queue, physical: Physical, entry: Entry, target: Queue, now_us: int) -> Draft:
    old = entry.message
    extra = replace(
        old.extra or Extra(),
        message_id=message_id(physical, entry),
        dead_letter_source=source.arn,
        received_before=receive_count(entry),
    )
    sent_us = now_us if source.fifo else old.sent_us
    message = Message(sent_us, old.body, old.md5, extra)
    return Draft(message, now_us + (target.settings.delay_us if target.fifo else 0))


def moved(entry: Entry, target: Queue, now_us: int) -> Draft:
    """A message that a move task takes out of a dead-letter queue: new in every way but its contents."""
    old = entry.message
    extra = old.extra and replace(old.extra, message_id=None, dead_letter_source=None, received_before=0)
    if extra == Extra():
        extra = None
    message = Message(now_us, old.body, old.md5, extra)
    return Draft(message, now_us + (target.settings.delay_us if target.fifo else 0))


def message_id(physical: Physical, entry: Entry) -> str:
    extra = entry.message.extra
    if extra is not None and extra.message_id is not None:
        return extra.message_id
    return ids.message_id(physical.record.prefix, entry.id)


def receive_count(entry: Entry) -> int:
    """Over all queues that the message has been in."""
    extra = entry.message.extra
    return entry.receive_count + (extra.received_before if extra is not None else 0)
