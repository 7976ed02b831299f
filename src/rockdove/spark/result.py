"""What an analysis hands over beside its tables: ``summary.json`` and ``report.html``."""

from typing import TYPE_CHECKING

import msgspec

from rockdove.spark.analysis import Analysis
from rockdove.spark.path import write
from rockdove.spark.report import page

if TYPE_CHECKING:
    from pyspark.sql import SparkSession


def hand_over(spark: "SparkSession", found: Analysis, out: str) -> None:
    summary = msgspec.json.format(msgspec.json.encode(found.summary), indent=2)
    write(spark, f"{out}/summary.json", summary + b"\n")
    write(spark, f"{out}/report.html", page(found).encode())
