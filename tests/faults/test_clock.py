"""The clock is set an hour forth and back: nothing is lost, and nothing stands still for an hour because of it."""

import json
import random
import threading
import time
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from tests.support.raw import Web
from tests.support.server import STORES
from tests.support.service import RunningService

HOUR_S = 3600
PATIENCE_S = 120


@pytest.fixture(params=STORES)
def service(request: pytest.FixtureRequest, tmp_path: Path) -> Iterator[RunningService]:
    service = RunningService(tmp_path, request.param)
    yield service
    service.close()
    assert service.complaints == []


@pytest.fixture
def web(service: RunningService) -> Iterator[Web]:
    web = Web(service.port)
    yield web
    web.close()


def call(web: Web, operation: str, **content: Any) -> Any:
    reply = web.call(operation, content)
    assert reply.status == 200, reply
    return reply.json if reply.body else {}


def receive(web: Web, url: str, **options: Any) -> list[dict[str, Any]]:
    found: list[dict[str, Any]] = call(web, "ReceiveMessage", QueueUrl=url, MaxNumberOfMessages=10, **options).get(
        "Messages", []
    )
    return found


def delete(web: Web, url: str, messages: list[dict[str, Any]]) -> None:
    for message in messages:
        call(web, "DeleteMessage", QueueUrl=url, ReceiptHandle=message["ReceiptHandle"])


@pytest.mark.parametrize("fifo", [False, True])
def test_nothing_is_lost(service: RunningService, web: Web, rng: random.Random, fifo: bool) -> None:
    url = web.create("q.fifo" if fifo else "q", **({"FifoQueue": "true"} if fifo else {}))
    sent, got = set[str](), set[str]()
    for number in range(300):
        body = str(number)
        group = {"MessageGroupId": f"g{number % 5}", "MessageDeduplicationId": body} if fifo else {}
        delay = {} if fifo else {"DelaySeconds": rng.choice([0, 0, 900])}
        call(web, "SendMessage", QueueUrl=url, MessageBody=body, **group, **delay)
        sent.add(body)
        if rng.random() < 0.2:
            service.advance(rng.choice([HOUR_S, -HOUR_S, 40, 1]))
        if rng.random() < 0.3:
            found = receive(web, url)
            assert not {message["Body"] for message in found} & got, "deleted, and back"
            if rng.random() < 0.7:
                delete(web, url, found)
                got |= {message["Body"] for message in found}
        if rng.random() < 0.02 and service.store == "sqlite":
            web.close()
            service.restart()
            web.__init__(service.port)  # type: ignore[misc]
    # Past every jump, timeout and delay.
    for _ in range(300):
        service.advance(HOUR_S)
        found = receive(web, url)
        delete(web, url, found)
        got |= {message["Body"] for message in found}
        if got == sent:
            break
    assert got == sent


def test_early_by_the_jump_and_no_more(service: RunningService, web: Web) -> None:
    url = web.create("q", VisibilityTimeout=str(2 * HOUR_S))
    call(web, "SendMessage", QueueUrl=url, MessageBody="a")
    assert len(receive(web, url)) == 1
    service.advance(HOUR_S)
    assert receive(web, url) == []
    service.advance(HOUR_S - 1)
    assert receive(web, url) == []
    service.advance(1)
    assert len(receive(web, url)) == 1


def test_what_is_sent_after_a_jump_back_is_received_at_once(service: RunningService, web: Web) -> None:
    url = web.create("q")
    call(web, "SendMessage", QueueUrl=url, MessageBody="before")
    service.advance(-HOUR_S)
    call(web, "SendMessage", QueueUrl=url, MessageBody="after")
    found = [message["Body"] for message in receive(web, url)]
    assert "after" in found
    service.advance(HOUR_S)
    assert {"before", "after"} == {*found, *(message["Body"] for message in receive(web, url))}


def test_retention_counts_by_the_clock(service: RunningService, web: Web) -> None:
    url = web.create("q", MessageRetentionPeriod=str(4 * HOUR_S))
    call(web, "SendMessage", QueueUrl=url, MessageBody="a")
    for jump in (HOUR_S, -HOUR_S, HOUR_S, HOUR_S, -HOUR_S):
        service.advance(jump)
        service.sweep()
    assert [message["Body"] for message in receive(web, url, VisibilityTimeout=0)] == ["a"]
    service.advance(4 * HOUR_S)
    assert service.sweep() == 1


def test_cool_downs_end(service: RunningService, web: Web) -> None:
    url = web.create("q")
    call(web, "PurgeQueue", QueueUrl=url)
    assert web.call("PurgeQueue", {"QueueUrl": url}).status == 403
    service.advance(-HOUR_S)
    call(web, "PurgeQueue", QueueUrl=url)
    service.advance(HOUR_S)
    call(web, "DeleteQueue", QueueUrl=url)
    assert web.call("CreateQueue", {"QueueName": "q"}).status == 400
    service.advance(-HOUR_S)
    call(web, "CreateQueue", QueueName="q")


def test_deduplication_ends(service: RunningService, web: Web) -> None:
    url = web.create("q.fifo", FifoQueue="true")
    message = {"QueueUrl": url, "MessageBody": "a", "MessageGroupId": "g", "MessageDeduplicationId": "d"}
    first = call(web, "SendMessage", **message)
    assert call(web, "SendMessage", **message)["MessageId"] == first["MessageId"]
    service.advance(-HOUR_S)
    second = call(web, "SendMessage", **message)
    assert second["MessageId"] != first["MessageId"]
    assert call(web, "SendMessage", **message)["MessageId"] == second["MessageId"]


def test_a_long_poll_is_woken_and_ends(service: RunningService, web: Web) -> None:
    url = web.create("q")
    found: list[Any] = []

    def wait(seconds: int) -> None:
        other = Web(service.port, timeout_s=PATIENCE_S)
        found.append(receive(other, url, WaitTimeSeconds=seconds))
        other.close()

    for jump, number in ((HOUR_S, 1), (-HOUR_S, 2)):
        thread = threading.Thread(target=wait, args=(15,))
        thread.start()
        time.sleep(0.3)
        service.advance(jump)
        call(web, "SendMessage", QueueUrl=url, MessageBody=str(number))
        thread.join(PATIENCE_S)
        assert [message["Body"] for message in found[-1]] == [str(number)]
        delete(web, url, found[-1])
    thread = threading.Thread(target=wait, args=(1,))
    thread.start()
    time.sleep(0.3)
    service.advance(-HOUR_S)
    thread.join(PATIENCE_S)
    assert found[-1] == []


def test_a_move_task_goes_on(service: RunningService, web: Web) -> None:
    dead = web.create("dead")
    arn = "arn:aws:sqs:us-east-1:000000000000:dead"
    policy = json.dumps({"deadLetterTargetArn": arn, "maxReceiveCount": 1})
    live = web.create("live", RedrivePolicy=policy)
    for number in range(30):
        call(web, "SendMessage", QueueUrl=dead, MessageBody=str(number))
    other = "arn:aws:sqs:us-east-1:000000000000:live"
    call(web, "StartMessageMoveTask", SourceArn=arn, DestinationArn=other, MaxNumberOfMessagesPerSecond=10)
    for jump in (-HOUR_S, HOUR_S, HOUR_S):
        service.advance(jump)
        time.sleep(0.3)
    end = time.monotonic() + PATIENCE_S
    while call(web, "ListMessageMoveTasks", SourceArn=arn)["Results"][0]["Status"] != "COMPLETED":
        assert time.monotonic() < end
        time.sleep(0.1)
    got: set[str] = set()
    while found := receive(web, live):
        got |= {message["Body"] for message in found}
    assert got == {str(number) for number in range(30)}
