"""Messages on their way out: what a caller gives, how SQS counts its size, and how many fit into one request."""

from collections.abc import Iterable, Iterator, Mapping
from decimal import Decimal
from typing import TypeAlias

from msgspec import Struct

from rockdove.core.limits import MAX_BATCH_ENTRIES, MAX_MESSAGE_BYTES
from rockdove.core.message import Attribute

# Text, numbers and bytes are what SQS calls String, Number and Binary.
AttributeValue: TypeAlias = str | int | float | Decimal | bytes | Attribute
Attributes: TypeAlias = Mapping[str, AttributeValue]


class Outgoing(Struct, frozen=True, kw_only=True):
    """A message to send. The group and deduplication ids are SQS's MessageGroupId and MessageDeduplicationId."""

    body: str
    delay_s: int | None = None
    attributes: Attributes | None = None
    group_id: str | None = None
    deduplication_id: str | None = None
    # AWSTraceHeader, the one system attribute that a sender may set.
    trace_header: str | None = None

    @property
    def size_bytes(self) -> int:
        """As SQS counts: the body, and the names, types and values of attributes."""
        size = len(self.body.encode(errors="replace"))
        for name, attribute in (wire_attributes(self.attributes) or {}).items():
            value = attribute.binary_value or (attribute.string_value or "").encode(errors="replace")
            size += len(name.encode(errors="replace")) + len(attribute.data_type) + len(value)
        return size


def wire_attributes(attributes: Attributes | None) -> dict[str, Attribute] | None:
    return {name: _attribute(value) for name, value in attributes.items()} if attributes else None


def wire_trace_header(trace_header: str | None) -> dict[str, Attribute] | None:
    return None if trace_header is None else {"AWSTraceHeader": Attribute("String", trace_header)}


def _attribute(value: AttributeValue) -> Attribute:
    match value:
        case Attribute():
            return value
        case str():
            return Attribute("String", value)
        case bytes():
            return Attribute("Binary", binary_value=value)
        case _:
            return Attribute("Number", str(value))


def cut(messages: Iterable[Outgoing], most_bytes: int = MAX_MESSAGE_BYTES) -> Iterator[list[Outgoing]]:
    """Groups of messages, in order, that each fit into one request; one that is too large for any goes alone."""
    batch: list[Outgoing] = []
    room_bytes = most_bytes
    for message in messages:
        size = message.size_bytes
        if batch and (len(batch) == MAX_BATCH_ENTRIES or size > room_bytes):
            yield batch
            batch, room_bytes = [], most_bytes
        batch.append(message)
        room_bytes -= size
    if batch:
        yield batch
