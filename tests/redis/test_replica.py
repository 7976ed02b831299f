"""Copies of Redis servers: with `?replicas=1` a change counts when one copy has it, too."""

from collections.abc import Iterator
from pathlib import Path
from typing import cast

import pytest
from botocore.exceptions import ClientError

from tests.redis.test_service import create, take_all, until
from tests.support.redis import RedisServer
from tests.support.server import ServerFactory


@pytest.fixture
def pair(tmp_path: Path) -> Iterator[tuple[RedisServer, RedisServer]]:
    """A server and its copy."""
    first, copy = RedisServer(tmp_path / "first"), RedisServer(tmp_path / "copy")
    first.begin()
    first.wait()
    copy.begin("--replicaof", "127.0.0.1", str(first.port))
    copy.wait()
    until(lambda: b"master_link_status:up" in cast(bytes, copy.say("INFO", "replication")))
    yield first, copy
    first.kill()
    copy.kill()


def test_a_change_counts_when_a_copy_has_it(server: ServerFactory, pair: tuple[RedisServer, RedisServer]) -> None:
    first, copy = pair
    service = server("--workers", "0", store=f"redis://{first.endpoint}?replicas=1")
    sqs = service.client()
    url = create(sqs, 2)
    sent = {str(number) for number in range(10)}
    for body in sent:
        sqs.send_message(QueueUrl=url, MessageBody=body)
    copy.kill()
    with pytest.raises(ClientError) as caught:
        sqs.send_message(QueueUrl=url, MessageBody="alone")
    # The server has it, and nobody knows whether it survives.
    assert caught.value.response["Error"]["Code"] == "ServiceInterrupted"
    copy.begin("--replicaof", "127.0.0.1", str(first.port))
    copy.wait()
    until(lambda: b"master_link_status:up" in cast(bytes, copy.say("INFO", "replication")))
    assert take_all(sqs, url, sent) >= sent


def test_the_copy_has_all_that_was_acknowledged(server: ServerFactory, pair: tuple[RedisServer, RedisServer]) -> None:
    first, copy = pair
    service = server("--workers", "0", store=f"redis://{first.endpoint}?replicas=1")
    sqs = service.client()
    url = create(sqs, 3)
    sent = {str(number) for number in range(30)}
    for body in sent:
        sqs.send_message(QueueUrl=url, MessageBody=body)
    first.kill()
    service.stop()
    copy.say("REPLICAOF", "NO", "ONE")
    again = server("--workers", "0", store=f"redis://{copy.endpoint}")
    assert take_all(again.client(), url, sent) == sent
