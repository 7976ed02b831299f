"""Makes the format ``rockdove`` known to a session, where Spark does not find it by itself, and to its executors."""

import tempfile
from pathlib import Path
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from pyspark.sql import SparkSession


def register(spark: "SparkSession") -> None:
    """After this, ``spark.readStream.format("rockdove")`` works, also on executors that have no Rockdove installed.

    It takes sessions of Spark Connect, too; for streams its server must have Rockdove.
    """
    from rockdove.spark.datasource import RockdoveSource

    if type(spark).__module__.startswith("pyspark.sql.connect."):
        # First, because the server imports it when it registers the format.
        _upload(spark)
    else:
        _add_file(spark)
    spark.dataSource.register(RockdoveSource)


def _upload(spark: "SparkSession") -> None:
    """To a server of Spark Connect, for this session. Streams do not get it: for them it must be installed there."""
    from rockdove.spark.session import package

    with tempfile.TemporaryDirectory(prefix="rockdove-") as folder:
        spark.addArtifacts(str(package(Path(folder))), pyfile=True)


def _add_file(spark: "SparkSession") -> None:
    from rockdove.spark.session import PACKAGE, package

    context = spark.sparkContext
    # Spark refuses a second file of the same name.
    is_there = any(path.endswith(f"/{PACKAGE}") for path in context.listFiles)
    if not (context.master or "").startswith("local") and not is_there:
        # Spark reads it when this returns, and may again when an executor comes later: it must stay.
        folder = Path(tempfile.mkdtemp(prefix="rockdove-"))
        context.addPyFile(str(package(folder)))
