"""Metrics of a service with accounts: who may read them, and whose queues are whose."""

import time
from dataclasses import replace

import pytest

from tests.contract.gate.conftest import NewName, Tenant
from tests.contract.gate.test_signature import send, signed
from tests.support.metrics import Scrape
from tests.support.service import RunningService
from tests.support.signing import Plan, by_url


def page() -> Plan:
    """From elsewhere, as far as the service can know."""
    return Plan("GET", "/metrics", {"X-Forwarded-For": "192.0.2.1"})


def test_an_administrator_may_read_them(guarded: RunningService, root: Tenant) -> None:
    assert send(guarded, signed(root, page())).status == 200


def test_a_presigned_url_is_as_good_as_a_header(guarded: RunningService, alice: Tenant) -> None:
    plan = Plan("GET", "/metrics", {"Host": f"127.0.0.1:{guarded.port}", **page().headers})
    wire = by_url(plan, alice.made.access_key, alice.made.secret, time.time())
    assert send(guarded, replace(plan, target=wire.target)).status == 200
    assert send(guarded, replace(plan, target=wire.target.replace("Expires=60", "Expires=61"))).status == 401


def test_an_account_sees_its_own_queues(
    guarded: RunningService, root: Tenant, alice: Tenant, bob: Tenant, new_name: NewName
) -> None:
    name = new_name()
    for tenant, number in ((root, 1), (alice, 2), (bob, 3)):
        tenant.queue(name).send_all(*"abc"[:number])
    text = send(guarded, signed(alice, page())).text
    assert Scrape(text).messages(f"{alice.id}/{name}") == (2, 0, 0)
    assert bob.id not in text
    assert all(f'queue="{alice.id}/' in line for line in text.splitlines() if not line.startswith("#"))


def test_who_does_not_sign_sees_nothing(guarded: RunningService) -> None:
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
