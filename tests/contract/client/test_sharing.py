"""One client, many callers: threads, tasks, and calls that are given up."""

import asyncio
import threading
import time
from collections import Counter
from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor

import pytest

from rockdove.client import AsyncClient, Client, Retry, Unreachable
from tests.support.server import Server, ServerFactory

NewName = Callable[..., str]
THREADS = 8
EACH = 40


def test_eight_threads_share_a_client(service: Server, new_name: NewName) -> None:
    with Client(service.endpoint) as client:
        queue = client.create_queue(new_name())
        barrier = threading.Barrier(THREADS)

        def work(thread: int) -> list[str]:
            barrier.wait()
            got = []
            for number in range(EACH):
                client.send(queue, f"{thread}-{number}")
                for message in client.receive(queue, limit=2, visibility_s=600):
                    client.delete(queue, message.receipt_handle)
                    got.append(message.body)
            return got

        with ThreadPoolExecutor(THREADS) as pool:
            received = Counter(body for bodies in pool.map(work, range(THREADS)) for body in bodies)
        for message in client.receive(queue, limit=100):
            received[message.body] += 1
    assert received == Counter(f"{thread}-{number}" for thread in range(THREADS) for number in range(EACH))


def test_many_tasks_share_an_async_client(service: Server, new_name: NewName) -> None:
    async def main() -> list[str]:
        async with AsyncClient(service.endpoint) as client:
            queue = await client.create_queue(new_name())
            # Long polls first: a call that waits must not hold up another.
            polls = [asyncio.create_task(client.receive(queue, wait_s=20)) for _ in range(20)]
            await asyncio.gather(*[client.send(queue, str(number)) for number in range(20)])
            return [message.body for messages in await asyncio.gather(*polls) for message in messages]

    start = time.monotonic()
    assert sorted(asyncio.run(main()), key=int) == [str(number) for number in range(20)]
    assert time.monotonic() - start < 15


def test_a_cancelled_long_poll_takes_no_message_along(service: Server, new_name: NewName) -> None:
    async def main() -> list[str]:
        async with AsyncClient(service.endpoint) as client:
            queue = await client.create_queue(new_name())
            poll = asyncio.create_task(client.receive(queue, wait_s=20))
            await asyncio.sleep(0.2)
            poll.cancel()
            with pytest.raises(asyncio.CancelledError):
                await poll
            await client.send(queue, "for somebody else")
            return [message.body for message in await client.receive(queue, wait_s=5)]

    assert asyncio.run(main()) == ["for somebody else"]


@pytest.mark.parametrize("retry", [None, Retry()])
def test_closing_leaves_no_connection_and_fails_calls_under_way(
    service: Server, new_name: NewName, retry: Retry | None
) -> None:
    async def main() -> None:
        client = AsyncClient(service.endpoint, retry=retry)
        queue = await client.create_queue(new_name())
        poll = asyncio.create_task(client.receive(queue, wait_s=20))
        await asyncio.sleep(0.2)
        await client.close()
        with pytest.raises(Unreachable):
            await poll
        with pytest.raises(Unreachable, match="this client is closed; make a new one"):
            await client.list_queues()
        assert not client._channels._open

    # Warnings are errors: a connection left open would be one.
    asyncio.run(main(), debug=True)


def test_a_restart_of_the_service_is_survived(server: ServerFactory, new_name: NewName) -> None:
    own = server()
    with Client(own.endpoint) as client:
        queue = client.create_queue(new_name())
        client.send(queue, "before")
        own.kill()
        own.start()
        # The connection that is idle since before the restart is found out, and the message is sent once.
        client.send(queue, "after")
        assert [message.body for message in client.receive(queue, limit=10)] == ["before", "after"]
    own.stop()


def test_a_service_that_comes_late_is_found(server: ServerFactory, new_name: NewName) -> None:
    own = server(store="memory")
    own.stop()
    starter = threading.Timer(0.3, own.start)
    starter.start()
    try:
        with Client(own.endpoint, retry=Retry(attempts=60, base_s=0.1, max_s=0.5)) as client:
            assert client.create_queue(new_name())
    finally:
        starter.join()
        own.stop()
