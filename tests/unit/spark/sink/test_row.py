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
from rockdove.spark.sink.chunk import cut, deduplicated, plain
from rockdove.spark.sink.reject import Origin, Reject, keep, refuse
from rockdove.spark.sink.row import SinkRow, Wrong, check, rows
from rockdove.spark.source.column import SCHEMA

ORIGIN = Origin("app/1", 3, 2)
QUEUE = "http://service/000000000000/q"


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
    assert found == [SinkRow(0, first), SinkRow(1, Outgoing(body="b")), SinkRow(2, Outgoing(body="c"))]


def test_attributes_of_the_source_keep_their_types() -> None:
    value = [("n", {"data_type": "Binary.x", "string_value": None, "binary_value": b"\x00"})]
    (row,) = rows(iter([batch(body=["a"], attributes=pa.array([value], SCHEMA.field("attributes").type))]))
    assert row.message.attributes == {"n": Attribute("Binary.x", None, b"\x00")}


def test_the_source_s_own_columns_can_be_written() -> None:
    check(SCHEMA)
    check(SCHEMA.append(pa.field("value", pa.struct([("id", pa.int32())]))).append(pa.field("unparsed", pa.string())))


def test_names_of_columns_have_no_case() -> None:
    given = batch(Body=["a"], GROUP_ID=["g"])
    check(given.schema)
    assert list(rows(iter([given]))) == [SinkRow(0, Outgoing(body="a", group_id="g"))]


def no_text(*values: bytes) -> pa.Array:
    """A column of STRING with any bytes, as Spark gives them."""
    return pa.array(values, pa.binary()).view(pa.string())


@pytest.mark.parametrize("kind", [pa.string(), pa.large_string()])
def test_bytes_that_are_no_text_are_the_fault_of_their_row(kind: pa.DataType) -> None:
    bodies = pa.array([b"a", b"\xffab", b"c"], pa.large_binary() if kind == pa.large_string() else pa.binary()).view(
        kind
    )
    found = list(rows(iter([batch(body=bodies, group_id=["g", "h", "i"])])))
    assert [row.wrong is None for row in found] == [True, False, True]
    assert found[2] == SinkRow(2, Outgoing(body="c", group_id="i"))
    reason = "there are bytes in body that are not UTF-8"
    assert found[1].wrong == Wrong("InvalidMessageContents", reason, b"\xffab")
    assert found[1].message.group_id == "h"


def test_bytes_that_are_no_text_are_found_in_every_column() -> None:
    item = pa.StructArray.from_arrays(
        [no_text(b"String"), no_text(b"\xfe"), pa.array([b"\xfd"])], ["data_type", "string_value", "binary_value"]
    )
    attributes = pa.MapArray.from_arrays([0, 1], no_text(b"k"), item)
    (row,) = rows(iter([batch(body=["a"], attributes=attributes, group_id=no_text(b"\xff"))]))
    reason = "there are bytes in attributes and group_id that are not UTF-8"
    assert row.wrong == Wrong("InvalidMessageContents", reason, "a")
    assert row.message.attributes == {"k": Attribute("String", "\\xfe", b"\xfd")}
    assert row.message.group_id == "\\xff"


@pytest.mark.parametrize("delay_s", [3_000_000_000, 901, -1])
def test_a_delay_that_no_queue_takes_is_the_fault_of_its_row(delay_s: int) -> None:
    good, bad = rows(iter([batch(body=["a", "b"], delay_seconds=[900, delay_s])]))
    assert good.wrong is None
    assert bad.wrong == Wrong("InvalidParameterValue", f"delay_seconds is {delay_s:,}, and may be 0 to 900", "b")


def test_a_row_without_a_body_keeps_what_it_has() -> None:
    texts = pa.array([[("k", "v")]], pa.map_(pa.string(), pa.string()))
    (row,) = rows(iter([batch(body=pa.array([None], pa.string()), attributes=texts, group_id=["g"])]))
    assert row.wrong == Wrong("NoBody", "the body is null", None)
    assert row.message == Outgoing(body="", attributes={"k": Attribute("String", "v")}, group_id="g")


@pytest.mark.parametrize(
    ("columns", "named"),
    [
        ({"text": pa.string()}, "column body is missing"),
        ({"body": pa.int64()}, "column body must be a STRING"),
        ({"body": pa.string(), "BODY": pa.string()}, "column body is there twice"),
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


def _row(place: int, text: str | None) -> SinkRow:
    return SinkRow(place, Outgoing(body=text or ""), None if text is not None else Wrong("NoBody", "it is null", None))


def test_rows_that_no_request_has_room_for_are_told_with_their_places() -> None:
    texts = ["a", None, "x" * (MAX_MESSAGE_BYTES + 1), "b"]
    (chunk,) = cut(map(_row, range(4), texts), 10)
    assert [row.place for row in chunk.rows] == [0, 3]
    assert [(each.row.place, each.code) for each in chunk.rejects] == [(1, "NoBody"), (2, "MessageTooLong")]


def test_a_deduplication_id_is_the_same_in_every_attempt_and_for_no_other_row() -> None:
    own = SinkRow(2, Outgoing(body="c", deduplication_id="mine"))
    given = [_row(0, "same"), _row(1, "same"), own]
    first, second = list(deduplicated(given, ORIGIN)), list(deduplicated(given, ORIGIN))
    assert first == second
    assert first[2:] == given[2:]
    other = next(iter(deduplicated(given, Origin("app/1", 4, 2))))
    ids = {row.message.deduplication_id for row in (*first[:2], other)}
    assert len(ids) == 3


def test_standard_queues_get_no_deduplication_ids() -> None:
    given = [_row(0, "a"), SinkRow(1, Outgoing(body="b", group_id="g", deduplication_id="of a FIFO queue"))]
    assert list(plain(given)) == [_row(0, "a"), SinkRow(1, Outgoing(body="b", group_id="g"))]


def test_an_error_names_the_rows() -> None:
    rejects = [Reject(_row(place, ""), "TooLong", "it is") for place in range(7)]
    text = str(refuse(ORIGIN, rejects))
    assert text.startswith("batch 3, partition 2: the queue does not take row 0 (TooLong: it is); row 1 ")
    assert " and 2 more. " in text
    assert "option rejectsPath" in text


@pytest.mark.parametrize("form", ["{}", "file://{}"])
def test_rejects_are_a_table_that_an_attempt_writes_anew(form: str, tmp_path: Path) -> None:
    message = Outgoing(body="b", attributes={"k": Attribute("String", "v")}, delay_s=1)
    rejects = [Reject(SinkRow(4, message), "C", "why"), Reject(_row(5, None), "N", "")]
    for _ in range(2):
        keep(form.format(tmp_path / "rejects"), QUEUE, ORIGIN, rejects)
    found = pq.read_table(tmp_path / "rejects").to_pylist()
    assert found[0] == {
        "queue": QUEUE,
        "application": "app/1",
        "batch": 3,
        "partition": 2,
        "row": 4,
        "code": "C",
        "reason": "why",
        "body": "b",
        "body_binary": None,
        "attributes": [("k", {"data_type": "String", "string_value": "v", "binary_value": None})],
        "delay_seconds": 1,
        "group_id": None,
        "deduplication_id": None,
    }
    assert [row["row"] for row in found] == [4, 5]
    assert found[1]["body"] is None


def test_rejects_of_others_stay(tmp_path: Path) -> None:
    """Whoever they are of, however their names look, and whatever an earlier attempt has left."""
    origins = [Origin("a.b", 0, 0), Origin("a-b", 0, 0), Origin("a", 0, 0), Origin("a", 1, 0), Origin("a", 0, 1)]
    for origin in origins:
        for queue in (QUEUE, QUEUE + "2"):
            for text in ("one", "two"):
                keep(str(tmp_path), queue, origin, [Reject(_row(0, text), "C", "why")])
    found = [
        (row["queue"], row["application"], row["batch"], row["partition"], row["body"])
        for row in pq.read_table(tmp_path).to_pylist()
    ]
    assert len(found) == len(set(found)) == len(origins) * 2 * 2


def test_an_attempt_with_another_order_of_rows_leaves_its_rejects_once(tmp_path: Path) -> None:
    for places in ((0, 1), (7, 3)):
        rejects = [Reject(_row(place, text), "C", "why") for place, text in zip(places, "ab", strict=True)]
        keep(str(tmp_path), QUEUE, ORIGIN, rejects)
    assert [row["body"] for row in pq.read_table(tmp_path).to_pylist()] == ["a", "b"]


def test_rejects_keep_bytes_and_numbers_that_no_message_has(tmp_path: Path) -> None:
    wrong = SinkRow(0, Outgoing(body="\\xff", delay_s=3_000_000_000), Wrong("C", "why", b"\xff"))
    keep(str(tmp_path), QUEUE, ORIGIN, [Reject(wrong, "C", "why")])
    (row,) = pq.read_table(tmp_path).to_pylist()
    assert (row["body"], row["body_binary"], row["delay_seconds"]) == (None, b"\xff", 3_000_000_000)


def test_options_that_do_not_fit_are_named() -> None:
    for read, given, named in [
        (option.for_stream, {"batch": "1"}, "option batch is for df.write"),
        (option.for_batch, {"batch": "1"}, "option application is missing"),
        (option.for_batch, {"application": "a"}, "option batch is missing"),
        (option.for_batch, {"application": "ü", "batch": "1"}, "option application must be"),
        (option.for_batch, {"application": "a", "batch": "-1"}, "option batch must be"),
        (option.for_batch, {"rejectsPath": "bogus://x"}, "option rejectsPath: Arrow finds no file system"),
        (option.for_stream, {"rejectsPath": "dbfs:/x"}, "option rejectsPath: Arrow finds no file system"),
    ]:
        with pytest.raises(BadOption, match=named):
            read(Options(given))


def test_the_folder_of_rejects_is_the_same_for_all_processes(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)
    for given, expected in [("rejects", str(tmp_path / "rejects")), ("file:///r", "file:///r"), ("/r", "/r")]:
        assert option.for_stream(Options({"rejectsPath": given})).rejects == expected
