"""Receives from any service that speaks SQS, several at a time."""

import time
from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from typing import Final, Protocol

from rockdove.client import Client
from rockdove.core.limits import MAX_RECEIVE
from rockdove.spark.source.column import Incoming

# Receives under way at a time; one on FIFO queues, for the order.
_AT_ONCE: Final = 8


class Received(Incoming, Protocol):
    """A message that can be deleted."""

    receipt_handle: str


def gather(
    client: Client, queue: str, most: int, wait_s: int, visibility_s: int, clock: Callable[[], float] = time.monotonic
) -> list[Received]:
    """Up to ``most`` messages, waiting for the first one; ends when a round of receives gives nothing.

    What was received first should not be visible again by then, so it also ends with half of that time.
    """
    at_once = 1 if queue.endswith(".fifo") else _AT_ONCE
    found: list[Received] = []
    end = clock() + wait_s + visibility_s / 2
    with ThreadPoolExecutor(at_once) as pool:
        while len(found) < most and clock() < end:
            wants = _rounds(most - len(found), at_once)
            # The first look waits, and so asks all servers of a service that has many; the others take what is there.
            asked = (
                [pool.submit(_receive, client, queue, want, 0, visibility_s) for want in wants]
                if found
                else [pool.submit(_receive, client, queue, wants[0], wait_s, visibility_s)]
            )
            got = [message for each in asked for message in each.result()]
            if not got:
                break
            found += got
    return found


def _receive(client: Client, queue: str, limit: int, wait_s: int, visibility_s: int) -> list[Received]:
    return list(client.receive(queue, limit=limit, wait_s=wait_s, visibility_s=visibility_s))


def _rounds(rest: int, at_once: int) -> list[int]:
    return [min(MAX_RECEIVE, rest - place * MAX_RECEIVE) for place in range(min(at_once, -(-rest // MAX_RECEIVE)))]
