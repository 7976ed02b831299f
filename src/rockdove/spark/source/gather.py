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
# Messages are invisible for at least so long, and are in the journal well before.
_VISIBILITY_S: Final = 300
_PATIENCE_S: Final = 60


class Received(Incoming, Protocol):
    """A message that can be deleted."""

    receipt_handle: str


def gather(
    client: Client, queue: str, most: int, wait_s: int, clock: Callable[[], float] = time.monotonic
) -> list[Received]:
    """Up to ``most`` messages, waiting for the first one; ends when a round of receives gives nothing."""
    at_once = 1 if queue.endswith(".fifo") else _AT_ONCE
    found: list[Received] = []
    end = clock() + _PATIENCE_S
    with ThreadPoolExecutor(at_once) as pool:
        while len(found) < most and clock() < end:
            wants = _rounds(most - len(found), at_once)
            # The first look waits, and so asks all servers of a service that has many; the others take what is there.
            asked = (
                [pool.submit(_receive, client, queue, want, 0) for want in wants]
                if found
                else [pool.submit(_receive, client, queue, wants[0], wait_s)]
            )
            got = [message for each in asked for message in each.result()]
            if not got:
                break
            found += got
    return found


def _receive(client: Client, queue: str, limit: int, wait_s: int) -> list[Received]:
    return list(client.receive(queue, limit=limit, wait_s=wait_s, visibility_s=_VISIBILITY_S))


def _rounds(rest: int, at_once: int) -> list[int]:
    return [min(MAX_RECEIVE, rest - place * MAX_RECEIVE) for place in range(min(at_once, -(-rest // MAX_RECEIVE)))]
