"""A full disk, and requests that bring no message but keep a name: they cannot take the room that consumers need."""

from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import pytest

from tests.faults.test_full import drain, queue, send_until_full, small_service, wait_for_room
from tests.support.raw import Web
from tests.support.server import Server

SIZE_BYTES = 20 * 1024 * 1024
# More than there is room for: a request that keeps a name of full length takes about a kilobyte.
REQUESTS = 4_500
NAME_LENGTH = 256
# Of which each may get tags of three kilobytes.
QUEUES = 1_200


@pytest.fixture
def service(tmp_path: Path) -> Iterator[Server]:
    with small_service(tmp_path, SIZE_BYTES) as server:
        yield server


def name(number: int) -> str:
    return f"{number}-".ljust(NAME_LENGTH, "x")


def lease_nothing(url: str, number: int) -> tuple[str, dict[str, Any]]:
    return "Rockdove.LeaseBatch", {"QueueUrl": url, "Consumer": name(number), "Shard": 0, "Sequence": 0}


def acknowledge_nothing(url: str, number: int) -> tuple[str, dict[str, Any]]:
    return "Rockdove.AckThrough", {"QueueUrl": url, "Consumer": name(number), "Shard": 0, "Sequence": 0}


def acknowledge_shards(url: str, number: int) -> tuple[str, dict[str, Any]]:
    """Of a consumer that is known."""
    return "Rockdove.AckThrough", {"QueueUrl": url, "Consumer": name(0), "Shard": number, "Sequence": 0}


def lease_on(url: str, number: int) -> tuple[str, dict[str, Any]]:
    """By a consumer that is known, which never acknowledges."""
    return "Rockdove.LeaseBatch", {"QueueUrl": url, "Consumer": name(0), "Shard": 0, "Sequence": 1 + number}


def publish_nothing(url: str, number: int) -> tuple[str, dict[str, Any]]:
    final = {"Batch": 0, "Partition": 0, "Attempt": name(0), "Chunk": 0, "Final": True, "Entries": []}
    return "Rockdove.PublishOnce", {"QueueUrl": url, "Application": name(number), **final}


def create(url: str, number: int) -> tuple[str, dict[str, Any]]:
    tags = {f"{n}".ljust(128, "k"): "v" * 256 for n in range(50)}
    return "AmazonSQS.CreateQueue", {"QueueName": f"q{number}", "tags": tags}


Keeping = Callable[[str, int], tuple[str, dict[str, Any]]]


@pytest.mark.parametrize(
    "keeping", [lease_nothing, acknowledge_nothing, acknowledge_shards, lease_on, publish_nothing, create]
)
def test_names_do_not_take_the_room_of_consumers(service: Server, keeping: Keeping) -> None:
    sqs, web = service.client(), Web(service.port)
    url, other = queue(sqs), sqs.create_queue(QueueName="other")["QueueUrl"]
    assert web.call(*lease_nothing(other, 0)).status == 200
    sent = send_until_full(sqs, url)
    refused = 0
    for number in range(REQUESTS):
        reply = web.call(*keeping(other, number))
        if reply.status != 200:
            assert (reply.status, "disk is full" in reply.json["message"]) == (503, True)
            refused += 1
        if refused == 10:
            break
    web.close()
    assert refused or keeping is acknowledge_nothing
    found = drain(sqs, url, most=len(sent) // 2)
    service.kill()
    service.start()
    sqs = service.client()
    assert found | drain(sqs, url) == sent
    again = wait_for_room(sqs, url, 10_000)
    assert drain(sqs, url) == again
    assert service.stop() == 0


def test_records_of_many_queues_do_not_take_the_room_of_consumers(service: Server) -> None:
    sqs, web = service.client(), Web(service.port)
    url = queue(sqs)
    others = [sqs.create_queue(QueueName=f"other-{n}")["QueueUrl"] for n in range(QUEUES)]
    sent = send_until_full(sqs, url)
    tags = {f"{n}".ljust(128, "k"): "v" * 256 for n in range(8)}
    taken = [web.call("AmazonSQS.TagQueue", {"QueueUrl": other, "Tags": tags}).status for other in others]
    assert {200, 503} == set(taken)
    web.close()
    found = drain(sqs, url, most=len(sent) // 2)
    service.kill()
    service.start()
    sqs = service.client()
    assert found | drain(sqs, url) == sent
    assert service.stop() == 0
