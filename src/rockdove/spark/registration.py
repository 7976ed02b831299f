"""Makes the format ``rockdove`` known to a session, where Spark does not find it by itself, and to its executors."""

import tempfile
from pathlib import Path
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from pyspark.sql import SparkSession


def register(spark: "SparkSession") -> None:
    """After this, ``spark.readStream.format("rockdove")`` works, also on executors that have no Rockdove installed."""
    from rockdove.spark.datasource import RockdoveSource
    from rockdove.spark.session import PACKAGE, package

    spark.dataSource.register(RockdoveSource)
    context = spark.sparkContext
    # Spark refuses a second file of the same name.
    is_there = any(path.endswith(f"/{PACKAGE}") for path in context.listFiles)
    if not (context.master or "").startswith("local") and not is_there:
        # Spark reads it when this returns, and may again when an executor comes later: it must stay.
        folder = Path(tempfile.mkdtemp(prefix="rockdove-"))
        context.addPyFile(str(package(folder)))
