"""The columns that messages have in Spark, and messages as Arrow batches of them."""

from collections.abc import Callable, Mapping, Sequence
from typing import Any, Final, Protocol

import pyarrow as pa

from rockdove.core.message import Attribute

ATTRIBUTE: Final = "STRUCT<data_type: STRING, string_value: STRING, binary_value: BINARY>"
# By name, with Spark's types. A sequence number has 20 digits, more than Spark's integers.
TYPES: Final[Mapping[str, str]] = {
    "message_id": "STRING",
    "body": "STRING",
    "sent_at": "TIMESTAMP",
    "receive_count": "INT",
    "group_id": "STRING",
    "deduplication_id": "STRING",
    "sequence_number": "STRING",
    "attributes": f"MAP<STRING, {ATTRIBUTE}>",
    "physical": "INT",
}
# By which of SQS's own attributes columns are filled.
SYSTEM: Final[Mapping[str, str]] = {
    "sent_at": "SentTimestamp",
    "receive_count": "ApproximateReceiveCount",
    "group_id": "MessageGroupId",
    "deduplication_id": "MessageDeduplicationId",
    "sequence_number": "SequenceNumber",
}
# Beside them, where bodies are parsed: what came out, and the bodies that could not be.
VALUE: Final = "value"
UNPARSED: Final = "unparsed"

# The same in Arrow, as Spark wants them.
_ATTRIBUTES: Final = pa.map_(
    pa.string(),
    pa.struct([("data_type", pa.string()), ("string_value", pa.string()), ("binary_value", pa.binary())]),
)
SCHEMA: Final = pa.schema(
    [
        ("message_id", pa.string()),
        ("body", pa.string()),
        ("sent_at", pa.timestamp("us", "UTC")),
        ("receive_count", pa.int32()),
        ("group_id", pa.string()),
        ("deduplication_id", pa.string()),
        ("sequence_number", pa.string()),
        ("attributes", _ATTRIBUTES),
        ("physical", pa.int32()),
    ]
)


class Incoming(Protocol):
    """What all ways to get a message give."""

    message_id: str
    body: str
    # SQS's own, by SQS's names.
    attributes: dict[str, str]
    message_attributes: dict[str, Attribute]


def table(messages: Sequence[Incoming]) -> pa.RecordBatch:
    """All columns."""
    return pa.RecordBatch.from_arrays([column(name, messages) for name in TYPES], schema=SCHEMA)


def column(name: str, messages: Sequence[Incoming]) -> pa.Array:
    return pa.array(map(_GIVE[name], messages), SCHEMA.field(name).type, size=len(messages))


def _system(column: str) -> Callable[[Incoming], str | None]:
    name = SYSTEM[column]
    return lambda message: message.attributes.get(name)


def _sent_us(message: Incoming) -> int | None:
    sent_ms = message.attributes.get(SYSTEM["sent_at"])
    return None if sent_ms is None else int(sent_ms) * 1000


def _receives(message: Incoming) -> int | None:
    receives = message.attributes.get(SYSTEM["receive_count"])
    return None if receives is None else int(receives)


def _attributes(message: Incoming) -> list[tuple[str, dict[str, Any]]]:
    return [
        (
            name,
            {"data_type": each.data_type, "string_value": each.string_value, "binary_value": each.binary_value},
        )
        for name, each in message.message_attributes.items()
    ]


_GIVE: Final[Mapping[str, Callable[[Any], Any]]] = {
    "message_id": lambda message: message.message_id,
    "body": lambda message: message.body,
    "sent_at": _sent_us,
    "receive_count": _receives,
    "group_id": _system("group_id"),
    "deduplication_id": _system("deduplication_id"),
    "sequence_number": _system("sequence_number"),
    "attributes": _attributes,
    # Only Rockdove says.
    "physical": lambda message: getattr(message, "physical_queue", None),
}
