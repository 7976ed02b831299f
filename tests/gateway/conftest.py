"""Gateways of both kinds in front of real services."""

from collections.abc import Callable, Iterator

import pytest

from rockdove.client import Client
from tests.support.gateway import Gateway
from tests.support.server import Server, ServerFactory

Open = Callable[..., Gateway]


@pytest.fixture(scope="session")
def service(server: ServerFactory) -> Server:
    """One that lets anybody in."""
    return server.shared()


@pytest.fixture(scope="session")
def open_gateway(tmp_path_factory: pytest.TempPathFactory, service: Server) -> Iterator[Open]:
    """`open_gateway("mqtt", "--map", "a/+=b")` starts one for the shared service, or for another endpoint."""
    made: list[Gateway] = []

    def start(kind: str, *arguments: str, endpoint: str | None = None) -> Gateway:
        gateway = Gateway(tmp_path_factory.mktemp("gateway"), kind, endpoint or service.endpoint, *arguments)
        made.append(gateway)
        return gateway

    yield start
    for gateway in made:
        if gateway.process.exit_code is None:
            gateway.kill()


@pytest.fixture(scope="session")
def mqtt(open_gateway: Open) -> Gateway:
    return open_gateway(
        "mqtt", "--map", "devices/+/data=data", "--map", "rooms/+/#=room-{1}", "--commands", "devices/+/do=do-{1}"
    )


@pytest.fixture(scope="session")
def coap(open_gateway: Open) -> Gateway:
    return open_gateway("coap", "--map", "devices/+/data=data")


@pytest.fixture
def client(service: Server) -> Iterator[Client]:
    with Client(service.endpoint) as client:
        yield client


@pytest.fixture
def queue(client: Client, new_name: Callable[..., str]) -> str:
    name = new_name()
    client.create_queue(name)
    return name
