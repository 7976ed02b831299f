"""The batch analysis: from traces to tables, a summary and a report."""

from collections.abc import Callable, Mapping, Sequence
from contextlib import nullcontext
from typing import TYPE_CHECKING, Any, Final, NamedTuple

import pyarrow as pa
import pyarrow.compute as pc

from rockdove.core.errors import RockdoveError
from rockdove.spark.direct import Direct
from rockdove.spark.event import Scan
from rockdove.spark.figure import figures
from rockdove.spark.file import Problem, look, nothing, unread
from rockdove.spark.measure import EVERY
from rockdove.spark.queue import MOMENTS, WHOLE
from rockdove.spark.session import interpreted
from rockdove.spark.summary import summary
from rockdove.spark.survey import Survey, places
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
# With more queues than these the tables are large enough for Spark to compile what makes them.
_FEW_QUEUES: Final = 1_000
# Queues whose windows the report draws, those with most messages.
DRAWN: Final = 20
_NAMES: Final = ("name", "account", "queue")

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
    with reader.measured(found, windows) as measured:
        # This runs the large job; all later ones read what it leaves in memory.
        small = measured.where((f.col("number") == EVERY) | (f.col("window") == WHOLE)).toArrow()
        with interpreted(spark) if len(found.places) <= _FEW_QUEUES else nullcontext():
            result = _write(spark, measured, small, places(spark, found), found, windows, out)
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
    spark: "SparkSession",
    measured: "DataFrame",
    small: pa.Table,
    named: "DataFrame",
    found: Survey,
    windows: Windows,
    out: str,
) -> Analysis:
    from pyspark.sql import functions as f

    length, width = f.lit(max(found.last - found.first, 0)), f.lit(windows.width)
    start = f.timestamp_micros(f.lit(windows.begin) + f.col("window") * width).alias("window_start")
    of_queues = small.filter(pc.not_equal(small["number"], EVERY)).drop_columns(["kind", "bucket", "times", "book"])
    whole_queues = spark.createDataFrame(of_queues).join(f.broadcast(named), "number")
    queues = whole_queues.select(*_NAMES, *figures(length, f.lit(1)), *_queue_columns()).toArrow()
    by_window = measured.where((f.col("number") != EVERY) & (f.col("window") != WHOLE))
    queue_windows = by_window.join(f.broadcast(named), "number").select(*_NAMES, start, *figures(width, f.lit(1)))
    overall = spark.createDataFrame(sums(small.filter(pc.equal(small["number"], EVERY)), windows.number))
    nameless = [f.lit(None).cast("string").alias(name) for name in _NAMES]
    number = f.lit(len(found.places))
    all_windows = overall.where(f.col("window") != WHOLE).select(*nameless, start, *figures(width, number))
    _parquet(spark.createDataFrame(queues), ["name"], f"{out}/queues", len(found.places))
    of_windows = windows.number + found.windows(windows)
    _parquet(all_windows.unionByName(queue_windows), ["window_start", "name"], f"{out}/windows", of_windows)

    rows = sorted(queues.to_pylist(), key=lambda row: row["name"])
    [whole] = _rows(overall.where(f.col("window") == WHOLE).select(*figures(length, number)))
    drawn = [row["name"] for row in sorted(rows, key=lambda row: -(row["sent"] + row["received"]))[:DRAWN]]
    return Analysis(
        summary=summary(found.first, found.last, whole, rows),
        overall=whole,
        queues=rows,
        windows=_by_time(all_windows),
        windows_by_queue=_lines(queue_windows, drawn),
        window_s=windows.width / 1e6,
        files=0,
        events=found.events,
        problems=[],
    )


def _rows(table: "DataFrame") -> list[dict[str, Any]]:
    """With times in UTC: `collect` has those of the machine's zone, where an hour of autumn comes twice."""
    found: list[dict[str, Any]] = table.toArrow().to_pylist()
    return found


def _by_time(windows: "DataFrame") -> list[dict[str, Any]]:
    return sorted(_rows(windows), key=lambda row: row["window_start"])


def _lines(windows: "DataFrame", names: Sequence[str]) -> dict[str, list[Mapping[str, Any]]]:
    """The windows of some queues."""
    lines: dict[str, list[Mapping[str, Any]]] = {name: [] for name in names}
    for row in _by_time(windows.where(windows["name"].isin(list(names)))):
        lines[row["name"]].append(row)
    return lines


def _queue_columns() -> list[Any]:
    from pyspark.sql import functions as f

    moments = [f.timestamp_micros(name).alias(name.removesuffix("_us")) for name in MOMENTS if name.endswith("_us")]
    return [
        f.try_divide("sender_out_of_order", "sender_ordered").alias("sender_out_of_order_rate"),
        f.try_divide("sender_displaced", "sender_ordered").alias("sender_displacement"),
        "events",
        *moments,
        (f.col("drained") == 1).alias("drained"),
    ]


def _parquet(table: "DataFrame", order: list[str], path: str, rows: int) -> None:
    """`rows` is how many there are at most. Each file is sorted."""
    files = max(1, rows // _FILE_ROWS)
    table.coalesce(files).sortWithinPartitions(*order).write.mode("overwrite").parquet(path)
