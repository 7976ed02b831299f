"""What makes a Spark of a short life quick: settings, and the archive of its classes that `rockdove prepare` makes."""

from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from contextlib import contextmanager
from pathlib import Path

from rockdove.spark.archive import make
from rockdove.spark.session import archive, archive_options

_ROOT = Path(__file__).parents[3]
# Small traces: what Spark would compile for large ones takes longer than the work.
SETTINGS = {
    "spark.sql.shuffle.partitions": "1",
    "spark.sql.codegen.wholeStage": "false",
    "spark.sql.codegen.factoryMode": "NO_CODEGEN",
}
# Compiled lightly: most live for seconds only.
LIGHT = "-XX:TieredStopAtLevel=1"


_ARCHIVE = _ROOT / ".setup" / archive().name


def archived() -> str:
    """Options for a JVM of Spark's. Until the archive is there, it does without."""
    return " ".join(archive_options(_ARCHIVE))


@contextmanager
def archiving() -> Iterator[None]:
    """The archive is made meanwhile, if it is not there."""
    with ThreadPoolExecutor(1) as threads:
        made = threads.submit(make, _ARCHIVE)
        yield
        made.result()
