"""A message, and its index entry: the time from which it may be received."""

import re

from msgspec import Struct

# What XML 1.0 cannot carry, and SQS therefore does not take, neither in bodies nor in attributes.
FORBIDDEN = re.compile("[^\t\n\r\x20-\ud7ff\ue000-\ufffd\U00010000-\U0010ffff]")


class Attribute(Struct, frozen=True, rename="pascal", omit_defaults=True, gc=False):
    """A message attribute as SQS has it; this is also its form on disk."""

    data_type: str
    string_value: str | None = None
    binary_value: bytes | None = None


class Extra(Struct, frozen=True, omit_defaults=True, kw_only=True):
    """What most messages do not have; this is also its form on disk."""

    attributes: dict[str, Attribute] | None = None
    attributes_md5: str | None = None
    # AWSTraceHeader, the one system attribute that a sender may set.
    trace_header: Attribute | None = None
    group_id: str | None = None
    deduplication_id: str | None = None
    # The sender's account where it is not the queue's owner.
    sender_id: str | None = None
    # Set when a message was moved to a dead-letter queue: its name must not change with its place.
    message_id: str | None = None
    dead_letter_source: str | None = None
    # Receives in the queues that it was moved out of.
    received_before: int = 0


class Message(Struct, array_like=True, frozen=True, gc=False):
    """What was sent: never changes. ``body`` is UTF-8, and ``md5`` its sum, in hexadecimal."""

    sent_us: int
    body: bytes
    md5: str
    extra: Extra | None = None

    @property
    def text(self) -> str:
        """The body."""
        return self.body.decode()


class Entry(Struct, array_like=True, gc=False):
    """The index entry ``(visible_us, id)`` of a message, with what its deliveries have left behind.

    The id names the message for ever: the physical queue's number in the high bits, its sequence number below
    (see `rockdove.core.ids`).
    """

    id: int
    visible_us: int
    message: Message
    receive_count: int = 0
    first_received_us: int = 0
