"""What a service has recorded is looked at after it has stopped."""

from collections.abc import Iterator

import pytest

from rockdove.server import service


@pytest.fixture(scope="session", autouse=True)
def patience() -> Iterator[None]:
    """A service that stops does not wait for its trace for long. Here the trace is all that counts."""
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(service, "ALONE_S", service.StopTimes(3.0, 60.0, 60.0))
        yield
