"""Rows of a table as messages."""

from collections.abc import Iterable, Iterator, Mapping, Sequence
from itertools import repeat
from typing import Any, Final

import pyarrow as pa
from msgspec import Struct

from rockdove.client import Outgoing
from rockdove.core.limits import MAX_DELAY_S
from rockdove.core.message import Attribute
from rockdove.spark.service.option import BadOption
from rockdove.spark.sink.text import escaped, raw
from rockdove.spark.source.column import TYPES, UNPARSED, VALUE

BODY: Final = "body"
ATTRIBUTES: Final = "attributes"
DELAY: Final = "delay_seconds"
GROUP: Final = "group_id"
DEDUPLICATION: Final = "deduplication_id"
# What is written; what else the source gives is left out, so that its rows can be sent on.
COLUMNS: Final = (BODY, ATTRIBUTES, DELAY, GROUP, DEDUPLICATION)
_LEFT_OUT: Final = frozenset({*TYPES, VALUE, UNPARSED}.difference(COLUMNS))


class Wrong(Struct, frozen=True):
    """Why a row can be sent to no queue, and what it has for a body: bytes if they are no text."""

    code: str
    reason: str
    body: str | bytes | None


class SinkRow(Struct, frozen=True):
    """A message, and where it stood among the rows of its task, from 0."""

    place: int
    message: Outgoing
    wrong: Wrong | None = None


def check(schema: pa.Schema) -> None:
    """Raises `BadOption` with the name of the column that is missing, unknown or of the wrong type."""
    if BODY not in [name.lower() for name in schema.names]:
        raise BadOption(f"the column {BODY} is missing; the columns of the sink are {', '.join(COLUMNS)}")
    types: dict[str, pa.DataType] = {}
    for field in schema:
        name = field.name.lower()
        if name in types:
            raise BadOption(f"the column {name} is there twice: the sink does not tell capitals from small letters")
        if name not in COLUMNS and name not in _LEFT_OUT:
            raise BadOption(f"the sink has no column {field.name}; its columns are {', '.join(COLUMNS)}")
        types[name] = field.type
    for name in (BODY, GROUP, DEDUPLICATION):
        if name in types and not pa.types.is_string(types[name]):
            raise BadOption(f"the column {name} must be a STRING")
    if DELAY in types and not pa.types.is_integer(types[DELAY]):
        raise BadOption(f"the column {DELAY} must be an INT: seconds")
    if ATTRIBUTES in types and not _is_attributes(types[ATTRIBUTES]):
        raise BadOption(f"the column {ATTRIBUTES} must be MAP<STRING, STRING> or {TYPES[ATTRIBUTES]}")


def _is_attributes(kind: pa.DataType) -> bool:
    if not pa.types.is_map(kind) or not pa.types.is_string(kind.key_type):
        return False
    item = kind.item_type
    if pa.types.is_struct(item):
        return [field.name for field in item] == ["data_type", "string_value", "binary_value"]
    return bool(pa.types.is_string(item))


def rows(batches: Iterator[pa.RecordBatch]) -> Iterator[SinkRow]:
    place = 0
    for batch in batches:
        for message, wrong in _messages(batch):
            yield SinkRow(place, message, wrong)
            place += 1


def _messages(batch: pa.RecordBatch) -> Iterator[tuple[Outgoing, Wrong | None]]:
    try:
        columns = [_values(batch, name) for name in COLUMNS]
    except UnicodeDecodeError:
        if batch.num_rows == 1:
            yield _no_text(batch)
            return
        # Somewhere among them: one by one.
        for place in range(batch.num_rows):
            yield from _messages(batch.slice(place, 1))
        return
    for values in zip(*columns, strict=False):
        yield _message(*values), _wrong(values[0], values[2])


def _message(body: str | None, attributes: Any, delay_s: int | None, group: str | None, own: str | None) -> Outgoing:
    return Outgoing(
        body=body or "",
        attributes=_attributes(attributes) if attributes else None,
        delay_s=delay_s,
        group_id=group,
        deduplication_id=own,
    )


def _wrong(body: str | None, delay_s: int | None) -> Wrong | None:
    if body is None:
        return Wrong("NoBody", f"the {BODY} is null", None)
    if delay_s is not None and not 0 <= delay_s <= MAX_DELAY_S:
        return Wrong("InvalidParameterValue", f"{DELAY} is {delay_s:,}, and may be 0 to {MAX_DELAY_S}", body)
    return None


def _no_text(row: pa.RecordBatch) -> tuple[Outgoing, Wrong]:
    """Of a row with bytes that are no text."""
    values: dict[str, Any] = {}
    wrong = []
    for name in COLUMNS:
        try:
            (values[name],) = _values(row, name)
        except UnicodeDecodeError:
            (values[name],) = escaped(row.column(_index(row, name)))
            wrong.append(name)
    body = raw(row.column(_index(row, BODY)))[0] if BODY in wrong else values[BODY]
    reason = f"there are bytes in {' and '.join(wrong)} that are not UTF-8"
    return _message(*values.values()), Wrong("InvalidMessageContents", reason, body)


def _values(batch: pa.RecordBatch, name: str) -> Iterable[Any]:
    found = _index(batch, name)
    if found < 0:
        return repeat(None, batch.num_rows)
    values: list[Any] = batch.column(found).to_pylist()
    return values


def _index(batch: pa.RecordBatch, name: str) -> int:
    """Spark does not tell capitals from small letters."""
    return next((at for at, given in enumerate(batch.schema.names) if given.lower() == name), -1)


def _attributes(pairs: Sequence[tuple[str, Any]]) -> Mapping[str, Attribute]:
    return {name: _attribute(value) for name, value in pairs}


def _attribute(value: Any) -> Attribute:
    if isinstance(value, dict):
        return Attribute(value["data_type"] or "String", value["string_value"], value["binary_value"])
    # What a null means, the service says.
    return Attribute("String", value)
