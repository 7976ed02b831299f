"""What makes a Spark of a short life quick: settings, and an archive of its classes.

Without the archive, which Java maps into memory, such a JVM spends most of its time on loading classes. As a program
this does some of what tests do with Spark, and the archive gets the classes that it took. Java checks that an archive
is of the same Java and the same jars, and does without it if not.
"""

import fcntl
import hashlib
import os
import shutil
import subprocess
import sys
import tempfile
from pathlib import Path
from typing import TYPE_CHECKING

import pyspark

from rockdove.spark.calibrate.calibrate import calibrate
from rockdove.spark.session import session
from tests.support.made_trace import event, received, sent, write

if TYPE_CHECKING:
    from pyspark.sql import SparkSession

_ROOT = Path(__file__).parents[3]
# Small traces: what Spark would compile for large ones takes longer than the work.
SETTINGS = {
    "spark.sql.shuffle.partitions": "1",
    "spark.sql.codegen.wholeStage": "false",
    "spark.sql.codegen.factoryMode": "NO_CODEGEN",
}
# Compiled lightly: most live for seconds only.
LIGHT = "-XX:TieredStopAtLevel=1"
# It would print a line for each class that does not fit.
_SILENT = "-Xlog:disable -Xlog:all=error:stderr"
_MESSAGES = 40


def archived() -> str:
    """Options for a JVM of Spark's. The archive is made if it is not there."""
    folder = _ROOT / ".setup"
    folder.mkdir(exist_ok=True)
    path = folder / f"spark-{_version()}.jsa"
    with (folder / "spark.lock").open("w") as lock:
        fcntl.flock(lock, fcntl.LOCK_EX)
        if not path.exists():
            _make(path)
    return f"-XX:SharedArchiveFile={path} {_SILENT}"


def _version() -> str:
    """Of Java and of Spark."""
    home = os.environ.get("JAVA_HOME")
    java = shutil.which("java", path=f"{home}/bin" if home else None)
    assert java is not None, "make setup installs Java"
    known = [java, Path(java).resolve(), Path(java).stat().st_mtime_ns, pyspark.__version__, pyspark.__file__]
    return hashlib.sha256(repr(known).encode()).hexdigest()[:12]


def _make(path: Path) -> None:
    draft = path.with_suffix(".draft")
    draft.unlink(missing_ok=True)
    options = f"{LIGHT} -XX:ArchiveClassesAtExit={draft} {_SILENT}"
    environment = {**os.environ, "SPARK_SUBMIT_OPTS": options, "PYTHONPATH": os.pathsep.join(sys.path)}
    done = subprocess.run([sys.executable, __file__], env=environment, capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stderr
    draft.rename(path)


def main() -> None:
    with session("local[2]", SETTINGS) as spark, tempfile.TemporaryDirectory() as folder:
        _use(spark, Path(folder))
        gateway = spark.sparkContext._gateway
    # Java writes the archive when it ends, as it does when nobody speaks to it any more.
    assert gateway is not None
    gateway.proc.stdin.close()
    gateway.proc.wait()


def _use(spark: "SparkSession", folder: Path) -> None:
    parts = [(sent(f"m{n}", n), received(f"m{n}", n + 1, n), event("delete", n + 2, f"m{n}")) for n in range(_MESSAGES)]
    trace = write(folder / "trace", ({**one, "latency_us": 2_000} for part in parts for one in part))
    calibrate(spark, [str(trace)])
    stream = spark.readStream.schema(spark.read.parquet(str(trace)).schema).parquet(str(trace))
    writer = stream.writeStream.format("parquet").option("checkpointLocation", str(folder / "checkpoint"))
    writer.trigger(availableNow=True).start(str(folder / "table")).awaitTermination()


if __name__ == "__main__":
    main()
