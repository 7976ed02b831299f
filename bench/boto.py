"""Plain producers and consumers of a queue: boto3 in processes of its own, in batches of ten as SQS allows."""

from __future__ import annotations

import multiprocessing
import time
from collections.abc import Callable
from multiprocessing.queues import Queue
from multiprocessing.synchronize import Barrier
from typing import Any

from bench.error import BenchError
from rockdove.core.limits import MAX_BATCH_ENTRIES, MAX_RECEIVE

# Processes that are started anew, as a user's are.
_SPAWN = multiprocessing.get_context("spawn")
# Longer than any round takes.
_PATIENCE_S = 600

# Given a client, the URL of a queue, a share of the messages and their size, it tells how many it has handled.
Work = Callable[[Any, str, range, int], int]


def body(number: int, size: int) -> str:
    return str(number).rjust(size, "x")


def send(client: Any, url: str, numbers: range, size: int) -> int:
    """A producer that sends its share of the messages."""
    for first in range(0, len(numbers), MAX_BATCH_ENTRIES):
        some = numbers[first : first + MAX_BATCH_ENTRIES]
        entries = [{"Id": str(place), "MessageBody": body(number, size)} for place, number in enumerate(some)]
        answer = client.send_message_batch(QueueUrl=url, Entries=entries)
        if len(answer["Successful"]) != len(entries):
            raise BenchError(f"messages were not taken: {answer['Failed']}")
    return len(numbers)


def consume(client: Any, url: str, numbers: range, size: int) -> int:
    """A consumer that receives and deletes until there is nothing left, whoever's share it was."""
    done = 0
    while messages := client.receive_message(QueueUrl=url, MaxNumberOfMessages=MAX_RECEIVE).get("Messages"):
        entries = [
            {"Id": str(place), "ReceiptHandle": message["ReceiptHandle"]} for place, message in enumerate(messages)
        ]
        answer = client.delete_message_batch(QueueUrl=url, Entries=entries)
        if len(answer["Successful"]) != len(entries):
            raise BenchError(f"messages were not deleted: {answer['Failed']}")
        done += len(messages)
    return done


def _run(
    work: Work,
    endpoint: str,
    url: str,
    numbers: range,
    size: int,
    ready: Barrier,
    done: Queue[tuple[float, float, int]],
) -> None:
    import boto3

    client: Any = boto3.client(
        "sqs", endpoint_url=endpoint, region_name="us-east-1", aws_access_key_id="bench", aws_secret_access_key="bench"
    )
    client.get_queue_attributes(QueueUrl=url, AttributeNames=["QueueArn"])
    ready.wait(_PATIENCE_S)
    began = time.monotonic()
    count = work(client, url, numbers, size)
    done.put((began, time.monotonic(), count))


def together(work: Work, endpoint: str, url: str, messages: int, size: int, processes: int) -> float:
    """Seconds from when all processes have a client that is connected until the last one is done."""
    ready = _SPAWN.Barrier(processes)
    done: Queue[tuple[float, float, int]] = _SPAWN.Queue()
    shares = [range(place * messages // processes, (place + 1) * messages // processes) for place in range(processes)]
    children = [
        _SPAWN.Process(target=_run, args=(work, endpoint, url, share, size, ready, done), daemon=True)
        for share in shares
    ]
    for child in children:
        child.start()
    spans = [done.get(timeout=_PATIENCE_S) for _ in children]
    for child in children:
        child.join()
    handled = sum(count for _, _, count in spans)
    if handled != messages:
        raise BenchError(f"boto3 has handled {handled:,} messages, not {messages:,}")
    return max(end for _, end, _ in spans) - min(begin for begin, _, _ in spans)
