"""A Spark session: for this machine, or for any master; what executors need of ours is sent to them."""

import hashlib
import os
import re
import shutil
import sys
import tempfile
import zipfile
from collections.abc import Callable, Iterable, Iterator, Mapping
from contextlib import contextmanager
from importlib.metadata import version
from importlib.util import find_spec
from pathlib import Path
from typing import TYPE_CHECKING, Final

import rockdove
from rockdove.core.errors import MissingExtra, RockdoveError

if TYPE_CHECKING:
    import pyarrow as pa
    from pyspark.sql import DataFrame, SparkSession

LOCAL: Final = "local[*]"
INSTALL: Final = "pip install 'rockdove[spark]'"
_PACKAGES: Final = ("numba", "pyarrow", "pyspark")
# Whatever else it is, Spark says so in thirty lines.
_MASTER: Final = re.compile(r"local(-cluster)?(\[.+\])?$|yarn$|(spark|k8s)://.")
JAVA: Final = "Spark needs Java 17 or newer: on Debian or Ubuntu, sudo apt-get install default-jre-headless"
# What executors get of us.
PACKAGE: Final = "rockdove.zip"
_LOOPBACK: Final = "127.0.0.1"
_LOGGING: Final = Path(__file__).with_name("log4j2.properties")

SETTINGS: Final = {
    "spark.sql.session.timeZone": "UTC",
    "spark.ui.showConsoleProgress": "false",
    # A file that cannot be read, or is gone by the time that it is read, is reported, and does not end the analysis.
    "spark.sql.files.ignoreCorruptFiles": "true",
    "spark.sql.files.ignoreMissingFiles": "true",
    # Fewer, larger batches: each costs a call of the compiled loops.
    "spark.sql.execution.arrow.maxRecordsPerBatch": "65536",
    # No limit: Spark would add up the size of all columns after each row. An event is small.
    "spark.sql.execution.arrow.maxBytesPerBatch": str(2**31 - 1),
}
# Java would print a line for each class that is not as in an archive.
SILENT: Final = ("-Xlog:disable", "-Xlog:all=error:stderr")
# On one machine the driver does all the work, and nobody else needs to reach it.
LOCAL_SETTINGS: Final = {
    "spark.driver.memory": "2g",
    "spark.driver.host": _LOOPBACK,
    "spark.driver.bindAddress": _LOOPBACK,
    "spark.ui.enabled": "false",
    # All that is shuffled beside the events is small.
    "spark.sql.shuffle.partitions": "4",
}
_INTERPRETED: Final = {"spark.sql.codegen.wholeStage": "false", "spark.sql.codegen.factoryMode": "NO_CODEGEN"}


class SparkFailed(RockdoveError):
    """Spark could not be started, or could not do the work; the message is for the user."""


@contextmanager
def session(
    master: str | None = None, settings: Mapping[str, str] | None = None, *, light: bool = False
) -> Iterator["SparkSession"]:
    """A session that ends with the block. Raises `MissingExtra`, `SparkFailed`.

    Without a master it is that of ``spark-submit``, if that started us, else this machine with all its cores. A
    ``light`` one is for little work on this machine.
    """
    require(master=master)
    from py4j.protocol import Py4JError
    from pyspark.errors import PySparkException
    from pyspark.sql import SparkSession

    # spark-submit has started a JVM for us, and knows the master.
    submitted = "PYSPARK_GATEWAY_PORT" in os.environ
    if master is None and not submitted:
        master = LOCAL
    local = master is not None and master.startswith("local")
    builder = SparkSession.builder.appName("rockdove")
    if master is not None:
        builder = builder.master(master)
    chosen = {
        **SETTINGS,
        **(LOCAL_SETTINGS if local else {}),
        **_java_options(local, light, settings or {}),
        **(settings or {}),
    }
    for key, value in chosen.items():
        builder = builder.config(key, value)
    with tempfile.TemporaryDirectory(prefix="rockdove-") as folder:
        try:
            with _python(chosen.get("spark.pyspark.python") or (sys.executable if local else None)):
                spark = builder.getOrCreate()
        except (PySparkException, Py4JError, OSError) as error:
            where = "" if master is None else f" with master {master}"
            raise SparkFailed(f"Spark did not start{where}: {_first(error)}") from error
        try:
            if not local:
                spark.sparkContext.addPyFile(str(package(Path(folder))))
            yield spark
        finally:
            spark.stop()


@contextmanager
def interpreted(spark: "SparkSession") -> Iterator[None]:
    """For jobs on few rows: to compile what they do would take longer than to do it."""
    before = {name: spark.conf.get(name, None) for name in _INTERPRETED}
    for name, value in _INTERPRETED.items():
        spark.conf.set(name, value)
    try:
        yield
    finally:
        for name, old in before.items():
            if old is None:
                spark.conf.unset(name)
            else:
                spark.conf.set(name, old)


def mapped(
    rows: "DataFrame", task: "Callable[[Iterable[pa.RecordBatch]], Iterator[pa.RecordBatch]]", schema: "pa.Schema"
) -> "DataFrame":
    """`DataFrame.mapInArrow` with a schema in Arrow's words."""
    from pyspark.sql.pandas.types import from_arrow_schema

    return rows.mapInArrow(task, from_arrow_schema(schema))


@contextmanager
def kept(rows: "DataFrame") -> "Iterator[DataFrame]":
    """Rows that are computed once, however often they are read within the block."""
    rows.persist()
    try:
        yield rows
    finally:
        rows.unpersist()


@contextmanager
def _python(program: str | None) -> Iterator[None]:
    """Spark looks into the environment for the Python that its tasks run; what is set there already counts."""
    if program is None or "PYSPARK_PYTHON" in os.environ:
        yield
        return
    os.environ["PYSPARK_PYTHON"] = program
    try:
        yield
    finally:
        del os.environ["PYSPARK_PYTHON"]


def require(who: str = "analysis needs", master: str | None = None) -> None:
    """Raises `MissingExtra` or `SparkFailed` if something is not installed, or there is no such master.

    It imports nothing, because that takes seconds.
    """
    if master is not None and not _MASTER.match(master):
        raise SparkFailed(f"no master {master!r}: it is local[*], yarn, spark://HOST:PORT or k8s://URL")
    for name in _PACKAGES:
        if find_spec(name) is None:
            raise MissingExtra(f"{who} {name}; install it with: {INSTALL}")
    if java() is None:
        raise SparkFailed(JAVA)


def java() -> Path | None:
    """The program that Spark runs."""
    home = os.environ.get("JAVA_HOME")
    if home and os.access(Path(home) / "bin" / "java", os.X_OK):
        return Path(home) / "bin" / "java"
    found = shutil.which("java")
    return None if found is None else Path(found)


def archive() -> Path:
    """Where the archive of Java's classes is, if `rockdove.spark.archive` has made one for this Java and this Spark."""
    program, package = java(), find_spec("pyspark")
    assert program is not None
    assert package is not None
    real = program.resolve()
    known = (real, real.stat().st_mtime_ns, package.origin, version("pyspark"))
    cache = Path(os.environ.get("XDG_CACHE_HOME") or Path.home() / ".cache")
    return cache / "rockdove" / f"spark-{hashlib.sha256(repr(known).encode()).hexdigest()[:12]}.jsa"


def archive_options(path: Path) -> tuple[str, ...]:
    return (f"-XX:SharedArchiveFile={path}", *SILENT)


def package(folder: Path) -> Path:
    """Our modules in a zip file in `folder`: executors import them from there, and need not have Rockdove installed."""
    target = folder / PACKAGE
    root = Path(rockdove.__file__).parent
    with zipfile.ZipFile(target, "w", zipfile.ZIP_DEFLATED) as archive:
        for path in sorted(root.rglob("*.py")):
            archive.write(path, path.relative_to(root.parent))
    return target


def _java_options(local: bool, light: bool, settings: Mapping[str, str]) -> dict[str, str]:
    """Spark's log is for defects only; ours says the rest."""
    name = "spark.driver.extraJavaOptions"
    own = [f"-Dlog4j2.configurationFile={_LOGGING.as_uri()}"]
    if local:
        # Nobody waits for an answer while it collects, and it leaves more of few cores to the work than G1.
        own.append("-XX:+UseParallelGC")
        if archive().exists():
            own += archive_options(archive())
        if light:
            # Java would spend more time on compiling well than it could ever save.
            own.append("-XX:TieredStopAtLevel=1")
    return {name: " ".join(own)} if name not in settings else {}


def _first(error: BaseException) -> str:
    return str(error).strip().split("\n", 1)[0]
