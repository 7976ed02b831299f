"""Copies of Redis servers: with `?replicas=1` a change counts when one copy has it, too."""

import json
from collections.abc import Iterator
from functools import partial
from pathlib import Path
from typing import cast

import pytest
from botocore.exceptions import ClientError

from rockdove.workload.redis import start_all, url_of
from tests.redis.test_service import create, drain, status_of_send, take_all, until
from tests.support.redis import RedisServer
from tests.support.server import ServerFactory


def is_copying(copy: RedisServer) -> bool:
    return b"master_link_status:up" in cast(bytes, copy.say("INFO", "replication"))


@pytest.fixture
def pair(tmp_path: Path) -> Iterator[tuple[RedisServer, RedisServer]]:
    """A server and its copy."""
    first, copy = RedisServer(tmp_path / "first"), RedisServer(tmp_path / "copy")
    first.begin()
    first.wait()
    copy.begin("--replicaof", "127.0.0.1", str(first.port))
    copy.wait()
    until(partial(is_copying, copy))
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
    until(partial(is_copying, copy))
    assert take_all(sqs, url, sent) >= sent


def test_what_nobody_tells_is_not_acknowledged(server: ServerFactory, pair: tuple[RedisServer, RedisServer]) -> None:
    """The server may refuse to wait for its copies."""
    first, _ = pair
    service = server("--workers", "0", store=f"redis://{first.endpoint}?replicas=1")
    sqs = service.client()
    url = create(sqs, 1)
    first.say("ACL", "SETUSER", "default", "-wait")
    with pytest.raises(ClientError) as caught:
        sqs.send_message(QueueUrl=url, MessageBody="a")
    assert caught.value.response["Error"]["Code"] == "ServiceInterrupted"
    first.say("ACL", "SETUSER", "default", "+wait")
    sqs.send_message(QueueUrl=url, MessageBody="b")


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


def test_receives_go_on_without_the_copy_and_sends_do_not(
    server: ServerFactory, pair: tuple[RedisServer, RedisServer]
) -> None:
    first, copy = pair
    service = server("--workers", "0", store=f"redis://{first.endpoint}?replicas=1")
    sqs = service.client()
    dead = create(sqs, 1, "dead")
    arn = sqs.get_queue_attributes(QueueUrl=dead, AttributeNames=["QueueArn"])["Attributes"]["QueueArn"]
    url = create(sqs, 2)
    redrive = json.dumps({"deadLetterTargetArn": arn, "maxReceiveCount": 1})
    sqs.set_queue_attributes(QueueUrl=url, Attributes={"RedrivePolicy": redrive})
    sent = {str(number) for number in range(10)}
    for body in sent:
        sqs.send_message(QueueUrl=url, MessageBody=body)
    copy.kill()
    # One may have an unknown outcome. Then it is known that the copy is away, and nothing is taken.
    statuses = [status_of_send(sqs, url) for _ in range(3)]
    assert statuses == [503, 503, 503]
    assert "0 of 1 copies follow it" in service.process.err.read_text()
    # What is received is delivered, and not only counted.
    assert drain(sqs, url) >= sent
    service.stop()
    # It starts, too.
    service.start()
    assert status_of_send(service.client(), url) == 503
    copy.begin("--replicaof", "127.0.0.1", str(first.port))
    copy.wait()
    until(lambda: status_of_send(service.client(), url) == 200)


def test_sends_go_to_a_server_that_has_its_copy(server: ServerFactory, tmp_path: Path) -> None:
    firsts = [RedisServer(tmp_path / f"first-{at}") for at in range(2)]
    copies = [RedisServer(tmp_path / f"copy-{at}") for at in range(2)]
    start_all(firsts)
    for first, copy in zip(firsts, copies, strict=True):
        copy.begin("--replicaof", "127.0.0.1", str(first.port))
    for copy in copies:
        copy.wait()
        until(partial(is_copying, copy))
    try:
        service = server("--workers", "0", store=f"{url_of(firsts)}?replicas=1")
        sqs = service.client()
        url = create(sqs, 4)
        copies[0].kill()
        # The first one that meets it has an unknown outcome.
        until(lambda: status_of_send(sqs, url) == 503)
        assert [status_of_send(sqs, url) for _ in range(20)] == [200] * 20
        # One that is stopped as well is found out, as ever.
        firsts[0].pause()
        until(lambda: f"{firsts[0].endpoint} cannot be used: it does not answer" in service.process.err.read_text())
        assert sqs.receive_message(QueueUrl=url)["Messages"]
    finally:
        for each in (*firsts, *copies):
            each.kill()
