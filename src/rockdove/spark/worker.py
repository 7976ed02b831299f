"""What Spark's Python workers do with traces that they see as files: they survey, count, and sort them by queue."""

from collections.abc import Iterator, Sequence
from typing import Final

import numpy as np
import pyarrow as pa

from rockdove.spark import row as rows
from rockdove.spark.box import Batches, Task
from rockdove.spark.column import Piece, Route, Words, count, routed, survey
from rockdove.spark.packing import packed, unpacked

COUNTED: Final = pa.schema([("path", pa.string()), ("rows", pa.int64()), ("known", pa.int64())])
# Thousands of events in one row, so that Spark handles few rows: for it they are bytes.
PACKED: Final = pa.schema([("part", pa.int32()), ("events", pa.binary())])
# Sorted events that are handed on at a time.
_AT_ONCE: Final = 1 << 18

# For each task, by its number, what it reads.
Work = Sequence[Sequence[Piece]]


def surveyor(work: Work, words: Words, thorough: bool) -> Task:
    def run(batches: Batches) -> Iterator[pa.RecordBatch]:
        for piece in _own(work, batches):
            yield from survey(piece, words, thorough)

    return run


def counter(work: Work, words: Words) -> Task:
    def run(batches: Batches) -> Iterator[pa.RecordBatch]:
        for piece in _own(work, batches):
            columns = [pa.array([value]) for value in (piece.path, *count(piece, words))]
            yield pa.RecordBatch.from_arrays(columns, schema=COUNTED)

    return run


def packer(work: Work, words: Words, route: Route, numbered: bool) -> Task:
    def run(batches: Batches) -> Iterator[pa.RecordBatch]:
        for piece in _own(work, batches):
            for part, events in routed(piece, words, route, numbered):
                yield pa.RecordBatch.from_arrays([pa.array([part], pa.int32()), packed(events)], schema=PACKED)

    return run


def sorted_events(batches: Batches, numbered: bool) -> Iterator[pa.RecordBatch]:
    """What tasks of `packer` have sent to one part, sorted by key."""
    schema = rows.schema(numbered)
    whole = pa.Table.from_batches(
        (each for batch in batches for each in unpacked(batch.column("events"), schema)), schema
    )
    order = pa.array(np.argsort(whole["key"].to_numpy(), kind="stable"))
    for begin in range(0, len(order), _AT_ONCE):
        yield from whole.take(order[begin : begin + _AT_ONCE]).combine_chunks().to_batches()


def _own(work: Work, batches: Batches) -> Iterator[Piece]:
    """The pieces of the tasks whose numbers come in."""
    for batch in batches:
        for task in batch.column(0).to_pylist():
            yield from work[task]
