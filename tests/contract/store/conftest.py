"""Every test here runs on every store."""

from collections.abc import Iterator
from pathlib import Path

import pytest

from tests.support.store import DURABLE, STORES, Bench, Queue


def _bench(kind: str, folder: Path) -> Iterator[Bench]:
    bench = Bench(kind, folder)
    yield bench
    bench.close()


@pytest.fixture(params=STORES)
def bench(request: pytest.FixtureRequest, tmp_path: Path) -> Iterator[Bench]:
    yield from _bench(request.param, tmp_path)


@pytest.fixture(params=[kind for kind in STORES if kind in DURABLE])
def durable(request: pytest.FixtureRequest, tmp_path: Path) -> Iterator[Bench]:
    """Only the stores that outlive a crash."""
    yield from _bench(request.param, tmp_path)


@pytest.fixture
def queue(bench: Bench) -> Queue:
    return bench.queue()


@pytest.fixture
def fifo(bench: Bench) -> Queue:
    return bench.queue(fifo=True)
