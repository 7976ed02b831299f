"""A queue of a real service, and a client for asyncio."""

from collections.abc import Callable, Iterator
from typing import Any

import pytest

from rockdove.client import Client
from tests.support.server import ServerFactory


@pytest.fixture
def endpoint(server: ServerFactory) -> str:
    return server.shared().endpoint


@pytest.fixture
def client(endpoint: str) -> Iterator[Any]:
    with Client(endpoint) as client:
        yield client


@pytest.fixture
def queue(client: Client, new_name: Callable[..., str]) -> str:
    """The name of a new standard queue."""
    name = new_name()
    client.create_queue(name)
    return name
