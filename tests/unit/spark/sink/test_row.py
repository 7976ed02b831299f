"""Rows as messages, in chunks, and those that are none."""

from pathlib import Path
from typing import Any

import pyarrow as pa
import pyarrow.parquet as pq
import pytest

from rockdove.client import Outgoing
from rockdove.core.limits import MAX_MESSAGE_BYTES
from rockdove.core.message import Attribute
from rockdove.spark.service.option import BadOption, Options
from rockdove.spark.sink import option
from rockdove.spark.sink.chunk import cut, deduplicated
from rockdove.spark.sink.reject import Origin, Reject, keep, refuse
from rockdove.spark.sink.row import Row, check, rows
from rockdove.spark.source.column import SCHEMA

ORIGIN = Origin("app/1", 3, 2)


def batch(**columns: Any) -> pa.RecordBatch:
    return pa.RecordBatch.from_pydict(columns)


def test_columns_become_a_message() -> None:
    texts = pa.array([[("k", "v")], None], pa.map_(pa.string(), pa.string()))
    found = list(
        rows(
            iter(
                [
                    batch(
                        body=["a", "b"],
                        attributes=texts,
                        delay_seconds=[5, None],
                        group_id=["g", None],
                        deduplication_id=["d", None],
                        message_id=["of the source", "is left out"],
                    ),
                    batch(body=["c"]),
                ]
            )
        )
    )
    first = Outgoing(
        body="a", attributes={"k": Attribute("String", "v")}, delay_s=5, group_id="g", deduplication_id="d"
    )
    assert found == [Row(0, first), Row(1, Outgoing(body="b")), Row(2, Outgoing(body="c"))]


def test_attributes_of_the_source_keep_their_types() -> None:
    value = [("n", {"data_type": "Binary.x", "string_value": None, "binary_value": b"\x00"})]
    (row,) = rows(iter([batch(body=["a"], attributes=pa.array([value], SCHEMA.field("attributes").type))]))
    assert row.message is not None
    assert row.message.attributes == {"n": Attribute("Binary.x", None, b"\x00")}


def test_the_source_s_own_columns_can_be_written() -> None:
    check(SCHEMA)


@pytest.mark.parametrize(
    ("columns", "named"),
    [
        ({"text": pa.string()}, "column body is missing"),
        ({"body": pa.int64()}, "column body must be a STRING"),
        ({"body": pa.string(), "price": pa.int64()}, "no column price; its columns are body, attributes"),
        ({"body": pa.string(), "delay_seconds": pa.string()}, "column delay_seconds must be an INT"),
        ({"body": pa.string(), "attributes": pa.map_(pa.string(), pa.int64())}, "column attributes must be MAP"),
        ({"body": pa.string(), "group_id": pa.int32()}, "column group_id must be a STRING"),
    ],
)
def test_columns_that_do_not_fit_are_named(columns: dict[str, pa.DataType], named: str) -> None:
    with pytest.raises(BadOption, match=named):
        check(pa.schema(list(columns.items())))


def test_chunks_hold_so_many_rows_and_so_many_bytes() -> None:
    half = "x" * (MAX_MESSAGE_BYTES // 2)
    texts = ["a", "b", "c", half, half, "d"]
    chunks = [[row.place for row in chunk.rows] for chunk in cut(map(_row, range(6), texts), 2)]
    assert chunks == [[0, 1], [2, 3], [4, 5]]


def _row(place: int, text: str | None) -> Row:
    return Row(place, None if text is None else Outgoing(body=text))


def test_rows_that_no_request_has_room_for_are_told_with_their_places() -> None:
    texts = ["a", None, "x" * (MAX_MESSAGE_BYTES + 1), "b"]
    (chunk,) = cut(map(_row, range(4), texts), 10)
    assert [row.place for row in chunk.rows] == [0, 3]
    assert [(each.place, each.code) for each in chunk.rejects] == [(1, "NoBody"), (2, "MessageTooLong")]


def test_a_deduplication_id_is_the_same_in_every_attempt_and_for_no_other_row() -> None:
    own = Row(2, Outgoing(body="c", deduplication_id="mine"))
    given = [_row(0, "same"), _row(1, "same"), own, _row(3, None)]
    first, second = list(deduplicated(given, ORIGIN)), list(deduplicated(given, ORIGIN))
    assert first == second
    assert first[2:] == given[2:]
    other = next(iter(deduplicated(given, Origin("app/1", 4, 2))))
    ids = {row.message.deduplication_id for row in (*first[:2], other) if row.message}
    assert len(ids) == 3


def test_an_error_names_the_rows() -> None:
    rejects = [Reject(place, "TooLong", "it is", None) for place in range(7)]
    text = str(refuse(ORIGIN, rejects))
    assert text.startswith("batch 3, partition 2: the queue does not take row 0 (TooLong: it is); row 1 ")
    assert " and 2 more. " in text
    assert "option rejectsPath" in text


@pytest.mark.parametrize("form", ["{}", "file://{}"])
def test_rejects_are_a_table_that_an_attempt_writes_anew(form: str, tmp_path: Path) -> None:
    message = Outgoing(body="b", attributes={"k": Attribute("String", "v")}, delay_s=1)
    for _ in range(2):
        keep(form.format(tmp_path / "rejects"), ORIGIN, [Reject(4, "C", "why", message), Reject(5, "N", "", None)])
    found = pq.read_table(tmp_path / "rejects").to_pylist()
    assert found[0] == {
        "application": "app/1",
        "batch": 3,
        "partition": 2,
        "row": 4,
        "code": "C",
        "reason": "why",
        "body": "b",
        "attributes": [("k", {"data_type": "String", "string_value": "v", "binary_value": None})],
        "delay_seconds": 1,
        "group_id": None,
        "deduplication_id": None,
    }
    assert [row["row"] for row in found] == [4, 5]


def test_options_that_do_not_fit_are_named() -> None:
    for read, given, named in [
        (option.for_stream, {"batch": "1"}, "option batch is for df.write"),
        (option.for_batch, {"batch": "1"}, "option application is missing"),
        (option.for_batch, {"application": "a"}, "option batch is missing"),
        (option.for_batch, {"application": "ü", "batch": "1"}, "option application must be"),
        (option.for_batch, {"application": "a", "batch": "-1"}, "option batch must be"),
    ]:
        with pytest.raises(BadOption, match=named):
            read(Options(given))
