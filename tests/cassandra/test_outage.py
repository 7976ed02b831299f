"""Cassandra is gone altogether for half a minute: clients are told so, and the service goes on by itself afterwards."""

import time
from collections.abc import Callable, Iterator
from concurrent.futures import ThreadPoolExecutor
from contextlib import closing
from pathlib import Path
from typing import Any

import pytest
from botocore.exceptions import ClientError

from rockdove.workload.cassandra import CassandraNode
from tests.support.cassandra import JARS
from tests.support.raw import Web
from tests.support.server import ServerFactory

DOWN_S = 30
PATIENCE_S = 120
ONCE = {"total_max_attempts": 1}
GROUP = {"MessageGroupId": "g"}
DONE = "done"
# What clients are told when it was not done, and when nobody knows.
ADVICE = {"ServiceUnavailable": "try again", "ServiceInterrupted": "retry only"}


@pytest.fixture
def own_node(tmp_path: Path) -> Iterator[CassandraNode]:
    """One that this test may end."""
    node = CassandraNode(1, tmp_path / "node", JARS, "127.0.8", durable=True)
    try:
        node.start()
        yield node
    finally:
        node.kill()


def _outcome(call: Callable[[], object]) -> str:
    told: dict[str, Any] = {}
    try:
        call()
    except ClientError as error:
        told = error.response
    if not told:
        return DONE
    assert told["ResponseMetadata"]["HTTPStatusCode"] == 503
    code: str = told["Error"]["Code"]
    assert ADVICE[code] in told["Error"]["Message"].lower(), told
    return code


def _comes_back(web: Web) -> None:
    end_s = time.monotonic() + PATIENCE_S
    while (told := web.get("/ready")).status != 200:
        assert time.monotonic() < end_s, told.body
        time.sleep(0.2)


def test_cassandra_is_down_for_half_a_minute(own_node: CassandraNode, server: ServerFactory) -> None:
    service = server("--workers", "0", store=f"cassandra://{own_node.address}/outage")
    with closing(Web(service.port)) as web, closing(service.client(retries=ONCE, read_timeout=60)) as sqs:
        _check(own_node, web, sqs)
    assert "commitlog_sync" not in service.process.err.read_text()


def _check(own_node: CassandraNode, web: Web, sqs: Any) -> None:
    plain = sqs.create_queue(QueueName="plain")["QueueUrl"]
    fifo = sqs.create_queue(
        QueueName="jobs.fifo", Attributes={"FifoQueue": "true", "ContentBasedDeduplication": "true"}
    )["QueueUrl"]
    sent: dict[str, list[str]] = {plain: [], fifo: []}

    refused: set[str] = set()

    def send(url: str, body: str) -> str:
        more = GROUP if url == fifo else {}
        outcome = _outcome(lambda: sqs.send_message(QueueUrl=url, MessageBody=body, **more))
        if outcome == DONE:
            sent[url].append(body)
        elif outcome == "ServiceUnavailable":
            refused.add(body)
        return outcome

    for url in sent:
        assert send(url, "before") == DONE
    with ThreadPoolExecutor(1) as pool:
        empty = sqs.create_queue(QueueName="empty")["QueueUrl"]
        held = pool.submit(_outcome, lambda: sqs.receive_message(QueueUrl=empty, WaitTimeSeconds=20))
        own_node.kill()
        down_s, number = time.monotonic(), 0
        outcomes = set()
        while time.monotonic() < down_s + DOWN_S:
            for url in sent:
                outcomes.add(send(url, f"while down, {number}, {url}"))
            outcomes.add(_outcome(lambda: sqs.receive_message(QueueUrl=plain)))
            number += 1
        # What the service knows by itself it may still answer, but no send.
        assert "ServiceUnavailable" in outcomes
        assert sent == {plain: ["before"], fifo: ["before"]}
        told = web.get("/ready")
        assert told.status == 503
        assert "Cassandra" in told.body.decode()
        assert held.result() in (DONE, *ADVICE)
    own_node.start()
    _comes_back(web)
    for url in sent:
        assert send(url, "after") == DONE
        got: list[str] = []
        end_s = time.monotonic() + PATIENCE_S
        while not set(sent[url]) <= set(got):
            assert time.monotonic() < end_s, got
            messages = sqs.receive_message(QueueUrl=url, MaxNumberOfMessages=10, WaitTimeSeconds=1).get("Messages", [])
            for message in messages:
                got.append(message["Body"])
                sqs.delete_message(QueueUrl=url, ReceiptHandle=message["ReceiptHandle"])
        # Of others nobody knows.
        assert not refused & set(got)
