"""Faults of a service in one process, and of one in several."""

from collections.abc import Iterator

import pytest

from tests.support import server

# Tests of these modules start services, and run in both modes.
BOTH = frozenset(
    f"test_{name}"
    for name in ("kill", "kill_lease", "stop", "log", "full", "full_rows", "folder", "fuzz", "topic", "trace")
)
MODES = (0, 2)


def pytest_generate_tests(metafunc: pytest.Metafunc) -> None:
    if metafunc.module.__name__.rpartition(".")[2] in BOTH:
        ids = [f"workers={mode}" for mode in MODES]
        metafunc.parametrize("workers", MODES, indirect=True, scope="module", ids=ids)


@pytest.fixture(scope="module", autouse=True)
def workers(request: pytest.FixtureRequest) -> Iterator[int | None]:
    """How many front-ends services get that are started without a word of it; None: what they take by themselves."""
    before, server.workers = server.workers, getattr(request, "param", None)
    yield server.workers
    server.workers = before
