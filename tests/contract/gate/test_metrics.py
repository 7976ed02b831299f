"""Metrics of a service with accounts: who may read them, and whose queues are whose."""

import pytest

from tests.contract.gate.conftest import NewName, Tenant
from tests.contract.gate.test_signature import send, signed
from tests.support.metrics import Scrape
from tests.support.service import RunningService
from tests.support.signing import Plan


def page() -> Plan:
    """From elsewhere, as far as the service can know."""
    return Plan("GET", "/metrics", {"X-Forwarded-For": "192.0.2.1"})


def test_an_administrator_may_read_them(guarded: RunningService, root: Tenant) -> None:
    assert send(guarded, signed(root, page())).status == 200


def test_others_may_not_because_they_tell_of_all_queues(guarded: RunningService, alice: Tenant) -> None:
    assert send(guarded, signed(alice, page())).status == 401
    assert send(guarded, page()).status == 401


@pytest.mark.parametrize("path", ["/health", "/ready"])
def test_the_bare_state_is_for_everybody(guarded: RunningService, root: Tenant, path: str) -> None:
    assert send(guarded, Plan("GET", path, {"X-Forwarded-For": "192.0.2.1"})).status == 200


def test_queues_of_the_same_name_have_series_of_their_own(
    guarded: RunningService, root: Tenant, alice: Tenant, new_name: NewName
) -> None:
    name = new_name()
    root.queue(name).send_all("a", "b")
    alice.queue(name).send_all("c")
    seen = Scrape(send(guarded, signed(root, page())).text)
    assert root.id == "000000000000"
    assert seen.messages(name) == (2, 0, 0)
    assert seen.messages(f"{alice.id}/{name}") == (1, 0, 0)
