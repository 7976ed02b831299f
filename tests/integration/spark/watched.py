"""Watches traces, one file a batch; also the program that a test kills in the middle."""

import os
import signal
import sys
import time
from collections.abc import Callable
from pathlib import Path
from typing import TYPE_CHECKING

from rockdove.core.clock import SystemClock
from rockdove.spark.watch.batch import Batches, Done
from rockdove.spark.watch.folder import Folder
from rockdove.spark.watch.job import FILES_SETTING, Job

if TYPE_CHECKING:
    from pyspark.sql import SparkSession

SECOND_US = 1_000_000
# Where a watch is killed: in a batch that has written its state, and when it is done but neither visible nor known to
# Spark as done. Each costs the start of a Spark; tests/unit/spark/test_watch_folder.py has the others.
POINTS = ("kept", "committed")


def watch(
    spark: "SparkSession",
    trace: Path,
    out: Path,
    *,
    window_s: float = 10,
    watermark_s: float = 10,
    remember_s: float = 3600,
    tell: Callable[[Done], None] = lambda done: None,
) -> list[Done]:
    """What each batch did, and the closing of windows in the end."""
    found: list[Done] = []

    def take(done: Done) -> None:
        found.append(done)
        tell(done)

    with Folder.held(out, str(trace), round(window_s * SECOND_US)) as folder:
        job = Job(
            spark,
            folder,
            watermark_us=round(watermark_s * SECOND_US),
            remember_us=round(remember_s * SECOND_US),
            once=True,
            tell=take,
        )
        while not job.has_ended():
            time.sleep(0.05)
        closed = job.close(SystemClock())
    return [*found, closed] if closed else found


def _die() -> None:
    """All at once, Spark as well; nobody can tidy up."""
    os.killpg(0, signal.SIGKILL)


def _kill_at(point: str, batch: int) -> None:
    """Die at a point of a batch."""
    kinds: dict[str, tuple[type, str, bool]] = {
        "kept": (Batches, "_keep", True),
        "committed": (Folder, "publish", False),
    }
    owner, name, after = kinds[point]
    real = getattr(owner, name)

    def wrapped(self: object, *words: object) -> object:
        folder = self if isinstance(self, Folder) else self._folder  # type: ignore[attr-defined]
        now = folder.progress.batch + (point == "kept")
        if now == batch and not after:
            _die()
        result = real(self, *words)
        if now == batch and after:
            _die()
        return result

    setattr(owner, name, wrapped)


def main() -> None:
    """`watched.py TRACE OUT POINT BATCH`"""
    from rockdove.spark.session import session

    trace, out, point, batch = sys.argv[1:]
    with session("local[1]", {FILES_SETTING: "1"}) as spark:
        _kill_at(point, int(batch))
        watch(spark, Path(trace), Path(out))


if __name__ == "__main__":
    main()
