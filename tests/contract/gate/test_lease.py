"""Leases and publishing between accounts: each operation goes by the permission of what it does to messages."""

import json
import time
from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from typing import Any

import pytest

from rockdove.client import Client, Credentials
from rockdove.core.errors import Fault
from tests.contract.gate.conftest import NewName, Tenant
from tests.support.sqs_queue import SqsQueue

# Every operation, and the actions of policies that it goes by.
OPERATIONS: dict[str, tuple[set[str], Callable[[Client, str], Any]]] = {
    "LeaseBatch": ({"ReceiveMessage"}, lambda client, url: client.lease_batch(url, "reader", 0, 0)),
    "AckThrough": ({"DeleteMessage", "ReceiveMessage"}, lambda client, url: client.ack_through(url, "reader")),
    "ReleaseConsumer": (
        {"ChangeMessageVisibility", "ReceiveMessage"},
        lambda client, url: client.release_consumer(url, "reader"),
    ),
    "ListLeases": ({"GetQueueAttributes"}, lambda client, url: client.list_leases(url)),
    "PublishOnce": ({"SendMessage"}, lambda client, url: client.publish_once(url, "app", 0, 0, "first", ["sent"])),
}
ACTIONS = {action for actions, _ in OPERATIONS.values() for action in actions} | {"PurgeQueue"}


def _client(tenant: Tenant) -> Client:
    return Client(tenant.service.endpoint, credentials=Credentials(tenant.made.access_key, tenant.made.secret))


def _share(queue: SqsQueue, tenant: Tenant, actions: set[str]) -> None:
    statement = {
        "Effect": "Allow",
        "Principal": {"AWS": tenant.arn},
        "Action": [f"sqs:{action}" for action in sorted(actions)],
        "Resource": queue.arn,
    }
    queue.set(Policy=json.dumps({"Version": "2012-10-17", "Statement": [statement]}))


def _refusal(act: Callable[[Client, str], Any], client: Client, url: str) -> str:
    with pytest.raises(Fault) as caught:
        act(client, url)
    return caught.value.code


@pytest.mark.parametrize("operation", OPERATIONS)
def test_each_goes_by_its_permissions(
    alice: Tenant, bob: Tenant, carol: Tenant, root: Tenant, new_name: NewName, operation: str
) -> None:
    queue = alice.queue(new_name())
    queue.send_all("a", "b")
    actions, act = OPERATIONS[operation]
    with _client(alice) as owner:
        owner.lease_batch(queue.url, "reader", 1, 0, limit=1)
    with _client(bob) as guest, _client(carol) as other, _client(root) as administrator:
        for client in (guest, other, administrator):
            assert _refusal(act, client, queue.url) == "AccessDenied"
        for action in actions:
            _share(queue, bob, ACTIONS - {action})
            assert _refusal(act, guest, queue.url) == "AccessDenied"
        assert queue.counts() == (1, 1, 0), "nothing has happened so far"
        _share(queue, bob, actions)
        act(guest, queue.url)
        assert _refusal(act, other, queue.url) == "AccessDenied"


def test_the_same_names_at_two_accounts_are_two(alice: Tenant, bob: Tenant, new_name: NewName) -> None:
    name = new_name()
    with _client(alice) as one, _client(bob) as two:
        for tenant, client, body in ((alice, one, "hers"), (bob, two, "his")):
            url = tenant.queue(name).url
            assert client.publish_once(url, "app", 0, 0, "first", [body]).published
            assert [message.body for message in client.lease_batch(url, "reader", 0, 0).messages] == [body]
        assert one.ack_through(name, "reader").messages == 1
        assert [lease.messages for lease in two.list_leases(name).leases] == [1]


def test_an_application_of_another_account_is_another_one(alice: Tenant, bob: Tenant, new_name: NewName) -> None:
    """Bob may send, and no more: he cannot have Alice's batch taken for published, or for too old, or add to it."""
    queue = alice.queue(new_name())
    _share(queue, bob, {"SendMessage"})
    with _client(alice) as owner, _client(bob) as guest:
        assert guest.publish_once(queue.url, "app", 1, 0, "first", ["his"]).published
        guest.publish_once(queue.url, "app", 2, 0, "first", ["staged by him"], final=False)
        assert guest.publish_once(queue.url, "app", 1_000_000, 0, "first", ["his, too"]).published
        assert owner.publish_once(queue.url, "app", 1, 0, "first", ["hers"]).published
        assert owner.publish_once(queue.url, "app", 2, 0, "first", ["hers, too"]).published
        assert not owner.publish_once(queue.url, "app", 1, 0, "second", ["again"]).published
        assert not guest.publish_once(queue.url, "app", 1_000_000, 0, "second", ["again"]).published
    assert sorted(queue.bodies()) == ["hers", "hers, too", "his", "his, too"]


def test_who_waits_when_the_permission_is_taken_away_leases_nothing(
    alice: Tenant, bob: Tenant, new_name: NewName
) -> None:
    queue = alice.queue(new_name())
    _share(queue, bob, {"ReceiveMessage"})
    broker = alice.service.service.broker
    with _client(bob) as guest, _client(alice) as owner, ThreadPoolExecutor(1) as aside:
        waiting = aside.submit(guest.lease_batch, queue.url, "reader", 0, 0, wait_s=20)
        while not broker.context.waiting.number:
            time.sleep(0.01)
        queue.set(Policy="")
        queue.send("not for bob")
        with pytest.raises(Fault) as caught:
            waiting.result(25)
        assert caught.value.code == "AccessDenied"
        assert owner.list_leases(queue.url).leases == []
    assert queue.counts() == (1, 0, 0)
