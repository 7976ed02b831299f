"""Avro schemas as Spark's types."""

import json
from collections.abc import Mapping
from typing import Any, Final

from rockdove.core.errors import MissingExtra

_PLAIN: Final = {
    "boolean": "BOOLEAN",
    "int": "INT",
    "long": "BIGINT",
    "float": "FLOAT",
    "double": "DOUBLE",
    "string": "STRING",
    "bytes": "BINARY",
    "fixed": "BINARY",
    "enum": "STRING",
}
_LOGICAL: Final = {
    ("int", "date"): "DATE",
    ("long", "timestamp-millis"): "TIMESTAMP",
    ("long", "timestamp-micros"): "TIMESTAMP",
    ("long", "local-timestamp-millis"): "TIMESTAMP_NTZ",
    ("long", "local-timestamp-micros"): "TIMESTAMP_NTZ",
}
# Logical types whose values would come as something that Spark has no column for: they are taken without the word.
_DROPPED: Final = frozenset({"uuid", "time-millis", "time-micros"})


class NoType(ValueError):
    """Spark has no type for it."""


class NoSchema(ValueError):
    """The text is not an Avro schema."""


def parse(text: str) -> Any:
    """As it is decoded by. Raises `NoSchema`."""
    try:
        import fastavro
    except ImportError:
        raise MissingExtra("Avro needs fastavro; install it with: pip install 'rockdove[spark]'") from None
    try:
        return fastavro.parse_schema(plain(json.loads(text)))
    except json.JSONDecodeError as error:
        raise NoSchema(f"it is not JSON ({error})") from None
    except fastavro.schema.UnknownType as error:
        raise NoSchema(f"there is no type {error}") from None
    except (fastavro.schema.SchemaParseException, ValueError, TypeError, KeyError, AttributeError) as error:
        raise NoSchema(f"{error}") from None


def columns(text: str) -> str:
    """The type in Spark's words, with what each name stands for in its place. Raises `NoSchema` or `NoType`."""
    parsed = parse(text)
    import fastavro

    return sql_type(fastavro.schema.expand_schema(parsed))


def sql_type(schema: Any) -> str:
    """In Spark's words, of a schema in which all types are written out. Raises `NoType`."""
    match schema:
        case str():
            return _named(schema)
        case list():
            rest = [each for each in schema if each != "null"]
            if len(rest) != 1:
                raise NoType("a union of several types")
            return sql_type(rest[0])
        case {"type": "record", "fields": list(fields)}:
            members = ", ".join(f"`{_quoted(field['name'])}`: {sql_type(field['type'])}" for field in fields)
            return f"STRUCT<{members}>"
        case {"type": "array", "items": items}:
            return f"ARRAY<{sql_type(items)}>"
        case {"type": "map", "values": values}:
            return f"MAP<STRING, {sql_type(values)}>"
        case {"type": "bytes" | "fixed", "logicalType": "decimal", "precision": int(precision)}:
            return f"DECIMAL({precision}, {schema.get('scale', 0)})"
        case {"type": str(name)}:
            return _LOGICAL.get((name, schema.get("logicalType", ""))) or _named(name)
        case {"type": inner}:
            return sql_type(inner)
    raise NoType(f"{schema!r}")


def plain(schema: Any) -> Any:
    """The schema as it is decoded by."""
    if isinstance(schema, list):
        return [plain(each) for each in schema]
    if not isinstance(schema, Mapping):
        return schema
    kept = {name: plain(value) if name in _NESTED else value for name, value in schema.items()}
    if kept.get("logicalType") in _DROPPED:
        del kept["logicalType"]
    return kept


_NESTED: Final = frozenset({"type", "fields", "items", "values"})


def _named(name: str) -> str:
    try:
        return _PLAIN[name]
    except KeyError:
        # Of the names of records those are left, when types are written out.
        holds_itself = "" if name == "null" else ", which holds itself"
        raise NoType(f"the type {name!r}{holds_itself}") from None


def _quoted(name: str) -> str:
    return name.replace("`", "``")
