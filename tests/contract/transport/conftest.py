"""Services with TLS, and those that let web pages in."""

from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import pytest

from tests.support.certificate import Authority
from tests.support.service import RunningService, Services

Start = Callable[..., RunningService]


@pytest.fixture
def start(tmp_path_factory: pytest.TempPathFactory, environment: None) -> Iterator[Start]:
    """`start(trust_proxy=True)` serves with such settings, in real time."""
    started = Services(tmp_path_factory.mktemp)
    yield lambda **settings: started("memory", real_time=True, **settings)
    assert started.close() == [], "an event loop had something to complain of"


@pytest.fixture
def authority(tmp_path: Path) -> Authority:
    """Has issued a first certificate."""
    made = Authority(tmp_path)
    made.issue()
    return made


@pytest.fixture
def start_tls(start: Start, authority: Authority) -> Start:
    def begin(**settings: Any) -> RunningService:
        return start(tls_cert=authority.cert, tls_key=authority.key, **settings)

    return begin
