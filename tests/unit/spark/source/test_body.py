"""Bodies are parsed to a type, and what cannot be is kept."""

import base64
import io
import json
from datetime import UTC, date, datetime
from decimal import Decimal
from typing import Any

import fastavro
import pyarrow as pa
import pytest

from rockdove.spark.source import avro
from rockdove.spark.source.body import Parser, python_type

KIND = pa.struct(
    [
        pa.field("n", pa.int32()),
        pa.field("big", pa.int64()),
        pa.field("name of it", pa.string()),
        pa.field("at", pa.timestamp("us", "UTC")),
        pa.field("day", pa.date32()),
        pa.field("price", pa.decimal128(6, 2)),
        pa.field("raw", pa.binary()),
        pa.field("tags", pa.list_(pa.string())),
        pa.field("sizes", pa.map_(pa.string(), pa.float64())),
        pa.field("inner", pa.struct([pa.field("yes", pa.bool_(), nullable=False)])),
    ]
)


def parse(body: Any) -> tuple[Any, Any]:
    values, unparsed = Parser("json", KIND).parse([body if isinstance(body, str) else json.dumps(body)])
    return values.to_pylist()[0], unparsed.to_pylist()[0]


def test_json_becomes_what_the_schema_says() -> None:
    value, unparsed = parse(
        {
            "n": 1,
            "big": 2**63 - 1,
            "name of it": "x",
            "at": "2026-01-02T03:04:05+01:00",
            "day": "2026-01-02",
            "price": "12.50",
            "raw": base64.b64encode(b"\x00\xff").decode(),
            "tags": ["a", None],
            "sizes": {"s": 1, "l": 2.5},
            "inner": {"yes": True},
            "unknown": [1],
        }
    )
    assert unparsed is None
    assert value == {
        "n": 1,
        "big": 2**63 - 1,
        "name of it": "x",
        "at": datetime(2026, 1, 2, 2, 4, 5, tzinfo=UTC),
        "day": date(2026, 1, 2),
        "price": Decimal("12.50"),
        "raw": b"\x00\xff",
        "tags": ["a", None],
        "sizes": [("s", 1.0), ("l", 2.5)],
        "inner": {"yes": True},
    }


def test_what_is_not_there_is_null() -> None:
    value, unparsed = parse({})
    assert unparsed is None
    assert set(value.values()) == {None}


@pytest.mark.parametrize(
    "body",
    [
        "no json",
        "[1]",
        "null",
        '"text"',
        '{"n": "1"}',
        '{"n": 1.5}',
        '{"n": true}',
        f'{{"n": {2**31}}}',
        f'{{"big": {2**63}}}',
        '{"at": "yesterday"}',
        '{"price": "12345678.00"}',
        '{"price": "0.001"}',
        '{"raw": "?"}',
        '{"inner": {}}',
        '{"inner": {"yes": null}}',
        "[" * 100_000,
    ],
)
def test_what_does_not_fit_is_kept_as_it_was(body: str) -> None:
    assert parse(body) == (None, body)


def test_one_that_does_not_fit_spoils_no_other() -> None:
    bodies = ['{"n": 1}', "no", f'{{"big": {2**63}}}', '{"n": 4}']
    values, unparsed = Parser("json", KIND).parse(bodies)
    assert [value and value["n"] for value in values.to_pylist()] == [1, None, None, 4]
    assert unparsed.to_pylist() == [None, "no", bodies[2], None]


@pytest.mark.parametrize("number", ["1e39", "-1e39", "3.5e38", "1e400"])
def test_a_number_that_a_float_has_no_room_for_is_not_taken_for_infinity(number: str) -> None:
    values, unparsed = Parser("json", pa.struct([("f", pa.float32())])).parse(['{"f": 3.4e38}', f'{{"f": {number}}}'])
    assert values.null_count == 1
    assert unparsed.to_pylist() == [None, f'{{"f": {number}}}']


def test_a_map_has_text_for_keys() -> None:
    with pytest.raises(TypeError, match="keys of a MAP are STRING"):
        python_type(pa.map_(pa.int32(), pa.string()))


SCHEMA: dict[str, Any] = {
    "type": "record",
    "name": "Order",
    "fields": [
        {"name": "id", "type": {"type": "string", "logicalType": "uuid"}},
        {"name": "at", "type": {"type": "long", "logicalType": "timestamp-millis"}},
        {"name": "local", "type": {"type": "long", "logicalType": "local-timestamp-millis"}},
        {"name": "price", "type": {"type": "bytes", "logicalType": "decimal", "precision": 6, "scale": 2}},
        {"name": "note", "type": ["null", "string"], "default": None},
        {"name": "kind", "type": {"type": "enum", "name": "Kind", "symbols": ["A", "B"]}},
        {"name": "lines", "type": {"type": "array", "items": {"type": "map", "values": "int"}}},
    ],
}
AVRO = pa.struct(
    [
        ("id", pa.string()),
        ("at", pa.timestamp("us", "UTC")),
        ("local", pa.timestamp("us")),
        ("price", pa.decimal128(6, 2)),
        ("note", pa.string()),
        ("kind", pa.string()),
        ("lines", pa.list_(pa.map_(pa.string(), pa.int32()))),
    ]
)


def test_avro_has_a_type_in_spark() -> None:
    assert avro.sql_type(SCHEMA) == (
        "STRUCT<`id`: STRING, `at`: TIMESTAMP, `local`: TIMESTAMP_NTZ, `price`: DECIMAL(6, 2), `note`: STRING, "
        "`kind`: STRING, `lines`: ARRAY<MAP<STRING, INT>>>"
    )


@pytest.mark.parametrize("schema", [["int", "string"], "Unheard", {"type": "strange"}, 7, ["null"]])
def test_avro_that_has_none_is_refused(schema: Any) -> None:
    with pytest.raises(avro.NoType):
        avro.sql_type(schema)


def test_avro_names_may_be_used_again() -> None:
    schema = {
        "type": "record",
        "name": "shop.Order",
        "fields": [
            {"name": "to", "type": {"type": "record", "name": "Place", "fields": [{"name": "at", "type": "string"}]}},
            {"name": "bill", "type": ["null", "Place"]},
            {"name": "via", "type": {"type": "array", "items": "shop.Place"}},
        ],
    }
    place = "STRUCT<`at`: STRING>"
    assert avro.columns(json.dumps(schema)) == f"STRUCT<`to`: {place}, `bill`: {place}, `via`: ARRAY<{place}>>"
    kind = pa.struct([("at", pa.string())])
    order = {"to": {"at": "here"}, "bill": {"at": "there"}, "via": [{"at": "somewhere"}]}
    out = io.BytesIO()
    fastavro.schemaless_writer(out, fastavro.parse_schema(schema), order)
    parser = Parser("avro", pa.struct([("to", kind), ("bill", kind), ("via", pa.list_(kind))]), json.dumps(schema))
    values, unparsed = parser.parse([base64.b64encode(out.getvalue()).decode()])
    assert (values.to_pylist(), unparsed.to_pylist()) == ([order], [None])


def test_avro_that_holds_itself_is_refused() -> None:
    tree = {"type": "record", "name": "Tree", "fields": [{"name": "left", "type": ["null", "Tree"]}]}
    with pytest.raises(avro.NoType, match="'Tree', which holds itself"):
        avro.columns(json.dumps(tree))


def test_avro_bodies_are_base64_of_one_datum() -> None:
    order = {
        "id": "0e05",
        "at": datetime(2026, 1, 2, tzinfo=UTC),
        "local": datetime(2026, 1, 2, 3),
        "price": Decimal("9.90"),
        "note": None,
        "kind": "B",
        "lines": [{"x": 1}],
    }
    out = io.BytesIO()
    fastavro.schemaless_writer(out, fastavro.parse_schema(avro.plain(SCHEMA)), order)
    good = base64.b64encode(out.getvalue()).decode()
    longer = base64.b64encode(out.getvalue() + b"\x00").decode()
    bodies = [good, "no base64", "AAAA", longer, ""]
    values, unparsed = Parser("avro", AVRO, json.dumps(SCHEMA)).parse(bodies)
    assert values.to_pylist()[0] == order | {"lines": [[("x", 1)]]}
    assert values.to_pylist()[1:] == [None] * 4
    assert unparsed.to_pylist() == [None, *bodies[1:]]
