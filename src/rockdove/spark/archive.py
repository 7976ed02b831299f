"""An archive of the Java classes that Spark uses: a JVM that maps it into memory need not load them one by one.

Java checks that an archive is of the same Java and the same jars, and does without it if not. As a program this module
does some of all that we do with Spark, in a JVM that writes the archive when it ends.
"""

import fcntl
import os
import subprocess
import sys
import tempfile
from pathlib import Path
from typing import TYPE_CHECKING, Any, Final

from rockdove.spark.session import SILENT, SparkFailed, require, session

if TYPE_CHECKING:
    from pyspark.sql import SparkSession

_MESSAGES: Final = 40
_BEGIN_US: Final = 1_772_323_200_000_000


def make(path: Path) -> None:
    """Write the archive. Others may do the same at the same time. Raises `SparkFailed`."""
    require("this needs")
    try:
        path.parent.mkdir(mode=0o700, parents=True, exist_ok=True)
        with path.with_suffix(".lock").open("w") as lock:
            fcntl.flock(lock, fcntl.LOCK_EX)
            if not path.exists():
                _make(path)
    except OSError as error:
        raise SparkFailed(f"cannot write {path}: {error.strerror}") from None


def _make(path: Path) -> None:
    draft = path.with_suffix(".draft")
    draft.unlink(missing_ok=True)
    options = " ".join(["-XX:TieredStopAtLevel=1", f"-XX:ArchiveClassesAtExit={draft}", *SILENT])
    environment = {
        **os.environ,
        "SPARK_SUBMIT_OPTS": options,
        "PYTHONPATH": os.pathsep.join(filter(None, sys.path)),
        # A JVM that uses an archive writes none.
        "XDG_CACHE_HOME": str(draft.with_suffix(".none")),
    }
    command = [sys.executable, "-m", __name__]
    done = subprocess.run(command, env=environment, capture_output=True, text=True, check=False)
    if done.returncode or not draft.exists():
        reason = done.stderr.strip().rsplit("\n", 1)[-1] or "Java has written nothing"
        raise SparkFailed(f"no archive was made: {reason}")
    draft.rename(path)


def _use_spark() -> None:
    with session("local[2]", light=True) as spark, tempfile.TemporaryDirectory(prefix="rockdove-") as folder:
        _use(spark, Path(folder))
        gateway = spark.sparkContext._gateway
    # Java writes the archive when it ends, as it does when nobody speaks to it any more.
    assert gateway is not None
    gateway.proc.stdin.close()
    gateway.proc.wait()


def _use(spark: "SparkSession", folder: Path) -> None:
    from rockdove.spark.analysis import analyse
    from rockdove.spark.calibrate.calibrate import calibrate

    trace = folder / "trace"
    _write(trace)
    analyse(spark, [str(trace)], str(folder / "out"))
    calibrate(spark, [str(trace)])
    stream = spark.readStream.schema(spark.read.parquet(str(trace)).schema).parquet(str(trace))
    writer = stream.writeStream.format("parquet").option("checkpointLocation", str(folder / "checkpoint"))
    writer.trigger(availableNow=True).start(str(folder / "table")).awaitTermination()


def _write(folder: Path) -> None:
    """A small trace."""
    import pyarrow as pa
    import pyarrow.parquet as pq

    from rockdove.trace.schema import SERVER, schema

    def event(op: str, number: int, time_us: int, **more: Any) -> dict[str, Any]:
        base = {"side": SERVER, "node": "n", "account": "0", "queue": "q", "status": 200, "latency_us": 2_000}
        return {**base, "op": op, "message_id": f"m{number}", "event_time": time_us, **more}

    rows: list[dict[str, Any]] = []
    for number in range(_MESSAGES):
        sent = _BEGIN_US + number * 1_000_000
        times = {"sent_at": sent, "enqueued_at": sent}
        rows += [
            event("send", number, sent, **times),
            event("receive", number, sent + 500_000, dequeued_at=sent + 500_000, attempt=1, **times),
            event("delete", number, sent + 900_000, attempt=1),
        ]
    folder.mkdir()
    pq.write_table(pa.Table.from_pylist(rows, schema()), folder / "one.parquet")


if __name__ == "__main__":
    _use_spark()
