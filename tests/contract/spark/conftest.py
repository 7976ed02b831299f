"""Source and sink against a real service, without Spark: the engine is `tests.support.micro_batch`."""

from collections.abc import Callable, Iterator

import pytest
from pyspark.sql.types import IntegerType, StringType, StructField, StructType

from rockdove.client import Client
from rockdove.spark.service import place
from rockdove.spark.service.option import Options
from rockdove.spark.service.place import QueuePlace
from rockdove.spark.source.schema import Table, table
from tests.support.server import STORES
from tests.support.service import RunningService, Services

NARROW = StructType(
    [
        StructField("message_id", StringType()),
        StructField("body", StringType()),
        StructField("receive_count", IntegerType()),
    ]
)


@pytest.fixture(scope="session")
def services(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Services]:
    started = Services(tmp_path_factory.mktemp)
    yield started
    assert started.close() == [], "an event loop had something to complain of"


@pytest.fixture(params=STORES)
def steady(request: pytest.FixtureRequest, services: Services) -> RunningService:
    """A service whose clock only tests move."""
    return services.shared(request.param)


@pytest.fixture
def client(steady: RunningService) -> Iterator[Client]:
    with Client(steady.endpoint) as client:
        yield client


@pytest.fixture
def queue(client: Client, new_name: Callable[..., str]) -> str:
    """The name of a new standard queue with three physical ones."""
    name = new_name()
    client.create_queue(name, attributes={"RockdovePhysicalQueues": "3"})
    return name


@pytest.fixture
def where(steady: RunningService, queue: str) -> QueuePlace:
    return place.find(Options({"queue": queue, "endpoint": steady.endpoint}))


@pytest.fixture(scope="session")
def narrow() -> Table:
    """Some columns."""
    return table(Options({}), NARROW)


def bodies(number: int, begin: int = 0) -> list[str]:
    return [f"message {n}" for n in range(begin, begin + number)]


def counts(client: Client, queue: str) -> tuple[int, int]:
    """Visible, and in flight."""
    found = client.attributes(queue, ["ApproximateNumberOfMessages", "ApproximateNumberOfMessagesNotVisible"])
    return int(found["ApproximateNumberOfMessages"]), int(found["ApproximateNumberOfMessagesNotVisible"])
