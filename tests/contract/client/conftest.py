"""Both clients, each against a real server with each store."""

from collections.abc import Callable, Iterator

import pytest

from rockdove.client import Client
from tests.support.server import Server
from tests.support.service import RunningService, Services
from tests.unit.client.caller import KINDS, caller

Start = Callable[[str], RunningService]


@pytest.fixture
def start(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Start]:
    """`start("sqlite")` is a service without accounts, in real time; it ends with the test."""
    started = Services(tmp_path_factory.mktemp)
    yield lambda store: started(store, real_time=True)
    assert started.close() == [], "an event loop had something to complain of"


@pytest.fixture(params=KINDS)
def kind(request: pytest.FixtureRequest) -> str:
    return str(request.param)


@pytest.fixture
def client(kind: str, service: Server) -> Iterator[Client]:
    with caller(kind, service.endpoint) as client:
        yield client


@pytest.fixture
def queue(client: Client, new_name: Callable[..., str]) -> str:
    """The name of a new standard queue."""
    name = new_name()
    client.create_queue(name)
    return name


@pytest.fixture
def fifo(client: Client, new_name: Callable[..., str]) -> str:
    """The name of a new FIFO queue."""
    name = new_name(".fifo")
    client.create_queue(name, attributes={"FifoQueue": "true"})
    return name
