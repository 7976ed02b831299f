"""One browser for all tests, the services and consoles that they share, and pages that are watched."""

from collections.abc import Iterator

import pytest
from playwright.sync_api import Browser, Page, expect

from tests.support.chromium import PATIENCE_MS, Visits, started
from tests.support.site import Site

expect.set_options(timeout=PATIENCE_MS)


@pytest.fixture(scope="session")
def chromium(environment: None) -> Iterator[Browser]:
    with started() as browser:
        yield browser


@pytest.fixture(scope="session")
def site(tmp_path_factory: pytest.TempPathFactory, environment: None) -> Iterator[Site]:
    """Without accounts."""
    with Site(tmp_path_factory.mktemp("site")) as site:
        yield site


@pytest.fixture(scope="session")
def guarded(tmp_path_factory: pytest.TempPathFactory, environment: None) -> Iterator[Site]:
    """With accounts, of which ann is an administrator."""
    with Site(tmp_path_factory.mktemp("guarded"), "ann", "bob", "carol") as site:
        yield site


@pytest.fixture
def visits(chromium: Browser) -> Iterator[Visits]:
    visits = Visits(chromium)
    yield visits
    visits.close()


@pytest.fixture
def page(visits: Visits, site: Site) -> Page:
    """Of the console without accounts."""
    return visits.page(site.origin)
