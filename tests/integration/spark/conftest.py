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

SETTINGS = {"spark.sql.shuffle.partitions": "2", "spark.default.parallelism": "2", "spark.driver.memory": "1g"}


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
