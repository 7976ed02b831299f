"""Workers against a real service."""

import asyncio
import contextlib
import math
import sys
import threading
import time
from collections.abc import Awaitable, Callable, Iterator
from itertools import pairwise
from typing import Any

import pytest

from rockdove.client import AsyncClient, Client, Message
from rockdove.core.errors import QueueDoesNotExist
from rockdove.elastic import Handler, Later
from rockdove.elastic.worker.worker import Manners, Worker

Scenario = Callable[[Worker], Awaitable[None]]
QUICK = Manners(concurrency=4, visibility_s=2, first_backoff_s=0.5, grace_s=10)


def work(endpoint: str, queue: str, function: Any, scenario: Scenario, manners: Manners = QUICK) -> Worker:
    """A worker that is at work while the scenario goes on, and is then told to end."""

    async def run() -> Worker:
        async with AsyncClient(endpoint) as client:
            worker = Worker(client, queue, Handler(function), manners)
            running = asyncio.ensure_future(worker.run())
            try:
                await asyncio.wait_for(scenario(worker), 60)
            finally:
                worker.drain()
                await asyncio.wait_for(running, 60)
            return worker

    return asyncio.run(run())


async def until(true: Callable[[], bool]) -> None:
    while not true():
        await asyncio.sleep(0.02)


def counts(client: Client, queue: str) -> tuple[int, int]:
    told = client.attributes(queue, ["All"])
    return int(told["ApproximateNumberOfMessages"]), int(told["ApproximateNumberOfMessagesNotVisible"])


@pytest.mark.parametrize("is_async", [True, False], ids=["async", "sync"])
def test_what_is_done_is_deleted(endpoint: str, client: Client, queue: str, is_async: bool) -> None:
    got: list[str] = []

    async def slow(body: str) -> None:
        await asyncio.sleep(0.01)
        got.append(body)

    def plain(body: str) -> None:
        got.append(body)

    client.send_batch(queue, [str(at) for at in range(10)])
    worker = work(endpoint, queue, slow if is_async else plain, lambda worker: until(lambda: len(got) == 10))
    assert sorted(got) == sorted(map(str, range(10)))
    assert (worker.tally.done, worker.tally.failed) == (10, 0)
    assert counts(client, queue) == (0, 0)


def test_it_works_on_some_at_a_time_and_no_more(endpoint: str, client: Client, queue: str) -> None:
    running = most = done = 0

    async def slow(body: str) -> None:
        nonlocal running, most, done
        running += 1
        most = max(most, running)
        await asyncio.sleep(0.1)
        running -= 1
        done += 1

    client.send_batch(queue, [str(at) for at in range(10)])
    work(endpoint, queue, slow, lambda worker: until(lambda: done == 10))
    assert most == 4


def test_what_fails_comes_back_later_each_time(endpoint: str, client: Client, queue: str) -> None:
    times: list[float] = []

    def fail(message: Message) -> None:
        times.append(time.monotonic())
        assert message.attributes["ApproximateReceiveCount"] == str(len(times))
        if len(times) < 4:
            raise ValueError("not yet")

    client.send(queue, "x")
    worker = work(endpoint, queue, fail, lambda worker: until(lambda: len(times) == 4))
    assert (worker.tally.done, worker.tally.failed) == (1, 3)
    first, second, third = (after - before for before, after in pairwise(times))
    # Whole seconds, as the service counts them: 1, 1 and 1 to 2.
    assert min(first, second, third) > 0.9
    assert counts(client, queue) == (0, 0)


@pytest.mark.parametrize(
    "what", ["stops", "cancels", "exits", "interrupts", "gives a generator", "says later than ever"]
)
def test_however_it_fails_the_message_comes_back(endpoint: str, client: Client, queue: str, what: str) -> None:
    """And nobody else waits for it."""
    seen: list[str] = []

    def generate() -> Iterator[int]:
        yield 1

    def plain(body: str) -> Any:
        seen.append(body)
        if body != "bad":
            return None
        if what == "exits":
            sys.exit(3)
        if what == "interrupts":
            raise KeyboardInterrupt
        if what == "gives a generator":
            return generate()
        if what == "says later than ever":
            raise Later(math.inf)
        return next(iter([]))

    async def cancels(body: str) -> None:
        seen.append(body)
        if body == "bad":
            raise asyncio.CancelledError

    client.send(queue, "bad")
    client.send(queue, "good")
    worker = work(
        endpoint, queue, cancels if what == "cancels" else plain, lambda worker: until(lambda: seen.count("bad") == 2)
    )
    assert seen.count("good") == 1
    assert worker.tally.done == 1
    assert worker.tally.failed >= 1


def test_what_is_done_is_deleted_also_if_its_physical_queue_leaves(endpoint: str, client: Client, queue: str) -> None:
    client.set_attributes(queue, {"RockdovePhysicalQueues": "2"})
    url = client.queue_url(queue)
    done: list[str] = []

    async def slow(body: str) -> None:
        await asyncio.to_thread(client.set_attributes, queue, {"RockdovePhysicalQueues": "1"})
        done.append(body)

    client.send(f"{url}~1", "x")
    with contextlib.suppress(QueueDoesNotExist):
        work(endpoint, f"{url}~1", slow, lambda worker: until(lambda: bool(done)))
    assert counts(client, queue) == (0, 0)


def test_it_may_say_when_a_message_comes_back(endpoint: str, client: Client, queue: str) -> None:
    times: list[float] = []

    async def later(body: str) -> None:
        times.append(time.monotonic())
        if len(times) == 1:
            raise Later(2)

    client.send(queue, "x")
    work(endpoint, queue, later, lambda worker: until(lambda: len(times) == 2))
    assert times[1] - times[0] > 1.8


@pytest.mark.parametrize("is_async", [True, False], ids=["async", "sync"])
def test_a_long_job_keeps_its_message_hidden(endpoint: str, client: Client, queue: str, is_async: bool) -> None:
    calls: list[str] = []
    done: list[str] = []

    async def slow(body: str) -> None:
        calls.append(body)
        await asyncio.sleep(4.5)
        done.append(body)

    def blocks(body: str) -> None:
        calls.append(body)
        time.sleep(4.5)
        done.append(body)

    client.send(queue, "x")
    # The message is hidden for 2 s at a time.
    work(endpoint, queue, slow if is_async else blocks, lambda worker: until(lambda: bool(done)))
    assert calls == ["x"]
    assert counts(client, queue) == (0, 0)


def test_an_async_function_that_blocks_is_told(
    endpoint: str, client: Client, queue: str, caplog: pytest.LogCaptureFixture
) -> None:
    """Its message could not be kept hidden."""
    done: list[str] = []

    async def blocks(body: str) -> None:
        time.sleep(1.1 if body == "long" else 0)
        done.append(body)

    client.send(queue, "short")
    client.send(queue, "long")
    manners = Manners(visibility_s=1)
    work(endpoint, queue, blocks, lambda worker: until(lambda: len(done) == 2), manners)
    assert caplog.text.count("was not kept hidden for the last") == 1
    assert "blocks, make it a plain function" in caplog.text


def test_when_it_drains_it_finishes_what_it_has(endpoint: str, client: Client, queue: str) -> None:
    begun, done = [], []

    async def slow(body: str) -> None:
        begun.append(body)
        await asyncio.sleep(0.5)
        done.append(body)

    client.send_batch(queue, [str(at) for at in range(10)])
    worker = work(endpoint, queue, slow, lambda worker: until(lambda: len(begun) >= 4))
    assert sorted(done) == sorted(begun)
    assert worker.tally.done == len(done)
    assert counts(client, queue) == (10 - len(done), 0)


def test_what_takes_too_long_when_it_drains_is_given_back(endpoint: str, client: Client, queue: str) -> None:
    begun: list[str] = []

    async def endless(body: str) -> None:
        begun.append(body)
        await asyncio.sleep(1_000)

    client.send(queue, "x")
    manners = Manners(visibility_s=600, grace_s=0.1)
    work(endpoint, queue, endless, lambda worker: until(lambda: bool(begun)), manners)
    assert counts(client, queue) == (1, 0)


def test_told_twice_it_gives_back_at_once(endpoint: str, client: Client, queue: str) -> None:
    begun: list[str] = []

    async def endless(body: str) -> None:
        begun.append(body)
        await asyncio.sleep(1_000)

    async def scenario(worker: Worker) -> None:
        await until(lambda: bool(begun))
        worker.drain()

    client.send(queue, "x")
    work(endpoint, queue, endless, scenario, Manners(visibility_s=600, grace_s=600))
    assert counts(client, queue) == (1, 0)


def test_a_held_receive_takes_nothing_along(endpoint: str, client: Client, queue: str) -> None:
    async def scenario(worker: Worker) -> None:
        await until(lambda: worker.is_ready)
        # By now it waits for a message.
        await asyncio.sleep(0.3)

    work(endpoint, queue, lambda body: None, scenario)
    client.send(queue, "x")
    assert counts(client, queue) == (1, 0)


def test_it_ends_when_its_queue_is_gone(endpoint: str, client: Client, queue: str) -> None:
    async def scenario(worker: Worker) -> None:
        await until(lambda: worker.is_ready)
        client.delete_queue(queue)
        await asyncio.sleep(0.5)

    with pytest.raises(QueueDoesNotExist):
        work(endpoint, queue, lambda body: None, scenario)


def test_sync_handlers_run_beside_each_other(endpoint: str, client: Client, queue: str) -> None:
    barrier = threading.Barrier(4, timeout=20)

    def meet(body: str) -> None:
        barrier.wait()

    client.send_batch(queue, list("abcd"))
    worker = work(endpoint, queue, meet, lambda worker: until(lambda: worker.tally.done == 4))
    assert worker.tally.failed == 0
