"""Every test here runs on every store and, with `sqs`, in both protocols, against the service over HTTP.

A store knows nothing of protocols, so a test does not need every pair of them: half of the tests have the pairs of one
diagonal, half those of the other.
"""

import zlib
from collections.abc import Callable, Iterator
from typing import Any

import pytest

from tests.support.dialect import PROTOCOLS
from tests.support.raw import Web
from tests.support.server import SERVICES
from tests.support.service import RunningService, Services
from tests.support.sqs_queue import SqsQueue

NewName = Callable[..., str]


@pytest.fixture(scope="session")
def services(tmp_path_factory: pytest.TempPathFactory, environment: None) -> Iterator[Services]:
    """`services("sqlite", cool_down=False)` starts one of its own, with these settings."""
    started = Services(tmp_path_factory.mktemp)
    yield started
    assert started.close() == [], "an event loop had something to complain of"


def pytest_generate_tests(metafunc: pytest.Metafunc) -> None:
    if "protocol" in metafunc.fixturenames:
        turned = zlib.crc32(metafunc.function.__name__.encode()) % 2
        pairs = zip(SERVICES, PROTOCOLS[::-1] if turned else PROTOCOLS, strict=False)
        metafunc.parametrize(("store", "protocol"), list(pairs), indirect=True, scope="session")
    elif "store" in metafunc.fixturenames:
        metafunc.parametrize("store", SERVICES, indirect=True, scope="session")


@pytest.fixture(scope="session")
def store(request: pytest.FixtureRequest) -> str:
    name: str = request.param
    return name


@pytest.fixture(scope="session")
def protocol(request: pytest.FixtureRequest) -> str:
    name: str = request.param
    return name


@pytest.fixture(scope="session")
def service(services: Services, store: str) -> RunningService:
    """The one that tests share; its clock moves by `advance` only."""
    return services.shared(store)


@pytest.fixture(scope="session")
def live(services: Services, store: str) -> RunningService:
    """For what really takes time, as long polling does: its clock is the machine's."""
    return services.shared(store, real_time=True)


@pytest.fixture(scope="session")
def hurried(services: Services, store: str) -> RunningService:
    """A service without the 60-second rules."""
    return services.shared(store, cool_down=False)


@pytest.fixture(scope="session")
def sqs(service: RunningService, protocol: str) -> Any:
    """A boto3 client of the shared service."""
    return service.client(protocol)


@pytest.fixture
def web(service: RunningService) -> Iterator[Web]:
    """Requests to the shared service without an SDK."""
    made = Web(service.port)
    yield made
    made.close()


@pytest.fixture
def url(web: Web, new_name: NewName) -> str:
    """Of a new standard queue, for tests that use no SDK."""
    return web.create(new_name())


class QueueMaker:
    """`make(VisibilityTimeout="5")` is a new standard queue, `make.fifo()` a FIFO queue."""

    def __init__(self, sqs: Any, new_name: NewName) -> None:
        self.sqs = sqs
        self._new_name = new_name

    def __call__(self, **attributes: str) -> SqsQueue:
        return SqsQueue(self.sqs, self.sqs.create_queue(QueueName=self._new_name(), Attributes=attributes)["QueueUrl"])

    def fifo(self, **attributes: str) -> SqsQueue:
        """Deduplicates by content unless told not to (ContentBasedDeduplication)."""
        wanted = {"FifoQueue": "true", "ContentBasedDeduplication": "true", **attributes}
        return SqsQueue(
            self.sqs, self.sqs.create_queue(QueueName=self._new_name(".fifo"), Attributes=wanted)["QueueUrl"]
        )


@pytest.fixture
def make(sqs: Any, new_name: NewName) -> QueueMaker:
    return QueueMaker(sqs, new_name)


@pytest.fixture
def queue(make: QueueMaker) -> SqsQueue:
    return make()


@pytest.fixture
def fifo(make: QueueMaker) -> SqsQueue:
    return make.fifo()


@pytest.fixture
def make_json(service: RunningService, new_name: NewName) -> QueueMaker:
    """For what takes long and has nothing to do with the protocol."""
    return QueueMaker(service.client(), new_name)


@pytest.fixture
def make_live(live: RunningService, new_name: NewName) -> QueueMaker:
    """Queues in real time; in one protocol, because waiting is the same in both."""
    return QueueMaker(live.client(), new_name)
