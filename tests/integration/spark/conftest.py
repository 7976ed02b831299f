"""One Spark session for all tests of a process, because starting one takes seconds; and quick ones for commands."""

from collections.abc import Callable, Iterator
from pathlib import Path
from typing import TYPE_CHECKING, Any

import pytest

from rockdove.client import Client
from rockdove.spark.session import session
from tests.support.made_trace import Event, write
from tests.support.server import ServerFactory

if TYPE_CHECKING:
    from pyspark.sql import SparkSession

    from rockdove.spark.analysis import Analysis

# Small traces: what Spark would compile for large ones takes longer than the work.
SETTINGS = {
    "spark.sql.shuffle.partitions": "1",
    "spark.driver.memory": "1g",
    "spark.sql.codegen.wholeStage": "false",
    "spark.sql.codegen.factoryMode": "NO_CODEGEN",
}
JAVA_OPTIONS = "-XX:TieredStopAtLevel=1"


@pytest.fixture(scope="session", autouse=True)
def quick(environment: None, tmp_path_factory: pytest.TempPathFactory) -> "Iterator[None]":
    """Every Spark that a test starts has these settings unless it gives others, as those of an installation are."""
    folder = tmp_path_factory.mktemp("conf")
    lines = [f"{name} {value}\n" for name, value in SETTINGS.items()]
    (folder / "spark-defaults.conf").write_text("".join(lines))
    with pytest.MonkeyPatch.context() as patch:
        patch.setenv("SPARK_CONF_DIR", str(folder))
        patch.setenv("SPARK_SUBMIT_OPTS", JAVA_OPTIONS)
        yield


@pytest.fixture(scope="session")
def spark(quick: None) -> "Iterator[SparkSession]":
    with session("local[2]", SETTINGS) as found:
        yield found


@pytest.fixture(scope="module")
def endpoint(server: ServerFactory) -> str:
    return server.shared().endpoint


@pytest.fixture(scope="module")
def client(endpoint: str) -> Iterator[Client]:
    with Client(endpoint) as client:
        yield client


@pytest.fixture
def analysed(spark: "SparkSession", tmp_path: Path) -> "Callable[..., Analysis]":
    """`analysed(events)` writes a trace and analyses it."""
    from rockdove.spark.analysis import analyse

    def run(events: list[Event], **more: Any) -> "Analysis":
        trace = write(tmp_path / "trace", events)
        return analyse(spark, [str(trace)], str(tmp_path / "out"), **more)

    return run
