"""/health and /ready: whether the process lives, and whether it takes work."""

import apsw
import pytest

from rockdove.store.sqlite.store import SqliteStore
from tests.support.metrics import scrape
from tests.support.raw import Web
from tests.support.service import RunningService, Services


@pytest.fixture
def sqlite(services: Services) -> RunningService:
    return services("sqlite")


def fail_once(service: RunningService) -> None:
    """One transaction that the disk refuses."""

    def refuse(db: apsw.Connection) -> None:
        raise apsw.ReadOnlyError("attempt to write\na readonly database")

    async def fail() -> None:
        store = service.service.store
        assert isinstance(store, SqliteStore)
        store.writer.call(refuse, lambda outcome: None)

    service.run(fail())


def test_ready(web: Web) -> None:
    reply = web.request("GET", "/ready")
    assert (reply.status, reply.text) == (200, "ok\n")


def test_not_ready_while_changes_fail_and_ready_again(sqlite: RunningService) -> None:
    web = Web(sqlite.port)
    url = web.create("q")
    fail_once(sqlite)
    while (reply := web.request("GET", "/ready")).status == 200:
        pass
    assert (reply.status, reply.text.count("\n")) == (503, 1)
    assert reply.text.endswith("attempt to write a readonly database\n")
    assert web.request("GET", "/health").status == 200
    assert web.call("SendMessage", {"QueueUrl": url, "MessageBody": "x"}).status == 200
    assert web.request("GET", "/ready").status == 200
    assert scrape(sqlite.port)("rockdove_store_trouble") == 0
    assert scrape(sqlite.port)("rockdove_store_failed_batches_total") == 1
    web.close()


def test_others_are_told_the_state_but_not_the_reason(sqlite: RunningService) -> None:
    web = Web(sqlite.port)
    fail_once(sqlite)
    while (reply := web.request("GET", "/ready", headers={"X-Forwarded-For": "192.0.2.1"})).status == 200:
        pass
    assert (reply.status, reply.text) == (503, "the store takes no changes\n")
    web.close()


def test_not_ready_while_stopping(services: Services, store: str) -> None:
    service = services(store)
    web = Web(service.port)
    assert web.request("GET", "/ready").status == 200

    async def begin() -> None:
        for each in service.services:
            each.pages.stopping = True

    service.run(begin())
    reply = web.request("GET", "/ready")
    assert (reply.status, reply.text) == (503, "stopping\n")
    assert web.request("GET", "/health").status == 200
    web.close()
