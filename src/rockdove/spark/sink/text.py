"""Values of columns whose text may be no UTF-8, which Spark lets through."""

from typing import Any

import pyarrow as pa


def escaped(column: pa.Array) -> list[Any]:
    r"""As ``to_pylist``, with bytes that are no text as ``\xff``."""
    return [_escape(value, column.type) for value in column.cast(_raw(column.type)).to_pylist()]


def raw(column: pa.Array) -> list[bytes | None]:
    """The bytes of a column of text."""
    values: list[bytes | None] = column.cast(_raw(column.type)).to_pylist()
    return values


def _raw(kind: pa.DataType) -> pa.DataType:
    """The type of the same values without the promise that they are text."""
    if pa.types.is_map(kind):
        return pa.map_(_raw(kind.key_type), _raw(kind.item_type))
    if pa.types.is_struct(kind):
        return pa.struct([(field.name, _raw(field.type)) for field in kind])
    if pa.types.is_large_string(kind):
        return pa.large_binary()
    return pa.binary() if pa.types.is_string(kind) else kind


def _escape(value: Any, kind: pa.DataType) -> Any:
    if value is None:
        return None
    if pa.types.is_map(kind):
        return [(_escape(name, kind.key_type), _escape(item, kind.item_type)) for name, item in value]
    if pa.types.is_struct(kind):
        return {field.name: _escape(value[field.name], field.type) for field in kind}
    if pa.types.is_string(kind) or pa.types.is_large_string(kind):
        return value.decode(errors="backslashreplace")
    return value
