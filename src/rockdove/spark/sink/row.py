"""Rows of a table as messages."""

from collections.abc import Iterable, Iterator, Mapping, Sequence
from itertools import repeat
from typing import Any, Final

import pyarrow as pa
from msgspec import Struct

from rockdove.client import Outgoing
from rockdove.core.message import Attribute
from rockdove.spark.service.option import BadOption
from rockdove.spark.source.column import TYPES as OF_SOURCE

BODY: Final = "body"
ATTRIBUTES: Final = "attributes"
DELAY: Final = "delay_seconds"
GROUP: Final = "group_id"
DEDUPLICATION: Final = "deduplication_id"
# What is written; what else the source gives is left out, so that its rows can be sent on.
COLUMNS: Final = (BODY, ATTRIBUTES, DELAY, GROUP, DEDUPLICATION)


class Row(Struct, frozen=True):
    """A message, and where it stood among the rows of its task, from 0. Without a body it cannot be sent."""

    place: int
    message: Outgoing | None


def check(schema: pa.Schema) -> None:
    """Raises `BadOption` with the name of the column that is missing, unknown or of the wrong type."""
    if BODY not in schema.names:
        raise BadOption(f"the column {BODY} is missing; the columns of the sink are {', '.join(COLUMNS)}")
    for field in schema:
        if field.name not in COLUMNS and field.name not in OF_SOURCE:
            raise BadOption(f"the sink has no column {field.name}; its columns are {', '.join(COLUMNS)}")
    for name in (BODY, GROUP, DEDUPLICATION):
        if name in schema.names and not pa.types.is_string(schema.field(name).type):
            raise BadOption(f"the column {name} must be a STRING")
    if DELAY in schema.names and not pa.types.is_integer(schema.field(DELAY).type):
        raise BadOption(f"the column {DELAY} must be an INT: seconds")
    if ATTRIBUTES in schema.names and not _is_attributes(schema.field(ATTRIBUTES).type):
        raise BadOption(f"the column {ATTRIBUTES} must be MAP<STRING, STRING> or {OF_SOURCE[ATTRIBUTES]}")


def _is_attributes(kind: pa.DataType) -> bool:
    if not pa.types.is_map(kind) or not pa.types.is_string(kind.key_type):
        return False
    item = kind.item_type
    if pa.types.is_struct(item):
        return [field.name for field in item] == ["data_type", "string_value", "binary_value"]
    return bool(pa.types.is_string(item))


def rows(batches: Iterator[pa.RecordBatch]) -> Iterator[Row]:
    place = 0
    for batch in batches:
        columns = [_values(batch, name) for name in COLUMNS]
        for body, attributes, delay_s, group_id, deduplication_id in zip(*columns, strict=False):
            message = None
            if body is not None:
                message = Outgoing(
                    body=body,
                    attributes=_attributes(attributes) if attributes else None,
                    delay_s=delay_s,
                    group_id=group_id,
                    deduplication_id=deduplication_id,
                )
            yield Row(place, message)
            place += 1


def _values(batch: pa.RecordBatch, name: str) -> Iterable[Any]:
    found = batch.schema.get_field_index(name)
    if found < 0:
        return repeat(None, batch.num_rows)
    values: list[Any] = batch.column(found).to_pylist()
    return values


def _attributes(pairs: Sequence[tuple[str, Any]]) -> Mapping[str, Attribute]:
    return {name: _attribute(value) for name, value in pairs}


def _attribute(value: Any) -> Attribute:
    if isinstance(value, dict):
        return Attribute(value["data_type"] or "String", value["string_value"], value["binary_value"])
    # What a null means, the service says.
    return Attribute("String", value)
