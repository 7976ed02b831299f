"""The batch analysis: from traces to tables, a summary and a report."""

import gc
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import contextmanager, nullcontext
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
from rockdove.spark.parquet import write_rows, write_table
from rockdove.spark.queue import WHOLE
from rockdove.spark.session import interpreted, mapped
from rockdove.spark.summary import summary
from rockdove.spark.survey import Survey, names
from rockdove.spark.total import sums
from rockdove.spark.window import Windows, cut

if TYPE_CHECKING:
    from pyspark.sql import DataFrame, SparkSession

# TableRows of a file of a table, if there are more than that.
_FILE_ROWS: Final = 500_000
# TableRows of the table of windows that the user is told of, and that are too many; and what a row takes on disk.
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
    queues: figure.TableRows
    windows: Sequence[Mapping[str, Any]]
    windows_by_queue: Mapping[str, Sequence[Mapping[str, Any]]]
    window_s: float
    files: int
    events: int
    problems: list[Problem]

    @property
    def drained(self) -> bool:
        """Whether the queues that lost messages were seen to be empty after all was sent and received."""
        pairs = zip(self.queues.column("sent"), self.queues.column("drained"), strict=True)
        return all(drained for sent, drained in pairs if sent)


def analyse(
    spark: "SparkSession", traces: Sequence[str], out: str, window_s: float | None = None, say: Say = lambda text: None
) -> Analysis:
    """Write the tables to `out`, and give what the summary and the report need.

    Raises `NoTrace` and `BadWindow`. Paths are those of any file system that Spark knows.
    """
    files = look(spark, traces)
    say(f"{len(files.paths):,} files, {files.events:,} events")
    reader = Direct(spark, files) if Direct.fits(files) else Scan(spark, files.paths)
    result, seen = _analyse(spark, reader, False, out, window_s, say)
    if result is not None and sum(result.queues.column("events")) < seen:
        # Of some events not all columns can be read. They must not count where only others are needed, either.
        say("some events can be read only in part: all are measured again without them")
        result, _ = _analyse(spark, reader, True, out, window_s, say)
    if result is None:
        problems = [*files.problems, *unread(files, reader.counts())]
        raise nothing(len(files.paths) + len(files.problems), traces, problems)
    say(f"written: {out}")
    problems = list(files.problems)
    if result.events < files.events:
        problems += unread(files, reader.counts())
    named = [{"file": problem.path, "problem": problem.what} for problem in problems]
    summary = result.summary | {"problems": named}
    return result._replace(files=len(files.paths), problems=problems, summary=summary)


def _analyse(
    spark: "SparkSession", reader: Direct | Scan, thorough: bool, out: str, window_s: float | None, say: Say
) -> tuple[Analysis | None, int]:
    """The analysis, None if there are no events; and how many events there are by the survey."""
    from pyspark.sql import functions as f

    found = reader.survey(thorough)
    if found is None:
        return None, 0
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
            return _write(spark, boxes, small, found, windows, out), found.events


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

    of_all_queues = spark.createDataFrame(pa.Table.from_batches([box(OVERALL, _one_batch(all_windows))]))
    by_window = boxes.where(f.col("kind") == WINDOWS)
    made = of_all_queues.unionByName(by_window).coalesce(_files(windows.number + found.windows(windows)))
    # The large one first: if it fails, the tables of an analysis before are all as they were.
    write_rows(made, tabulator(windows, called), figure.WINDOWS, f"{out}/windows")
    write_table(spark, queues, f"{out}/queues", _files(number))

    rows = figure.TableRows(queues)
    with _without_collector():
        told = summary(found.first, found.last, whole, rows)
    used = [sent + received for sent, received in zip(rows.column("sent"), rows.column("received"), strict=True)]
    drawn = sorted(range(number), key=lambda at: -used[at])[:DRAWN]
    return Analysis(
        summary=told,
        overall=whole,
        queues=rows,
        windows=all_windows.to_pylist(),
        windows_by_queue=_lines(by_window, windows, called, [rows.column("name")[at] for at in drawn]),
        window_s=windows.width / 1e6,
        files=0,
        events=found.events,
        problems=[],
    )


@contextmanager
def _without_collector() -> Iterator[None]:
    """For what makes very many objects that stay: to look for garbage among them would take most of the time."""
    was_on = gc.isenabled()
    gc.disable()
    try:
        yield
    finally:
        if was_on:
            gc.enable()


def _one_batch(table: pa.Table) -> pa.RecordBatch:
    return pa.RecordBatch.from_arrays([column.combine_chunks() for column in table.columns], schema=table.schema)


def _lines(
    boxes: "DataFrame", windows: Windows, called: QueueNames, wanted: Sequence[str]
) -> dict[str, list[Mapping[str, Any]]]:
    """The windows of some queues."""
    lines: dict[str, list[Mapping[str, Any]]] = {name: [] for name in wanted}
    found = mapped(boxes, picker(windows, called.only(lines)), figure.WINDOWS).toArrow()
    for row in found.sort_by("window_start").to_pylist():
        lines[row["name"]].append(row)
    return lines


def _files(rows: int) -> int:
    return max(1, rows // _FILE_ROWS)
