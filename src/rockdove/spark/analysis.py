"""The batch analysis: from traces to tables, a summary and a report."""

from collections.abc import Callable, Mapping, Sequence
from contextlib import nullcontext
from typing import TYPE_CHECKING, Any, Final, NamedTuple

import pyarrow as pa
import pyarrow.compute as pc

from rockdove.core.errors import RockdoveError
from rockdove.spark import figure
from rockdove.spark.box import OVERALL, SMALL, WINDOWS, box, picker, tabulator, unboxed
from rockdove.spark.direct import Direct
from rockdove.spark.event import Scan
from rockdove.spark.figure import QueueNames, of_all, of_queues
from rockdove.spark.file import Problem, look, nothing, unread
from rockdove.spark.measure import EVERY, SCHEMA
from rockdove.spark.queue import WHOLE
from rockdove.spark.session import interpreted, mapped
from rockdove.spark.summary import summary
from rockdove.spark.survey import Survey, names
from rockdove.spark.total import sums
from rockdove.spark.window import Windows, cut

if TYPE_CHECKING:
    from pyspark.sql import DataFrame, SparkSession

# Rows of a file of a table, if there are more than that.
_FILE_ROWS: Final = 500_000
# Rows of the table of windows that the user is told of, and that are too many; and what a row takes on disk.
_MANY_ROWS: Final = 10_000_000
_MOST_ROWS: Final = 1_000_000_000
_ROW_BYTES: Final = 40
# With more queues than these the tables are large enough for Spark to compile what writes them.
_FEW_QUEUES: Final = 1_000
# Queues whose windows the report draws, those with most messages.
DRAWN: Final = 20

Say = Callable[[str], None]


class BadWindow(RockdoveError):
    """The trace cannot be cut into windows of that length."""


class Analysis(NamedTuple):
    """What was found; rows have the columns of the tables."""

    summary: dict[str, Any]
    overall: Mapping[str, Any]
    queues: Sequence[Mapping[str, Any]]
    windows: Sequence[Mapping[str, Any]]
    windows_by_queue: Mapping[str, Sequence[Mapping[str, Any]]]
    window_s: float
    files: int
    events: int
    problems: list[Problem]

    @property
    def drained(self) -> bool:
        """Whether the queues that lost messages were seen to be empty after all was sent and received."""
        return all(row["drained"] for row in self.queues if row["sent"])


def analyse(
    spark: "SparkSession", traces: Sequence[str], out: str, window_s: float | None = None, say: Say = lambda text: None
) -> Analysis:
    """Write the tables to `out`, and give what the summary and the report need.

    Raises `NoTrace` and `BadWindow`. Paths are those of any file system that Spark knows.
    """
    from pyspark.sql import functions as f

    files = look(spark, traces)
    say(f"{len(files.paths):,} files, {files.events:,} events")
    reader = Direct(spark, files) if Direct.fits(files) else Scan(spark, files.paths)
    found = reader.survey()
    if found is None:
        problems = [*files.problems, *unread(files, reader.counts())]
        raise nothing(len(files.paths) + len(files.problems), traces, problems)
    try:
        windows = cut(found.first, found.last, window_s)
    except ValueError as error:
        raise BadWindow(str(error)) from None
    say(f"{len(found.places):,} queues, {windows.number:,} windows of {windows.width / 1e6:g} s")
    _guard(found.windows(windows), say)
    with reader.measured(found, windows) as boxes:
        # This runs the large job; all later ones read what it leaves in memory.
        with interpreted(spark) if reader.has_few_rows else nullcontext():
            little = boxes.where(f.col("kind") == SMALL).toArrow()
        small = pa.Table.from_batches(unboxed(little.to_batches(), SMALL), SCHEMA)
        with interpreted(spark) if len(found.places) <= _FEW_QUEUES else nullcontext():
            result = _write(spark, boxes, small, found, windows, out)
    say(f"written: {out}")
    problems = list(files.problems)
    if sum(row["events"] for row in result.queues) < files.events:
        problems += unread(files, reader.counts())
    return result._replace(files=len(files.paths), problems=problems)


def _guard(rows: int, say: Say) -> None:
    """Tell what the table of windows may cost, if that is much, and refuse what would fill a disk."""
    if rows > _MANY_ROWS:
        cost = f"windows/ may have up to {rows:,} rows, {rows * _ROW_BYTES / 1e9:,.1f} GB"
        if rows > _MOST_ROWS:
            raise BadWindow(f"{cost}: choose a longer --window, or analyse fewer queues at a time")
        say(f"{cost}; with a longer --window there are fewer")


def _write(
    spark: "SparkSession", boxes: "DataFrame", small: pa.Table, found: Survey, windows: Windows, out: str
) -> Analysis:
    from pyspark.sql import functions as f

    length, called, number = max(found.last - found.first, 0), names(found), len(found.places)
    queues = of_queues(small.filter(pc.not_equal(small["number"], EVERY)), called, length).sort_by("name")
    overall = sums(small.filter(pc.equal(small["number"], EVERY)), windows.number)
    is_whole = pc.equal(overall["window"], WHOLE)
    whole = of_all(overall.filter(is_whole), length, number)
    by_time = overall.filter(pc.invert(is_whole)).sort_by("window")
    all_windows = figure.windows(by_time, None, windows.begin, windows.width, number)

    _parquet(spark.createDataFrame(queues).coalesce(_files(number)), f"{out}/queues")
    of_all_queues = spark.createDataFrame(pa.Table.from_batches([box(OVERALL, _one_batch(all_windows))]))
    by_window = boxes.where(f.col("kind") == WINDOWS)
    made = of_all_queues.unionByName(by_window).coalesce(_files(windows.number + found.windows(windows)))
    _parquet(mapped(made, tabulator(windows, called), figure.WINDOWS), f"{out}/windows")

    rows = queues.to_pylist()
    drawn = sorted(rows, key=lambda row: -(row["sent"] + row["received"]))[:DRAWN]
    return Analysis(
        summary=summary(found.first, found.last, whole, rows),
        overall=whole,
        queues=rows,
        windows=all_windows.to_pylist(),
        windows_by_queue=_lines(by_window, windows, called, [row["name"] for row in drawn]),
        window_s=windows.width / 1e6,
        files=0,
        events=found.events,
        problems=[],
    )


def _one_batch(table: pa.Table) -> pa.RecordBatch:
    return pa.RecordBatch.from_arrays([column.combine_chunks() for column in table.columns], schema=table.schema)


def _lines(
    boxes: "DataFrame", windows: Windows, called: Mapping[int, QueueNames], wanted: Sequence[str]
) -> dict[str, list[Mapping[str, Any]]]:
    """The windows of some queues."""
    lines: dict[str, list[Mapping[str, Any]]] = {name: [] for name in wanted}
    some = {number: each for number, each in called.items() if each.name in lines}
    for row in mapped(boxes, picker(windows, some), figure.WINDOWS).toArrow().sort_by("window_start").to_pylist():
        lines[row["name"]].append(row)
    return lines


def _files(rows: int) -> int:
    return max(1, rows // _FILE_ROWS)


def _parquet(table: "DataFrame", path: str) -> None:
    table.write.mode("overwrite").parquet(path)
