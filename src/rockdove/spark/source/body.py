"""Bodies as values of a given type; one that cannot be read so is kept as it is, beside the others."""

import base64
import binascii
import io
from collections.abc import Callable, Sequence
from datetime import date, datetime
from decimal import Decimal
from typing import Annotated, Any, Final, Required, TypedDict

import msgspec
import pyarrow as pa
from msgspec import Meta, Struct

from rockdove.spark.source import avro

FORMATS: Final = ("none", "json", "avro")

Decode = Callable[[str], Any]


class Unreadable(Exception):
    """A body is not of the type."""


class Parser(Struct, frozen=True):
    """How bodies are read; pickled with readers. ``avro_schema`` is Avro's JSON, for that format only."""

    format: str
    type: pa.DataType
    avro_schema: str | None = None

    def parse(self, bodies: Sequence[str]) -> tuple[pa.Array, pa.Array]:
        """What came out, null where nothing did, and the bodies that could not be read, null where they could."""
        decode = self._decoder()
        values: list[Any] = []
        unparsed: list[str | None] = []
        for body in bodies:
            try:
                values.append(decode(body))
                unparsed.append(None)
            except Unreadable:
                values.append(None)
                unparsed.append(body)
        return self._array(values, unparsed, bodies), pa.array(unparsed, pa.string())

    def _array(self, values: list[Any], unparsed: list[str | None], bodies: Sequence[str]) -> pa.Array:
        try:
            return pa.array(values, self.type)
        except (pa.ArrowException, OverflowError):
            pass
        # Rare: a number that its type has no room for. Which one it was, Arrow does not say.
        for place, value in enumerate(values):
            try:
                pa.array([value], self.type)
            except (pa.ArrowException, OverflowError):
                values[place], unparsed[place] = None, bodies[place]
        return pa.array(values, self.type)

    def _decoder(self) -> Decode:
        return _json(self.type) if self.format == "json" else _avro(self.avro_schema or "")


def _json(kind: pa.DataType) -> Decode:
    decoder = msgspec.json.Decoder(python_type(kind))

    def decode(body: str) -> Any:
        try:
            return decoder.decode(body)
        except (msgspec.DecodeError, RecursionError) as error:
            raise Unreadable from error

    return decode


def _avro(schema: str) -> Decode:
    parsed = avro.parse(schema)
    import fastavro

    def decode(body: str) -> Any:
        try:
            source = io.BytesIO(base64.b64decode(body, validate=True))
            value = fastavro.schemaless_reader(source, parsed, None)
        except (binascii.Error, EOFError, ValueError, IndexError, OverflowError, KeyError, TypeError) as error:
            raise Unreadable from error
        if source.read(1):
            raise Unreadable
        return value

    return decode


def python_type(kind: pa.DataType) -> Any:
    """What JSON must be for an Arrow type. Text becomes times, dates, decimals and (as base64) bytes."""
    if pa.types.is_struct(kind):
        members: dict[str, Any] = {}
        for field in kind:
            inner = python_type(field.type)
            members[field.name] = (inner | None) if field.nullable else Required[inner]
        return TypedDict("Value", members, total=False)  # type: ignore[operator]
    if pa.types.is_list(kind):
        return list[python_type(kind.value_type) | None]  # type: ignore[misc]
    if pa.types.is_map(kind):
        if not pa.types.is_string(kind.key_type):
            raise TypeError(f"the keys of a MAP are STRING, not {kind.key_type}")
        return dict[str, python_type(kind.item_type) | None]  # type: ignore[misc]
    if pa.types.is_integer(kind):
        half = 2 ** (kind.bit_width - 1)
        # All that JSON has between 64 bits is an int for msgspec, which has no bounds so wide.
        return int if kind.bit_width == 64 else Annotated[int, Meta(ge=-half, le=half - 1)]
    if pa.types.is_float32(kind):
        return Annotated[float, Meta(ge=-_MAX_FLOAT, le=_MAX_FLOAT)]
    for is_kind, found in _PLAIN:
        if is_kind(kind):
            return found
    raise TypeError(f"bodies cannot be parsed to {kind}")


# The largest of 32 bits: what is more would become infinite.
_MAX_FLOAT: Final = (2 - 2**-23) * 2.0**127
_PLAIN: Final[Sequence[tuple[Callable[[pa.DataType], bool], Any]]] = (
    (pa.types.is_boolean, bool),
    (pa.types.is_floating, float),
    (pa.types.is_string, str),
    (pa.types.is_binary, bytes),
    (pa.types.is_date, date),
    (pa.types.is_timestamp, datetime),
    (pa.types.is_decimal, Decimal),
)
