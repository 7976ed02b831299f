"""Rows that travel packed, and the tables that are made of them."""

from typing import Any

import numpy as np
import pyarrow as pa

from rockdove.spark import figure
from rockdove.spark.box import BOOK, OVERALL, SMALL, WINDOWS, box, boxed, picker, tabulator, unboxed
from rockdove.spark.figure import QueueNames, of_queues, ratio
from rockdove.spark.measure import EVERY, FIGURES, SCHEMA, Totals
from rockdove.spark.queue import WHOLE
from rockdove.spark.window import Windows

SPAN = Windows(1_000_000, 500_000, 4)
NAMES = QueueNames.of([(8, "a", "1", "a"), (7, "b", None, "b")])


def rows(*places: tuple[int, int], **figures: Any) -> pa.RecordBatch:
    """Rows of numbers and windows; all figures are 0, but for those that are given."""
    made = [{**dict.fromkeys(FIGURES, 0), "number": number, "window": window, **figures} for number, window in places]
    return pa.RecordBatch.from_pylist(made, SCHEMA)


def test_rows_are_told_apart_by_what_they_are_of() -> None:
    book = pa.RecordBatch.from_pylist([{"number": 3, "window": WHOLE, "book": b"x"}], SCHEMA)
    batches = [rows((7, WHOLE)), rows((7, 0), (7, 1)), rows((EVERY, 2)), book, rows()]
    boxes = list(boxed(batches))
    assert [each.column("kind")[0].as_py() for each in boxes] == [SMALL, WINDOWS, SMALL, BOOK]
    assert [each.column("number")[0].as_py() for each in boxes] == [7, 7, EVERY, 3]
    assert list(unboxed(boxes, WINDOWS)) == [batches[1]]
    assert list(unboxed(boxes, BOOK)) == [book]


def test_a_table_is_sorted_by_time_and_name_with_all_queues_first() -> None:
    overall = figure.windows(pa.Table.from_batches([rows((EVERY, 0), (EVERY, 1), sent=9)]), None, *SPAN[:2], 2)
    boxes = [
        *boxed([rows((7, 1), (7, 0), sent=2), rows((8, 1), sent=3)]),
        box(OVERALL, overall.combine_chunks().to_batches()[0]),
    ]
    table = pa.Table.from_batches(tabulator(SPAN, NAMES)(boxes), figure.WINDOWS).to_pylist()
    assert [(row["window_start"].timestamp(), row["name"], row["sent"]) for row in table] == [
        (1.0, None, 9),
        (1.0, "b", 2),
        (1.5, None, 9),
        (1.5, "a", 3),
        (1.5, "b", 2),
    ]
    assert table[3]["account"] == "1"
    assert table[3]["send_rate"] == 6.0


def test_only_the_queues_that_are_wanted_are_picked() -> None:
    boxes = list(boxed([rows((7, 0), (8, 0)), rows((7, 1))]))
    picked = pa.Table.from_batches(picker(SPAN, NAMES.only(["a"]))(boxes), figure.WINDOWS)
    assert picked["name"].to_pylist() == ["a"]


def test_nothing_divided_by_nothing_is_null() -> None:
    part, whole = (pa.chunked_array([values]) for values in ([1, 2, None], [0, 4, 1]))
    assert ratio(part, whole).to_pylist() == [None, 0.5, None]
    assert ratio(part, 0).to_pylist() == [None, None, None]


def test_figures_of_a_queue() -> None:
    found = rows(
        (7, WHOLE), sent=10, receives=9, received=8, lost=1, damaged=1, misses=3, hits=9, busy_us=500_000, ordered=0,
        response_p95_us=1_500, delivery_p50_us=None, sender_ordered=None, events=40, first_us=1_000_000, drained=1,
    )  # fmt: skip
    [row] = of_queues(pa.Table.from_batches([found]), NAMES, 1_000_000).to_pylist()
    assert (row["duplicates"], row["duplication_rate"], row["loss_rate"]) == (1, 0.1, 0.2)
    assert (row["miss_ratio"], row["messages_per_hit"], row["utilisation"]) == (0.25, 1.0, 0.5)
    assert (row["out_of_order_rate"], row["sender_out_of_order_rate"]) == (None, None)
    assert (row["response_p95_ms"], row["delivery_p50_ms"]) == (1.5, None)
    assert (row["events"], row["first"].timestamp(), row["drained"]) == (40, 1.0, True)


def test_sums_of_a_task_are_small() -> None:
    totals = Totals(SPAN)
    figures = {name: np.zeros(1, np.int64) for name in FIGURES}
    totals.add({"window": np.array([2]), **figures})
    [found] = boxed([totals.batch()])
    assert found.column("kind")[0].as_py() == SMALL
