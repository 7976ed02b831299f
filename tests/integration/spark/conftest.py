"""One Spark session for all tests of a run: starting one takes seconds."""

from collections.abc import Callable, Iterator
from pathlib import Path
from typing import TYPE_CHECKING, Any

import pytest

from rockdove.spark.session import session
from tests.support.made_trace import Event, write

if TYPE_CHECKING:
    from pyspark.sql import SparkSession

    from rockdove.spark.analysis import Analysis

# Small traces: what Spark would compile for large ones takes longer than the work.
SETTINGS = {
    "spark.sql.shuffle.partitions": "1",
    "spark.driver.memory": "1g",
    "spark.sql.codegen.wholeStage": "false",
    "spark.sql.codegen.factoryMode": "NO_CODEGEN",
    "spark.driver.extraJavaOptions": "-XX:TieredStopAtLevel=1",
}


@pytest.fixture(scope="session")
def spark(environment: None) -> "Iterator[SparkSession]":
    with session("local[2]", SETTINGS) as found:
        yield found


@pytest.fixture
def analysed(spark: "SparkSession", tmp_path: Path) -> "Callable[..., Analysis]":
    """`analysed(events)` writes a trace and analyses it."""
    from rockdove.spark.analysis import analyse

    def run(events: list[Event], **more: Any) -> "Analysis":
        trace = write(tmp_path / "trace", events)
        return analyse(spark, [str(trace)], str(tmp_path / "out"), **more)

    return run
