"""Paths of traces and results: on this machine, or on any file system that Spark knows."""

import re
import tempfile
from collections.abc import Sequence
from contextlib import suppress
from glob import glob
from pathlib import Path
from typing import TYPE_CHECKING, Final

if TYPE_CHECKING:
    from pyspark.sql import SparkSession

# Traces of up to about two million events.
SMALL_BYTES: Final = 32 * 1024 * 1024


def is_url(path: str) -> bool:
    """Whether it names a file system. What has no slash behind its first colon is a name, such as that of a time."""
    return re.match(r"[A-Za-z][A-Za-z0-9+.-]*:/", path) is not None


def whole_path(path: str) -> str:
    """A path that means the same on all machines: executors have other working folders."""
    return path if is_url(path) else str(Path(path).absolute())


def are_small(traces: Sequence[str]) -> bool:
    """Whether all of them are on this machine, and have few bytes together."""
    left = SMALL_BYTES
    for trace in traces:
        if is_url(trace):
            return False
        for found in map(Path, glob(trace)):
            for file in found.rglob("*.parquet") if found.is_dir() else [found]:
                # One that is being written may be gone under this name.
                with suppress(OSError):
                    left -= file.stat().st_size
                if left < 0:
                    return False
    return True


def require_writable(path: str) -> None:
    """Makes a folder on this machine and tries it, before there is much to lose. Raises OSError.

    What a file system elsewhere allows shows when it is written to.
    """
    if not is_url(path):
        Path(path).mkdir(parents=True, exist_ok=True)
        with tempfile.TemporaryFile(dir=path):
            pass


def write(spark: "SparkSession", path: str, text: bytes) -> None:
    """A file on this machine, or wherever the path's scheme says; its folder is made."""
    if not is_url(path):
        Path(path).parent.mkdir(parents=True, exist_ok=True)
        Path(path).write_bytes(text)
        return
    jvm = spark.sparkContext._jvm
    assert jvm is not None
    target = jvm.org.apache.hadoop.fs.Path(path)
    stream = target.getFileSystem(spark.sparkContext._jsc.hadoopConfiguration()).create(target, True)
    stream.write(text)
    stream.close()
