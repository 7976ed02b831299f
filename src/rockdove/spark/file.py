"""The files of a trace: which there are, and which cannot be read, and why."""

import re
from collections.abc import Iterable, Iterator, Mapping, Sequence
from concurrent.futures import ThreadPoolExecutor
from typing import TYPE_CHECKING, Any, Final, NamedTuple
from urllib.parse import unquote

from rockdove.core.errors import RockdoveError
from rockdove.spark.known import NO_EVENT, TIMES, is_known
from rockdove.spark.path import is_url
from rockdove.trace.schema import COLUMNS

if TYPE_CHECKING:
    from pyspark.sql import DataFrame, SparkSession

# What an event cannot do without.
_NEEDED: Final = ("event_time", "side", "queue", "op")
# The types of columns, as Parquet writes them: how they are stored, and what they mean.
_TYPES: Final = {
    "timestamp": re.compile(r"int64 \S+ \(TIMESTAMP\(.*"),
    "string": re.compile(r"binary \S+ \((STRING|UTF8)\).*"),
    "int32": re.compile(r"int32 \S+( \(INTEGER\([0-9]+,true\)\))?( = .*)?"),
    "int64": re.compile(r"int64 \S+( \(INTEGER\(64,true\)\))?( = .*)?"),
    "bool": re.compile(r"boolean \S+( = .*)?"),
}
# Footers are read so many at a time: it is waiting, mostly.
_AT_ONCE: Final = 8


# For each path, as people write it, the rows that could be read, and how many of them are events.
Counts = Mapping[str, tuple[int, int]]


class NoTrace(RockdoveError):
    """There is nothing to analyse; the message says where was looked."""


class Problem(NamedTuple):
    """A file that does not count, or not fully."""

    path: str
    what: str


class Footer(NamedTuple):
    """What a file says of itself: its events, and in how many groups of rows they are."""

    path: str
    events: int
    groups: int
    problem: str | None = None


class Files(NamedTuple):
    """The files that can be read, by their footers, and what is wrong with others."""

    footers: list[Footer]
    problems: list[Problem]

    @property
    def paths(self) -> list[str]:
        return [footer.path for footer in self.footers]

    @property
    def events(self) -> int:
        return sum(footer.events for footer in self.footers)


def look(spark: "SparkSession", traces: Sequence[str]) -> Files:
    """Find the files of traces: folders, files or patterns, on any file system that Spark knows. Raises `NoTrace`."""
    paths = [path for trace in traces for path in _list(spark, trace)]
    paths = list(dict.fromkeys(paths))
    if not paths:
        raise NoTrace(f"no Parquet files in {', '.join(traces)}; record some with: rockdove serve --trace DIR")
    footers = look_at(spark, paths)
    problems = [Problem(plain(footer.path), footer.problem) for footer in footers if footer.problem]
    good = [footer for footer in footers if not footer.problem]
    if not good:
        raise nothing(len(paths), traces, problems)
    return Files(good, problems)


def nothing(files: int, traces: Sequence[str], problems: Sequence[Problem]) -> NoTrace:
    shown = "; ".join(f"{problem.path}: {problem.what}" for problem in problems[:3])
    return NoTrace(f"none of the {files} files in {', '.join(traces)} has an event ({shown})")


def look_at(spark: "SparkSession", paths: Sequence[str]) -> list[Footer]:
    with ThreadPoolExecutor(_AT_ONCE) as pool:
        return list(pool.map(lambda path: _footer(spark, path), paths))


def is_there(spark: "SparkSession", path: str) -> bool:
    place = _jvm(spark).org.apache.hadoop.fs.Path(path)
    return bool(place.getFileSystem(_configuration(spark)).exists(place))


def unread(files: Files, counts: Counts) -> list[Problem]:
    """Which files give fewer events than their footers promise: damaged inside, removed meanwhile, or odd rows."""
    problems = []
    for footer in files.footers:
        path = plain(footer.path)
        read, known = counts.get(path, (0, 0))
        if read < footer.events:
            lost = footer.events - read
            problems.append(Problem(path, f"{lost:,} events could not be read: it is damaged inside, or was changed"))
        if known < read:
            problems.append(Problem(path, f"{read - known:,} rows are {NO_EVENT}"))
    return problems


def scanned(spark: "SparkSession", paths: Sequence[str], schema: Any) -> Counts:
    from pyspark.sql import functions as f

    rows = parquet(spark, paths, schema)
    # A figure of all columns is asked for, so that all are read.
    found = rows.groupBy(f.input_file_name().alias("path")).agg(
        f.count("*").alias("rows"), f.count_if(is_known()).alias("known"), f.bit_xor(f.hash(*rows.columns))
    )
    return {plain(unquote(row["path"])): (row["rows"], row["known"]) for row in found.collect()}


def plain(path: str) -> str:
    """A path as people write it: that of a local file without its scheme."""
    return re.sub("^file:/+", "/", path)


def parquet(spark: "SparkSession", paths: Sequence[str], schema: Any = None) -> "DataFrame":
    """The rows of files or folders. What looks like a pattern is a name."""
    reader = spark.read.option("__globPaths__", "false")
    return (reader if schema is None else reader.schema(schema)).parquet(*paths)


def literal(path: str) -> str:
    """A path that a stream of Spark's does not take for a pattern."""
    return re.sub(r"([][{}*?\\])", r"\\\1", path)


def _list(spark: "SparkSession", trace: str) -> Iterator[str]:
    from py4j.protocol import Py4JJavaError
    from pyspark.errors import PySparkException

    try:
        system, found = _find(spark, trace)
    except (Py4JJavaError, PySparkException) as error:
        raise NoTrace(f"cannot look for {trace}: {_reason(error)}") from None
    if not found:
        raise NoTrace(f"there is no {trace}")
    for status in found:
        if status.isFile():
            yield status.getPath().toString()
            continue
        root = status.getPath().toString().rstrip("/")
        yield from sorted(_visible(_remote(system.listFiles(status.getPath(), True)), root))


def _find(spark: "SparkSession", trace: str) -> tuple[Any, Sequence[Any]]:
    """The file system, and what it has of that name, or else of that pattern."""
    make = _jvm(spark).org.apache.hadoop.fs.Path
    # In three parts, a colon in a name does not make a scheme of what stands before it.
    path = make(trace) if is_url(trace) else make(None, None, trace)
    system = path.getFileSystem(_configuration(spark))
    return system, [system.getFileStatus(path)] if system.exists(path) else system.globStatus(path)


def _remote(listing: Any) -> Iterator[str]:
    while listing.hasNext():
        yield listing.next().getPath().toString()


def _visible(paths: Iterable[str], root: str) -> Iterator[str]:
    """Parquet files. Those whose name, or whose folder's, begins with a dot or an underscore are not finished."""
    for path in paths:
        names = path.removeprefix(root).strip("/").split("/")
        if path.endswith(".parquet") and not any(name.startswith((".", "_")) for name in names):
            yield path


def _footer(spark: "SparkSession", path: str) -> Footer:
    from py4j.protocol import Py4JJavaError
    from pyspark.errors import PySparkException

    jvm = _jvm(spark)
    try:
        source = jvm.org.apache.parquet.hadoop.util.HadoopInputFile.fromPath(
            jvm.org.apache.hadoop.fs.Path(path), _configuration(spark)
        )
        reader = jvm.org.apache.parquet.hadoop.ParquetFileReader.open(source)
    except (Py4JJavaError, PySparkException) as error:
        return Footer(path, 0, 0, f"cannot be read: {_reason(error)}")
    try:
        schema = reader.getFileMetaData().getSchema()
        lacking = [name for name in _NEEDED if not _has(schema, name)]
        odd = [name for name in COLUMNS if schema.containsField(name) and not _has(schema, name)]
        fine = [name for name in TIMES if schema.containsField(name) and "NANOS" in schema.getType(name).toString()]
        events, groups = int(reader.getRecordCount()), int(reader.getRowGroups().size())
    finally:
        reader.close()
    if lacking:
        return Footer(path, 0, 0, f"not a trace: no column {', '.join(lacking)} of the type that traces have")
    if odd:
        return Footer(path, 0, 0, f"not as traces are: {', '.join(odd)} of another type")
    if fine:
        return Footer(path, 0, 0, f"nanoseconds in {', '.join(fine)}, where traces have microseconds")
    return Footer(path, events, groups, None if events else "no event in it")


def _has(schema: Any, name: str) -> bool:
    """Whether a column is there, and of the type that traces have."""
    if not schema.containsField(name):
        return False
    # Before that it says whether there is always one.
    _, _, kind = str(schema.getType(name).toString()).partition(" ")
    return _TYPES[COLUMNS[name]].fullmatch(kind) is not None


def _reason(error: Any) -> str:
    """What Java says; PySpark has put some of its exceptions into its own words."""
    java = getattr(error, "java_exception", None)
    text = str(error) if java is None else str(java.getMessage() or java.getClass().getSimpleName())
    return " ".join(text.split())[:200]


def _jvm(spark: "SparkSession") -> Any:
    return spark.sparkContext._jvm


def _configuration(spark: "SparkSession") -> Any:
    return spark.sparkContext._jsc.hadoopConfiguration()
