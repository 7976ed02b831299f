"""What makes a Spark of a short life quick: settings, and the archive of its classes that `rockdove prepare` makes."""

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


def archived() -> str:
    """Options for a JVM of Spark's. The archive is made if it is not there."""
    path = _ROOT / ".setup" / archive().name
    make(path)
    return " ".join(archive_options(path))
