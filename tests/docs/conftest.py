"""Pages are read several at a time: they mostly wait, and each has a service and a folder of its own."""

import os
from collections.abc import Callable, Iterator
from concurrent.futures import Future, ThreadPoolExecutor

import pytest

from tests.docs import reader
from tests.docs.need import missing
from tests.docs.page import Page

AT_ONCE = 3

Read = Callable[[Page], None]


@pytest.fixture(scope="session")
def read(request: pytest.FixtureRequest, tmp_path_factory: pytest.TempPathFactory, environment: None) -> Iterator[Read]:
    """`read(page)` returns when all of the page was done as it says; fails where it went another way."""
    pool = ThreadPoolExecutor(AT_ONCE)
    readings: dict[str, Future[None]] = {}

    def begin(page: Page) -> Future[None]:
        if page.name not in readings:
            readings[page.name] = pool.submit(reader.read, page, tmp_path_factory.mktemp("page"))
        return readings[page.name]

    # The pages with most to do first. With xdist each worker has only some of the tests, and knows them one by one.
    if "PYTEST_XDIST_WORKER" not in os.environ:
        for page in sorted(_wanted(request.session), key=lambda page: -page.text.count("\n$ ")):
            if not missing(page):
                begin(page)
    yield lambda page: begin(page).result()
    pool.shutdown(cancel_futures=True)


def _wanted(session: pytest.Session) -> list[Page]:
    """The pages of all tests that are going to be run."""
    tests = [item for item in session.items if isinstance(item, pytest.Function) and "read" in item.fixturenames]
    return [page for test in tests if isinstance(page := test.callspec.params["page"], Page)]
