"""Events that workers read themselves: the figures of a plain computation, whatever files look like."""

import pickle
from collections.abc import Iterable
from pathlib import Path
from typing import Any

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq
import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from rockdove.spark import column
from rockdove.spark.column import Owners, Piece, Route, Words, count, routed, survey
from rockdove.spark.direct import _pieces, _route
from rockdove.spark.file import Footer
from rockdove.spark.known import END_US
from rockdove.spark.measure import measurer
from rockdove.spark.queue import WHOLE
from rockdove.spark.row import HASH_BITS, MISSING
from rockdove.spark.survey import Seen, owners, surveyed
from rockdove.spark.window import cut
from rockdove.spark.worker import packer, sorted_events
from rockdove.trace.schema import CLIENT, OPS, schema
from tests.support import plain_analysis
from tests.support.made_trace import Event, event, received, sent
from tests.support.random_trace import events, same

WORDS = Words(OPS, CLIENT, END_US)
TASK = [pa.RecordBatch.from_arrays([pa.array([0])], ["id"])]


def piece(path: Path, groups: int = 1) -> Piece:
    return Piece(str(path), tuple(range(groups)), 0)


def one_file(folder: Path, rows: list[Event], **how: Any) -> Path:
    folder.mkdir(parents=True, exist_ok=True)
    path = folder / "one.parquet"
    pq.write_table(pa.Table.from_pylist(rows, schema()), path, **how)
    return path


def told(batches: Iterable[pa.RecordBatch]) -> list[dict[str, Any]]:
    return [row for batch in batches for row in batch.to_pylist()]


def found_in(path: Path, groups: int = 1, parts: int = 3) -> tuple[list[Seen], list[pa.RecordBatch]]:
    """What the survey tells, and sorted events, one part after the other."""
    counted = [
        Seen(row["account"], row["queue"], row["events"], row["first"], row["last"])
        for row in told(survey(piece(path, groups), WORDS))
    ]
    found = surveyed(counted, 1, numbered=True)
    assert found is not None
    route = Route(Owners(owners(found)), np.arange(len(found.places) + 1), np.arange(len(found.places)) % parts)
    boxes = list(packer([[piece(path, groups)]], WORDS, route, numbered=True)(TASK))
    events = [
        batch
        for part in range(parts)
        for batch in sorted_events((each for each in boxes if each.column("part").to_pylist() == [part]), numbered=True)
    ]
    return counted, events


@settings(
    max_examples=60, deadline=None, suppress_health_check=[HealthCheck.too_slow, HealthCheck.function_scoped_fixture]
)
@given(found=events(), group=st.sampled_from([1, 3, 1000]), dictionary=st.booleans())
def test_figures_are_those_of_a_plain_computation(
    tmp_path: Path, found: list[Event], group: int, dictionary: bool
) -> None:
    path = one_file(tmp_path, found, row_group_size=group, use_dictionary=dictionary)
    counted, batches = found_in(path, groups=-(-len(found) // group), parts=1)
    plain = plain_analysis.analyse(found)
    lines = measurer(cut(min(seen.first for seen in counted), max(seen.last for seen in counted)))(batches)
    whole = [line for batch in lines for line in batch.to_pylist() if line["window"] == WHOLE and line["number"] >= 0]
    names = sorted(plain["queues"])
    assert [line["number"] for line in whole] == list(range(len(names)))
    for line in whole:
        expected = plain["queues"][names[line["number"]]]
        for name in ("sent", "received", "deleted", "expired", "dead_lettered", "purged", "lost"):
            assert line[name] == expected[name], name
        assert same(line["out_of_order"], expected["out_of_order_rate"], line["ordered"])
        assert same(line["displaced"], expected["displacement"], line["ordered"])
        assert same(line["misses"], expected["miss_ratio"], line["misses"] + line["hits"])


def test_a_survey_tells_queues_by_account_with_their_times_and_purges(tmp_path: Path) -> None:
    rows = [
        sent("a", 3, queue="jobs", account="1"),
        sent("b", 1, queue="jobs", account="1", sender="s", seq=4),
        sent("c", 2, queue="jobs", account=None),
        event("purge", 9, queue="mail", account="2", message_id=None),
    ]
    surveyed = told(survey(piece(one_file(tmp_path, rows)), WORDS))
    found = {(row["account"], row["queue"]): row for row in surveyed}
    assert {pair: (row["events"], row["numbered"], row["purges"]) for pair, row in found.items()} == {
        ("1", "jobs"): (2, True, 0),
        (None, "jobs"): (1, False, 0),
        ("2", "mail"): (1, False, 1),
    }
    assert found["1", "jobs"]["last"] - found["1", "jobs"]["first"] == 2_000_000


@pytest.mark.parametrize("few", [0, 1 << 20])
def test_many_queues_are_told_apart_as_few_are(tmp_path: Path, few: int, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(column, "_FEW_PAIRS", few)
    rows = [sent(f"m{n}", n, queue=f"q{n % 5}", account=str(n % 2)) for n in range(40)]
    counted, batches = found_in(one_file(tmp_path, rows))
    assert sorted((seen.queue, seen.account, seen.events) for seen in counted) == sorted(
        (f"q{n}", str(account), 4) for n in range(5) for account in range(2)
    )
    numbers = np.concatenate([batch.column("key").to_numpy() >> HASH_BITS for batch in batches])
    assert np.bincount(numbers).tolist() == [4] * 10


def test_rows_that_are_no_events_are_counted_and_left_out(tmp_path: Path) -> None:
    rows = [
        sent("a", 0),
        {**sent("b", 0), "op": "dance"},
        {**sent("c", 0), "queue": None},
        {**sent("d", 0), "op": None},
        {**sent("e", 0), "sent_at": plain_time(-1)},
    ]
    path = one_file(tmp_path, rows)
    assert count(piece(path), WORDS) == (5, 1)
    counted, batches = found_in(path)
    assert [seen.events for seen in counted] == [1]
    assert sum(map(len, batches)) == 1


def plain_time(micros: int) -> Any:
    return pa.scalar(micros, pa.timestamp("us", "UTC"))


def test_a_column_that_a_file_does_not_have_is_null(tmp_path: Path) -> None:
    path = one_file(tmp_path, [received("a", 0)])
    table = pq.read_table(path)
    pq.write_table(table.select(["event_time", "side", "queue", "op", "message_id"]), path)
    assert [(row["account"], row["numbered"]) for row in told(survey(piece(path), WORDS))] == [(None, False)]
    _, [batch] = found_in(path)
    assert (batch["enqueued"].to_pylist(), batch["sender"].to_pylist()) == ([MISSING], [0])


def test_other_types_of_the_same_columns_are_read(tmp_path: Path) -> None:
    path = one_file(tmp_path, [sent("a", 1, account="7"), received("a", 2, account="7")])
    _, expected = found_in(path)
    table = pq.read_table(path)
    for name, kind in (
        ("queue", pa.large_string()),
        ("account", pa.binary()),
        ("message_id", pa.large_string()),
        ("event_time", pa.timestamp("ms")),
        ("op", pa.dictionary(pa.int8(), pa.string())),
    ):
        table = table.set_column(table.schema.get_field_index(name), name, table[name].cast(kind))
    pq.write_table(table, path)
    _, found = found_in(path)
    assert [batch.to_pylist() for batch in found] == [batch.to_pylist() for batch in expected]


def test_bytes_that_are_no_text_are_a_name_all_the_same(tmp_path: Path) -> None:
    path = one_file(tmp_path, [sent("a", 1)])
    table = pq.read_table(path)
    odd = pa.array([b"\xff\xfe"], pa.binary())
    for name in ("queue", "message_id"):
        table = table.set_column(table.schema.get_field_index(name), name, odd)
    pq.write_table(table, path)
    counted, batches = found_in(path)
    assert [seen.queue for seen in counted] == ["��"]
    assert sum(map(len, batches)) == 1


def test_what_is_behind_damage_is_not_read_and_what_is_before_it_is(tmp_path: Path) -> None:
    path = one_file(tmp_path, [sent(f"m{n}", n) for n in range(300)], row_group_size=100, compression="zstd")
    at = pq.ParquetFile(path).metadata.row_group(1).column(7).data_page_offset
    content = bytearray(path.read_bytes())
    content[at : at + 60] = bytes(60)
    path.write_bytes(content)
    assert count(piece(path, 3), WORDS) == (100, 100)
    assert count(piece(tmp_path / "gone.parquet"), WORDS) == (0, 0)


def test_messages_of_a_divided_queue_stay_together_and_spread(tmp_path: Path) -> None:
    rows = [each(f"m{n}", n, queue="one") for n in range(500) for each in (sent, received)]
    path = one_file(tmp_path, [*rows, event("miss", 3, queue="one", message_id=None)])
    route = Route(Owners({("000000000000", "one"): 0}), np.array([0, 3]), np.array([4, 0, 2]))
    seen: dict[int, set[int]] = {}
    lone = []
    for part, batch in routed(piece(path), WORDS, route, numbered=False):
        keys = batch.column("key").to_pylist()
        lone += [part for key in keys if key == 0]
        seen.setdefault(part, set()).update(key for key in keys if key)
    assert set(seen) == {4, 0, 2}
    assert len(lone) == 1
    assert sum(map(len, seen.values())) == len(set().union(*seen.values())) == 500
    assert min(map(len, seen.values())) > 100


def test_a_large_queue_is_divided_unless_it_was_purged() -> None:
    found = surveyed(
        [Seen(None, "large", 9_000_000, 0, 1), Seen(None, "purged", 9_000_000, 0, 1, 2), Seen(None, "small", 5, 0, 1)],
        8,
        False,
    )
    assert found is not None
    route, divided = _route(found, 8)
    by_name = {place.queue: place.number for place in found.places}
    assert divided == {by_name["large"]}
    parts = {
        name: set(route.parts[route.begin[number] : route.begin[number + 1]].tolist())
        for name, number in by_name.items()
    }
    # No part has more than two million events, so there are ten.
    assert len(parts["large"]) == 5
    assert len(parts["purged"]) == len(parts["small"]) == 1
    assert not parts["large"] & parts["purged"]


def test_a_large_file_is_read_in_pieces_of_row_groups() -> None:
    footer = Footer("x", 5_000_000, 7)
    pieces = list(_pieces(*footer[:3]))
    assert [group for each in pieces for group in each.groups] == list(range(7))
    assert len(pieces) == 5
    assert [each.groups for each in _pieces("x", 5_000_000, 1)] == [(0,)]
    assert [each.groups for each in _pieces("x", 10, 3)] == [(0, 1, 2)]


def test_owners_are_the_same_in_a_task() -> None:
    numbers: dict[tuple[str | None, str], int] = {("1", "a"): 3, (None, "a"): 4, (None, "b"): 0}
    found = pickle.loads(pickle.dumps(Owners(numbers)))
    assert found.find([*numbers, ("2", "a")]).tolist() == [3, 4, 0, -1]
