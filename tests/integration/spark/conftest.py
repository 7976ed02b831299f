"""One Spark session for all tests of a process, because starting one takes seconds; and quick ones for programs."""

from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager
from pathlib import Path
from typing import TYPE_CHECKING, Any

import pytest

from rockdove.cli.main import run
from rockdove.client import Client
from rockdove.spark.session import session
from tests.integration.spark.bare import python_without_rockdove
from tests.integration.spark.quick import LIGHT, SETTINGS, archived, archiving
from tests.support.made_trace import Event, write
from tests.support.server import ServerFactory
from tests.unit.cli.outcome import Cli, Outcome

if TYPE_CHECKING:
    from pyspark.sql import SparkSession

    from rockdove.spark.analysis import Analysis

# First, so that no worker is left with one of them when the others are through.
LONG = ("test_cluster.py", "test_connect.py", "test_kill.py", "test_page.py", "test_watch.py", "test_watch_command.py")


def pytest_collection_modifyitems(items: list[pytest.Item]) -> None:
    items.sort(key=lambda item: item.path.name not in LONG)


@pytest.fixture(scope="session", autouse=True)
def quick(environment: None, tmp_path_factory: pytest.TempPathFactory) -> "Iterator[None]":
    """Every Spark that a test starts has these settings unless it gives others, as those of an installation are."""
    settings = [f"-D{name}={value}" for name, value in SETTINGS.items()]
    with archiving(), pytest.MonkeyPatch.context() as patch:
        # No settings of the machine's. Java takes an archive only if nothing stands before the jars.
        patch.setenv("SPARK_CONF_DIR", str(tmp_path_factory.getbasetemp() / "no-conf"))
        patch.setenv("SPARK_SUBMIT_OPTS", " ".join([archived(), LIGHT, *settings]))
        yield


@pytest.fixture(scope="session")
def spark(quick: None) -> "Iterator[SparkSession]":
    with session("local[2]", SETTINGS) as found:
        yield found


@pytest.fixture(scope="session")
def python(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A Python of another machine, which has no Rockdove."""
    return python_without_rockdove(tmp_path_factory.mktemp("python") / "env")


@pytest.fixture
def cli(spark: "SparkSession", capfd: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch) -> Cli:
    """Commands run in this process, with the session of all tests."""

    @contextmanager
    def shared(
        master: str | None = None, settings: Mapping[str, str] | None = None, *, light: bool = False
    ) -> "Iterator[SparkSession]":
        yield spark

    monkeypatch.setattr("rockdove.spark.session.session", shared)
    return _in_this_process(capfd)


@pytest.fixture
def early(capfd: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch) -> Cli:
    """Commands run in this process that must end before Spark starts."""

    def refuse(master: str | None = None, settings: Mapping[str, str] | None = None, *, light: bool = False) -> None:
        raise AssertionError("Spark would have started")

    monkeypatch.setattr("rockdove.spark.session.session", refuse)
    return _in_this_process(capfd)


def _in_this_process(capfd: pytest.CaptureFixture[str]) -> Cli:
    def call(*arguments: str, stdin: bytes = b"") -> Outcome:
        capfd.readouterr()
        code = run(arguments)
        return Outcome(code, *capfd.readouterr())

    return call


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
