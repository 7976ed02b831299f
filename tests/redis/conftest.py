"""Services on real Redis servers of their own, which tests kill, stop and start."""

from collections.abc import Iterator
from pathlib import Path

import pytest

from tests.support.redis import RedisServers
from tests.support.store import Bench


@pytest.fixture
def servers(tmp_path: Path) -> Iterator[RedisServers]:
    """Three of them."""
    made = RedisServers(3, tmp_path / "redis")
    made.start()
    yield made
    made.kill()


@pytest.fixture
def bench(tmp_path: Path) -> Iterator[Bench]:
    """A store on servers that all tests of this process share."""
    made = Bench("redis", tmp_path)
    yield made
    made.close()
