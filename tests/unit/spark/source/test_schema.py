"""The table of a source, and messages as its rows."""

from datetime import UTC, datetime
from typing import Any

import pytest
from pyspark.sql.types import IntegerType, LongType, StringType, StructField, StructType

from rockdove.core.message import Attribute
from rockdove.spark.service.option import BadOption, Options
from rockdove.spark.source import column
from rockdove.spark.source.schema import ddl, table
from rockdove.wire.shape import Message

MESSAGE = Message(
    message_id="id-1",
    receipt_handle="r",
    md5_of_body="",
    body='{"a": 1}',
    attributes={
        "SentTimestamp": "1767225600123",
        "ApproximateReceiveCount": "2",
        "MessageGroupId": "g",
        "MessageDeduplicationId": "d",
        "SequenceNumber": "18899",
    },
    message_attributes={"n": Attribute("Number", "7"), "b": Attribute("Binary", binary_value=b"\xff")},
)
BARE = Message(message_id="id-2", receipt_handle="r", md5_of_body="", body="x")


def struct(**kinds: Any) -> StructType:
    return StructType([StructField(name, kind) for name, kind in kinds.items()])


def test_a_message_has_all_columns() -> None:
    found = column.table([MESSAGE, BARE]).to_pylist()
    assert found[0] == {
        "message_id": "id-1",
        "body": '{"a": 1}',
        "sent_at": datetime(2026, 1, 1, 0, 0, 0, 123_000, UTC),
        "receive_count": 2,
        "group_id": "g",
        "deduplication_id": "d",
        "sequence_number": "18899",
        "attributes": [
            ("n", {"data_type": "Number", "string_value": "7", "binary_value": None}),
            ("b", {"data_type": "Binary", "string_value": None, "binary_value": b"\xff"}),
        ],
        "physical": None,
    }
    assert {name: value for name, value in found[1].items() if value is not None} == {
        "message_id": "id-2",
        "body": "x",
        "attributes": [],
    }


def test_only_wanted_columns_are_made_and_asked_for() -> None:
    some = table(Options({}), struct(receive_count=IntegerType(), body=StringType()))
    assert some.of_messages([MESSAGE]).to_pylist() == [{"receive_count": 2, "body": '{"a": 1}'}]
    assert (some.message_attributes, some.system_attributes) == ((), ("ApproximateReceiveCount",))


def test_parsed_bodies_are_columns_too() -> None:
    options = Options({"bodyFormat": "json", "bodySchema": "a INT"})
    assert ddl(options).endswith("physical INT, value STRUCT<a INT>, unparsed STRING")
    found = table(options, struct(value=struct(a=IntegerType()), unparsed=StringType()))
    rows = [{"value": {"a": 1}, "unparsed": None}, {"value": None, "unparsed": "x"}]
    assert found.of_messages([MESSAGE, BARE]).to_pylist() == rows
    assert found.of_columns(column.table([MESSAGE, BARE])).to_pylist() == rows


@pytest.mark.parametrize(
    ("given", "named"),
    [
        ({"bodySchema": "a INT"}, "option bodyFormat is missing"),
        ({"bodyFormat": "json"}, "option bodySchema is missing"),
        ({"bodyFormat": "xml", "bodySchema": "a INT"}, "option bodyFormat must be"),
        ({"bodyFormat": "avro", "bodySchema": "a INT"}, "option bodySchema is no Avro schema"),
        ({"bodyFormat": "avro", "bodySchema": '"int"'}, "option bodySchema: .* record"),
        ({"bodyFormat": "avro", "bodySchema": '["int", "string"]'}, "option bodySchema: Spark has no column"),
        ({"bodyFormat": "json", "bodySchema": "a INT, a INT"}, "option bodySchema: the field a is there twice"),
    ],
)
def test_a_schema_that_is_none_names_the_option(given: dict[str, str], named: str) -> None:
    with pytest.raises(BadOption, match=named):
        ddl(Options(given))


@pytest.mark.parametrize(
    ("fields", "named"),
    [
        ('{"type": "int"}', "option bodySchema is no Avro schema: .*'name'"),
        ('"x"', "option bodySchema is no Avro schema: .* not str"),
        ('{"name": "a", "type": "nope"}', "option bodySchema is no Avro schema: there is no type nope"),
        ('{"name": "a", "type": {"type": "record", "fields": []}}', "option bodySchema is no Avro schema: .*name"),
        ('{"name": "a", "type": "int"}, {"name": "a", "type": "int"}', "option bodySchema: the field a is there twice"),
        (
            '{"name": "a", "type": {"type": "bytes", "logicalType": "decimal", "precision": 50}}',
            "option bodySchema: .* 1 to 38 digits",
        ),
    ],
)
def test_an_avro_schema_that_is_none_names_the_option(fields: str, named: str) -> None:
    given = f'{{"type": "record", "name": "R", "fields": [{fields}]}}'
    with pytest.raises(BadOption, match=named):
        ddl(Options({"bodyFormat": "avro", "bodySchema": given}))
    for wrong in ("5", "null", "{}", '{"type": "record", "fields": []}'):
        with pytest.raises(BadOption, match="option bodySchema is no Avro schema"):
            ddl(Options({"bodyFormat": "avro", "bodySchema": wrong}))


def test_columns_that_there_are_not_are_refused() -> None:
    for wanted, named in [
        (struct(nobody=StringType()), "no column nobody; the columns are message_id, body"),
        (struct(receive_count=LongType()), "column receive_count is INT"),
        (struct(value=StringType()), "no column value"),
    ]:
        with pytest.raises(BadOption, match=named):
            table(Options({}), wanted)
