"""Fixtures for all tests: real servers, clients for them, and an environment without the machine's own settings."""

import itertools
import os
import random
import uuid
from collections.abc import Callable, Generator, Iterator
from typing import Any

import pytest
from hypothesis import settings

from tests.support.environment import AWS_SETTINGS, foreign_names
from tests.support.server import STORES, Server, ServerFactory

# How long an example takes is no part of a test: the first may compile a loop.
settings.register_profile("rockdove", deadline=None)
settings.load_profile("rockdove")

# Set it to repeat a run of a test that throws dice: it names its seed when it fails.
SEED = "TEST_SEED"

_factory = pytest.StashKey[ServerFactory]()


@pytest.fixture(scope="session", autouse=True)
def environment() -> Iterator[None]:
    with pytest.MonkeyPatch.context() as patch:
        for name in foreign_names(os.environ):
            patch.delenv(name)
        for name, value in AWS_SETTINGS.items():
            patch.setenv(name, value)
        yield


@pytest.fixture(scope="session")
def server(
    request: pytest.FixtureRequest, tmp_path_factory: pytest.TempPathFactory, environment: None
) -> Iterator[ServerFactory]:
    """`server("--region", "eu-west-1", store="memory")` starts one of its own; `server.shared()` gives one for all."""
    factory = ServerFactory(tmp_path_factory.mktemp)
    request.config.stash[_factory] = factory
    yield factory
    factory.close()


@pytest.fixture(scope="session", params=STORES)
def service(request: pytest.FixtureRequest, server: ServerFactory) -> Server:
    """A running server that tests share, once for each store."""
    return server.shared(store=request.param)


@pytest.fixture(scope="session")
def sqs(service: Server) -> Iterator[Any]:
    """A boto3 client of the shared server."""
    client = service.client()
    yield client
    client.close()


@pytest.fixture
def new_name() -> Callable[..., str]:
    """Queue names that no other test has: `new_name()`, `new_name(".fifo")`."""
    prefix = f"q-{uuid.uuid4().hex[:12]}"
    numbers = itertools.count()
    return lambda suffix="": f"{prefix}-{next(numbers)}{suffix}"


@pytest.fixture
def rng() -> random.Random:
    """Chance that can be repeated."""
    seed = int(os.environ.get(SEED) or random.SystemRandom().randrange(1 << 32))
    print(f"to repeat: {SEED}={seed}")
    return random.Random(seed)


@pytest.hookimpl(wrapper=True)
def pytest_runtest_makereport(
    item: pytest.Item, call: pytest.CallInfo[None]
) -> Generator[None, pytest.TestReport, pytest.TestReport]:
    report = yield
    factory = item.config.stash.get(_factory, None)
    if report.failed and factory is not None and "server" in getattr(item, "fixturenames", ()):
        report.sections.append(("rockdove serve", factory.output()))
    return report
