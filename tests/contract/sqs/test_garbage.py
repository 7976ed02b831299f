"""What requests leave behind is freed at once: circles would wait for the garbage collector, which stops everybody."""

import gc
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from typing import Any

import pytest

from rockdove.server.http import Connection
from rockdove.store.common.turns import ClaimTurns
from rockdove.store.remote.frame import Framed
from tests.support.raw import Web
from tests.support.service import RunningService


@contextmanager
def circles() -> Iterator[list[Any]]:
    """Objects of ours that were left in circles, known at the end.

    But for connections, of clients and between processes: each is one with its parts, and one of an earlier test may
    end meanwhile.
    """
    found: list[Any] = []
    gc.collect()
    gc.disable()
    try:
        yield found
        gc.set_debug(gc.DEBUG_SAVEALL)
        gc.collect()
        ours = [left for left in gc.garbage if type(left).__module__.startswith("rockdove.")]
        found += [left for left in ours if not isinstance(left, Connection | Framed | ClaimTurns)]
    finally:
        gc.set_debug(0)
        gc.garbage.clear()
        gc.enable()


def call(web: Web, operation: str, **members: Any) -> Any:
    reply = web.call(operation, members)
    assert reply.status == 200, reply
    return reply.json if reply.body else None


def use(web: Web, url: str, **sent: str) -> None:
    """Messages come in and go out, one by one and in batches."""
    call(web, "SendMessage", QueueUrl=url, MessageBody="a", **sent)
    entries = [{"Id": str(n), "MessageBody": f"b{n}", **sent} for n in range(10)]
    call(web, "SendMessageBatch", QueueUrl=url, Entries=entries)
    (one,) = call(web, "ReceiveMessage", QueueUrl=url)["Messages"]
    call(web, "ChangeMessageVisibility", QueueUrl=url, ReceiptHandle=one["ReceiptHandle"], VisibilityTimeout=60)
    call(web, "DeleteMessage", QueueUrl=url, ReceiptHandle=one["ReceiptHandle"])
    while received := call(web, "ReceiveMessage", QueueUrl=url, MaxNumberOfMessages=10).get("Messages"):
        gone = [{"Id": str(at), "ReceiptHandle": each["ReceiptHandle"]} for at, each in enumerate(received)]
        call(web, "DeleteMessageBatch", QueueUrl=url, Entries=gone)


@pytest.mark.parametrize("sent", [{}, {"MessageGroupId": "g"}], ids=["plain", "grouped"])
def test_no_circles(web: Web, url: str, sent: dict[str, str]) -> None:
    use(web, url, **sent)
    with circles() as found:
        use(web, url, **sent)
    assert found == []


def test_no_circles_of_who_waits_for_a_message(live: RunningService, new_name: Callable[..., str]) -> None:
    """A long poll has a timer, a place among those who wait, and a connection that knows it."""
    web = Web(live.port)
    queue = web.create(new_name())
    with circles() as found:
        call(web, "SendMessage", QueueUrl=queue, MessageBody="a", DelaySeconds=1)
        (one,) = call(web, "ReceiveMessage", QueueUrl=queue, WaitTimeSeconds=20)["Messages"]
        call(web, "DeleteMessage", QueueUrl=queue, ReceiptHandle=one["ReceiptHandle"])
    web.close()
    assert found == []


@pytest.mark.parametrize("sent", [{}, {"MessageGroupId": "g"}], ids=["plain", "grouped"])
def test_no_circles_of_a_queue_that_was_used(web: Web, new_name: Callable[..., str], sent: dict[str, str]) -> None:
    """There may be very many, which are let go when nobody uses them."""
    queue = web.create(new_name())
    use(web, queue, **sent)
    with circles() as found:
        call(web, "DeleteQueue", QueueUrl=queue)
        # The last batch is let go when the next has come.
        web.create(new_name())
        web.create(new_name())
    assert found == []
