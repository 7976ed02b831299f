"""Traces that Spark's Python workers open themselves, because they see the files."""

from collections.abc import Iterator
from contextlib import contextmanager
from typing import TYPE_CHECKING, Final

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

from rockdove.spark.box import BOOK, BOXED, Batches, Task, boxed, unboxed
from rockdove.spark.column import SURVEYED, Owners, Piece, Route, Words
from rockdove.spark.file import Counts, Files, plain
from rockdove.spark.known import END_US
from rockdove.spark.measure import joiner, measurer
from rockdove.spark.session import interpreted, kept, mapped
from rockdove.spark.survey import TASKS_A_CORE, Seen, Survey, owners, share_out, surveyed
from rockdove.spark.window import Windows
from rockdove.spark.worker import COUNTED, PACKED, counter, packer, sorted_events, surveyor
from rockdove.trace.schema import CLIENT, OPS

if TYPE_CHECKING:
    from pyspark.sql import DataFrame, SparkSession

_WORDS: Final = Words(OPS, CLIENT, END_US)
# Events of a piece of a large file, about.
PIECE_EVENTS: Final = 1_000_000
# Events that a task holds at a time, about: 70 bytes for each, twice while it sorts them.
PART_EVENTS: Final = 2_000_000
# A queue with more than these, and more than its share, is measured by several tasks.
WHOLE_EVENTS: Final = 1_000_000


class Direct:
    """Reads files of the machine; those of other file systems only Spark can read."""

    # Workers do the work: Spark has few rows to move.
    has_few_rows: Final = True

    def __init__(self, spark: "SparkSession", files: Files) -> None:
        self._spark = spark
        pieces = [
            piece for footer in files.footers for piece in _pieces(plain(footer.path), footer.events, footer.groups)
        ]
        self._parts = spark.sparkContext.defaultParallelism * TASKS_A_CORE
        tasks = min(len(pieces), self._parts)
        self._work: list[list[Piece]] = [[] for _ in range(tasks)]
        for piece, task in zip(pieces, share_out([piece.events for piece in pieces], tasks), strict=True):
            self._work[task].append(piece)

    @staticmethod
    def fits(files: Files) -> bool:
        return all(path.startswith("file:") for path in files.paths)

    def survey(self, thorough: bool = False) -> Survey | None:
        """``thorough``: of what `measured` can read, with all its columns."""
        with interpreted(self._spark):
            found = self._run(surveyor(self._work, _WORDS, thorough), SURVEYED).toArrow()
        # The same queue may be in many pieces.
        merged = found.group_by(["account", "queue"]).aggregate(
            [("events", "sum"), ("first", "min"), ("last", "max"), ("purges", "sum")]
        )
        names = ("account", "queue", "events_sum", "first_min", "last_max", "purges_sum")
        seen = [Seen(*row) for row in zip(*(merged[name].to_pylist() for name in names), strict=True)]
        return surveyed(seen, self._parts, bool(pc.any(found["numbered"]).as_py()))

    @contextmanager
    def measured(self, found: Survey, windows: Windows) -> "Iterator[DataFrame]":
        from pyspark.sql import functions as f

        route, divided = _route(found, self._parts)
        numbered = found.numbered

        def measure(batches: Batches) -> Iterator[pa.RecordBatch]:
            return boxed(measurer(windows, divided)(sorted_events(batches, numbered)))

        def join(batches: Batches) -> Iterator[pa.RecordBatch]:
            return boxed(joiner(windows)(unboxed(batches, BOOK)))

        packed = self._run(packer(self._work, _WORDS, route, numbered), PACKED)
        boxes = mapped(packed.repartitionById(int(route.parts.max()) + 1, "part"), measure, BOXED)
        with kept(boxes):
            if not divided:
                yield boxes
                return
            books = boxes.where(f.col("kind") == BOOK)
            brought = books.repartitionById(len(divided), f.pmod(f.hash("number"), f.lit(len(divided))))
            whole = boxes.where(f.col("kind") != BOOK).unionByName(mapped(brought, join, BOXED))
            with kept(whole):
                yield whole

    def counts(self) -> Counts:
        found: dict[str, tuple[int, int]] = {}
        for path, rows, known in self._run(counter(self._work, _WORDS), COUNTED).collect():
            before = found.get(path, (0, 0))
            found[path] = (before[0] + rows, before[1] + known)
        return found

    def _run(self, task: Task, schema: pa.Schema) -> "DataFrame":
        number = len(self._work)
        return mapped(self._spark.range(0, number, 1, number), task, schema)


def _pieces(path: str, events: int, groups: int) -> Iterator[Piece]:
    number = max(1, min(groups, round(events / PIECE_EVENTS)))
    for each in np.array_split(np.arange(groups), number):
        yield Piece(path, tuple(each.tolist()), events // number)


def _route(found: Survey, parts: int) -> tuple[Route, frozenset[int]]:
    """Which parts have which queue, and the numbers of the queues that several have."""
    parts = max(parts, -(-found.events // PART_EVENTS))
    most = max(WHOLE_EVENTS, found.events // parts)
    places = {place.number: place for place in found.places}
    # A purge is of all messages, and only one part hears of it.
    divisions = [
        0 if number not in places else 1 if places[number].purges else -(-places[number].events // most)
        for number in range(max(places) + 1)
    ]
    sizes = [places[number].events // each for number, each in enumerate(divisions) for _ in range(each)]
    route = Route(
        Owners(owners(found)), np.cumsum([0, *divisions]), np.array(share_out(sizes, min(parts, len(sizes))), np.int64)
    )
    return route, frozenset(number for number, each in enumerate(divisions) if each > 1)
