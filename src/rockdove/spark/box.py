"""Rows of `rockdove.spark.measure` on their way through Spark, many in one row, and the tables made of them.

Spark would handle each row by itself, and each of its columns: with a table of forty columns that takes longer than to
measure the events.
"""

from collections.abc import Callable, Iterable, Iterator
from typing import Final

import pyarrow as pa
import pyarrow.compute as pc

from rockdove.spark import figure
from rockdove.spark.figure import QueueNames
from rockdove.spark.measure import EVERY, SCHEMA
from rockdove.spark.packing import packed, unpacked
from rockdove.spark.queue import WHOLE
from rockdove.spark.window import Windows

# What a box has in it: windows of queues; the table of windows of all queues together; what one task knows of a divided
# queue; and all else, which is little.
WINDOWS, OVERALL, BOOK, SMALL = "windows", "overall", "book", "small"
BOXED: Final = pa.schema([("kind", pa.string()), ("number", pa.int64()), ("rows", pa.binary())])
# Rows of a table that Spark gets at a time.
_AT_ONCE: Final = 1 << 14

Batches = Iterable[pa.RecordBatch]
Task = Callable[[Batches], Iterator[pa.RecordBatch]]


def boxed(batches: Batches) -> Iterator[pa.RecordBatch]:
    for batch in batches:
        if len(batch):
            yield box(_kind(batch), batch, batch.column("number")[0].as_py())


def box(kind: str, batch: pa.RecordBatch, number: int = EVERY) -> pa.RecordBatch:
    return pa.RecordBatch.from_arrays([pa.array([kind]), pa.array([number]), packed(batch)], schema=BOXED)


def unboxed(batches: Batches, kind: str, schema: pa.Schema = SCHEMA) -> Iterator[pa.RecordBatch]:
    """What is in the boxes of one kind."""
    for batch in batches:
        wanted = batch.filter(pc.equal(batch.column("kind"), kind))
        yield from unpacked(wanted.column("rows"), schema)


def tabulator(windows: Windows, names: QueueNames) -> Task:
    """From boxes to the table of windows, sorted by time and name."""

    def tabulate(batches: Batches) -> Iterator[pa.RecordBatch]:
        boxes = list(batches)
        overall = pa.Table.from_batches(unboxed(boxes, OVERALL, figure.WINDOWS), figure.WINDOWS)
        rows = pa.Table.from_batches(unboxed(boxes, WINDOWS), SCHEMA)
        table = pa.concat_tables([overall, figure.windows(rows, names, windows.begin, windows.width, 1)])
        # All queues together have no name, and come first.
        keys = pa.table({"start": table["window_start"], "name": pc.fill_null(table["name"], "")})
        order = pc.sort_indices(keys, [("start", "ascending"), ("name", "ascending")])
        yield from table.take(order).combine_chunks().to_batches(_AT_ONCE)

    return tabulate


def picker(windows: Windows, names: QueueNames) -> Task:
    """The same of some queues only, not sorted."""
    numbers = pa.array(names.numbers)

    def pick(batches: Batches) -> Iterator[pa.RecordBatch]:
        for batch in unboxed(batches, WINDOWS):
            wanted = pa.Table.from_batches([batch.filter(pc.is_in(batch.column("number"), numbers))])
            yield from figure.windows(wanted, names, windows.begin, windows.width, 1).combine_chunks().to_batches()

    return pick


def _kind(batch: pa.RecordBatch) -> str:
    """Rows of a batch are alike."""
    if batch.column("book")[0].is_valid:
        return BOOK
    is_small = batch.column("number")[0].as_py() == EVERY or batch.column("window")[0].as_py() == WHOLE
    return SMALL if is_small else WINDOWS
