"""Clients that take more than they may: each gets a clear answer, and its neighbour does not notice."""

from collections.abc import Callable, Iterator
from typing import Any

import pytest

from rockdove.server.limit import Limits
from tests.support.raw import Web, Wire
from tests.support.service import RunningService, Services

Start = Callable[..., RunningService]
Dial = Callable[[RunningService], Wire]


@pytest.fixture
def start(tmp_path_factory: pytest.TempPathFactory, environment: None) -> Iterator[Start]:
    """`start(max_connections=3)` serves with such limits, in real time; `settings` may hold others than limits."""
    started = Services(tmp_path_factory.mktemp)

    def begin(settings: dict[str, Any] | None = None, /, store: str = "memory", **limits: Any) -> RunningService:
        return started(store, real_time=True, limits=Limits(**limits), **(settings or {}))

    yield begin
    assert started.close() == [], "an event loop had something to complain of"


@pytest.fixture
def dial() -> Iterator[Dial]:
    """A bare connection to a service, closed at the end."""
    made: list[Wire] = []

    def connect(service: RunningService) -> Wire:
        made.append(Wire(service.port))
        return made[-1]

    yield connect
    for wire in made:
        wire.close()


@pytest.fixture
def web() -> Iterator[Callable[[RunningService], Web]]:
    made: list[Web] = []

    def connect(service: RunningService) -> Web:
        made.append(Web(service.port))
        return made[-1]

    yield connect
    for one in made:
        one.close()


def held_bytes(service: RunningService) -> int:
    """What the service keeps in memory for what clients have not finished."""

    async def look() -> int:
        return service.service.guard.held_bytes

    return service.run(look())
