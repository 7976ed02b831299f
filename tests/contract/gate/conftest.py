"""A service with accounts, over HTTP: every test here runs on every store, and with `protocol` in both protocols."""

from collections.abc import Callable, Iterator
from dataclasses import dataclass, field
from typing import Any

import pytest

from rockdove.broker.accounts import NewKey
from tests.support.dialect import PROTOCOLS, client
from tests.support.server import SERVICES
from tests.support.service import RunningService, Services
from tests.support.sqs_queue import SqsQueue

NewName = Callable[..., str]


@dataclass
class Tenant:
    """An account of the service, and clients that sign with its key."""

    service: RunningService
    made: NewKey
    _clients: dict[str, Any] = field(default_factory=dict)

    @property
    def id(self) -> str:
        return self.made.account.id

    @property
    def arn(self) -> str:
        return f"arn:aws:iam::{self.id}:root"

    def sqs(self, protocol: str = "json") -> Any:
        if protocol not in self._clients:
            endpoint = self.service.endpoint
            self._clients[protocol] = client(protocol, endpoint, self.made.access_key, self.made.secret)
        return self._clients[protocol]

    def queue(self, name: str, protocol: str = "json", **attributes: str) -> SqsQueue:
        """A new one."""
        sqs = self.sqs(protocol)
        return SqsQueue(sqs, sqs.create_queue(QueueName=name, Attributes=attributes)["QueueUrl"])

    def view(self, queue: SqsQueue, protocol: str = "json") -> SqsQueue:
        """Another account's queue, as this one sees it."""
        return SqsQueue(self.sqs(protocol), queue.url)

    def close(self) -> None:
        for made in self._clients.values():
            made.close()


def pytest_generate_tests(metafunc: pytest.Metafunc) -> None:
    if "store" in metafunc.fixturenames:
        metafunc.parametrize("store", SERVICES, indirect=True, scope="session")
    if "protocol" in metafunc.fixturenames:
        metafunc.parametrize("protocol", PROTOCOLS)


@pytest.fixture(scope="session")
def store(request: pytest.FixtureRequest) -> str:
    name: str = request.param
    return name


@pytest.fixture(scope="session")
def services(tmp_path_factory: pytest.TempPathFactory, environment: None) -> Iterator[Services]:
    started = Services(tmp_path_factory.mktemp)
    yield started
    assert started.close() == [], "an event loop had something to complain of"


@pytest.fixture(scope="session")
def guarded(services: Services, store: str) -> RunningService:
    """Its clock is the machine's, as botocore's is."""
    return services.shared(store, real_time=True)


@pytest.fixture(scope="session")
def registry() -> Iterator[dict[RunningService, list[Tenant]]]:
    """The tenants of each service that is running."""
    known: dict[RunningService, list[Tenant]] = {}
    yield known
    for tenants in known.values():
        for tenant in tenants:
            tenant.close()


@pytest.fixture(scope="session")
def tenants(guarded: RunningService, registry: dict[RunningService, list[Tenant]]) -> list[Tenant]:
    # Asked for anew whenever the order of tests goes from store to store, and a service keeps its accounts.
    if guarded not in registry:
        names = ("root", "alice", "bob", "carol")
        registry[guarded] = [Tenant(guarded, guarded.add_account(name)) for name in names]
    return registry[guarded]


@pytest.fixture
def root(tenants: list[Tenant]) -> Tenant:
    """An administrator."""
    return tenants[0]


@pytest.fixture
def alice(tenants: list[Tenant]) -> Tenant:
    return tenants[1]


@pytest.fixture
def bob(tenants: list[Tenant]) -> Tenant:
    return tenants[2]


@pytest.fixture
def carol(tenants: list[Tenant]) -> Tenant:
    return tenants[3]
