"""The exceptions of JMS for what the service refuses, and the keys of accounts."""

import json
import subprocess
from collections.abc import Callable
from dataclasses import dataclass

import pytest

from tests.jms.conftest import Start
from tests.support.dialect import client
from tests.support.environment import isolated
from tests.support.server import COMMAND, ServerFactory
from tests.support.sqs_queue import SqsQueue

_TIMEOUT_S = 60


MISSING = "InvalidDestinationException AWS.SimpleQueueService.NonExistentQueue"


@dataclass(frozen=True)
class Guarded:
    """A service with accounts: what programs of two of them have in their environment, and a queue of the first."""

    endpoint: str
    ann: dict[str, str]
    bob: dict[str, str]
    queue: SqsQueue


def _add(name: str, endpoint: str, keys: dict[str, str]) -> tuple[str, dict[str, str]]:
    """The account's id and keys."""
    command = [*COMMAND, "account", "add", name, "--endpoint", endpoint, "--json"]
    environment = isolated() | keys
    made = subprocess.run(command, capture_output=True, text=True, timeout=_TIMEOUT_S, check=True, env=environment)
    key = json.loads(made.stdout)
    return key["account_id"], {"AWS_ACCESS_KEY_ID": key["access_key"], "AWS_SECRET_ACCESS_KEY": key["secret_key"]}


@pytest.fixture(scope="module")
def guarded(server: ServerFactory) -> Guarded:
    """Bob may look for ann's queue, and do nothing else with it."""
    endpoint = server().endpoint
    _, ann = _add("ann", endpoint, {})
    bob_id, bob = _add("bob", endpoint, ann)
    sqs = client("json", endpoint, ann["AWS_ACCESS_KEY_ID"], ann["AWS_SECRET_ACCESS_KEY"])
    queue = SqsQueue(sqs, sqs.create_queue(QueueName="orders")["QueueUrl"])
    sqs.add_permission(QueueUrl=queue.url, Label="look", AWSAccountIds=[bob_id], Actions=["GetQueueUrl"])
    return Guarded(endpoint, ann, bob, queue)


def test_a_queue_that_does_not_exist_is_an_invalid_destination(start: Start, new_name: Callable[..., str]) -> None:
    assert start("refused", new_name()).report() == {"own": [MISSING], "first account's": [MISSING]}


def test_an_account_s_key_sends_and_receives(start: Start, guarded: Guarded) -> None:
    start("send", guarded.queue.name, guarded.endpoint, **guarded.ann).report()
    assert guarded.queue.counts() == (1, 0, 0)
    seen = start("receive", guarded.queue.name, guarded.endpoint, **guarded.ann).report()
    assert seen["city"] == ["Zürich String"]
    assert guarded.queue.counts() == (0, 0, 0)


def test_a_key_that_nobody_has_is_a_security_exception(start: Start, guarded: Guarded) -> None:
    keys = guarded.ann | {"AWS_ACCESS_KEY_ID": "RDAKNOBODY0000000000"}
    seen = start("refused", guarded.queue.name, guarded.endpoint, **keys).report()
    error = "JMSSecurityException InvalidClientTokenId"
    assert seen == {"own": [error], "first account's": [error]}
    assert guarded.queue.counts() == (0, 0, 0)


def test_a_wrong_secret_is_an_exception_with_the_service_s_code(start: Start, guarded: Guarded) -> None:
    keys = guarded.ann | {"AWS_SECRET_ACCESS_KEY": "wrong"}
    seen = start("refused", guarded.queue.name, guarded.endpoint, **keys).report()
    # The library does not count this code of SQS among those of security.
    error = "JMSException SignatureDoesNotMatch"
    assert seen == {"own": [error], "first account's": [error]}
    assert guarded.queue.counts() == (0, 0, 0)


def test_what_an_account_may_not_do_is_a_security_exception(start: Start, guarded: Guarded) -> None:
    seen = start("refused", guarded.queue.name, guarded.endpoint, **guarded.bob).report()
    assert seen == {"own": [MISSING], "first account's": ["JMSSecurityException AccessDenied"]}
    assert guarded.queue.counts() == (0, 0, 0)
