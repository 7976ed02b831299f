"""Many boto3 calls at once: no message is lost, given to two, or left lying beside a receive that waits."""

import threading
import time
from collections.abc import Callable, Iterator
from concurrent.futures import ThreadPoolExecutor
from typing import Any

import pytest

from tests.support.receiving import counts
from tests.support.server import Server

PRODUCERS, BATCHES = 5, 40
CONSUMERS = 30
WAITING = 60
MESSAGES = PRODUCERS * BATCHES * 10

NewName = Callable[..., str]


def produce(sqs: Any, url: str, producer: int) -> None:
    for batch in range(BATCHES):
        bodies = [f"{producer}-{batch}-{number}" for number in range(10)]
        sent = sqs.send_message_batch(
            QueueUrl=url, Entries=[{"Id": str(number), "MessageBody": body} for number, body in enumerate(bodies)]
        )
        assert len(sent["Successful"]) == 10


def consume(sqs: Any, url: str, seen: list[str], enough: threading.Event) -> None:
    """Receives and deletes until all messages have been seen."""
    while not enough.is_set():
        messages = sqs.receive_message(QueueUrl=url, MaxNumberOfMessages=10, WaitTimeSeconds=2).get("Messages", [])
        if not messages:
            continue
        entries = [{"Id": str(n), "ReceiptHandle": message["ReceiptHandle"]} for n, message in enumerate(messages)]
        assert len(sqs.delete_message_batch(QueueUrl=url, Entries=entries)["Successful"]) == len(messages)
        seen.extend([message["Body"] for message in messages])
        if len(seen) >= MESSAGES:
            enough.set()


@pytest.fixture
def crowd(service: Server) -> Iterator[Any]:
    """A client for many threads, each with a connection of its own."""
    client = service.client(max_pool_connections=max(WAITING, CONSUMERS + PRODUCERS))
    yield client
    client.close()


def test_thirty_consumers_share_the_work(crowd: Any, new_name: NewName) -> None:
    url = crowd.create_queue(QueueName=new_name(), Attributes={"VisibilityTimeout": "120"})["QueueUrl"]
    seen: list[str] = []
    enough = threading.Event()
    timer = threading.Timer(60, enough.set)
    timer.start()
    with ThreadPoolExecutor(CONSUMERS + PRODUCERS) as pool:
        work = [pool.submit(consume, crowd, url, seen, enough) for _ in range(CONSUMERS)]
        work += [pool.submit(produce, crowd, url, producer) for producer in range(PRODUCERS)]
        for each in work:
            each.result()
    timer.cancel()
    assert sorted(seen) == sorted(f"{p}-{b}-{n}" for p in range(PRODUCERS) for b in range(BATCHES) for n in range(10))
    assert counts(crowd, url) == (0, 0, 0)


def test_every_delayed_message_wakes_its_long_poll(crowd: Any, new_name: NewName) -> None:
    urls = [crowd.create_queue(QueueName=new_name())["QueueUrl"] for _ in range(WAITING)]

    def wait_for_delayed(url: str) -> tuple[int, float]:
        """How many messages came, and after how long."""
        crowd.send_message(QueueUrl=url, MessageBody="later", DelaySeconds=1)
        began = time.monotonic()
        messages = crowd.receive_message(QueueUrl=url, WaitTimeSeconds=6).get("Messages", [])
        return len(messages), time.monotonic() - began

    with ThreadPoolExecutor(WAITING) as pool:
        results = list(pool.map(wait_for_delayed, urls))
    assert [result for result in results if result[0] != 1 or result[1] > 4] == []
