"""What a server uses when nothing happens: alone, and with thousands of long polls open."""

from __future__ import annotations

import asyncio
import resource
import time

import msgspec

from bench import process, swarm
from bench.call import create
from bench.connection import BODY, Connection, Refused, Reply, request
from bench.machine import Unfit
from bench.server import Server

WAIT_S = 20

# The last second of the wait is left alone: the polls begin to end there.
MARGIN_S = 1.0


class Polls(msgspec.Struct, frozen=True):
    """Long polls that hang: the server's share of a core over `window_s`, and how soon a send wakes one."""

    polls: int
    cpu_share: float
    window_s: float
    resident_bytes_per_poll: float
    wake_ms: float


def long_polls(server: Server, polls: int, name: str = "polls", attributes: dict[str, str] | None = None) -> Polls:
    """On a new queue with these attributes."""
    _allow(polls)
    queue_url = create(server.endpoint, name, attributes=attributes)
    process.settle(server.pid)
    return swarm.run(_hold(server, queue_url, polls))


def _allow(polls: int) -> None:
    """Lets this process open so many sockets; the server has to see to itself."""
    need = polls + 200
    soft, hard = resource.getrlimit(resource.RLIMIT_NOFILE)
    if hard != resource.RLIM_INFINITY and hard < need:
        raise Unfit(f"{polls} long polls need {need} open files, the limit is {hard}: ulimit -Hn {need}")
    if soft < need:
        resource.setrlimit(resource.RLIMIT_NOFILE, (need, hard))


async def _hold(server: Server, queue_url: str, polls: int) -> Polls:
    poll = request(server.endpoint, "ReceiveMessage", QueueUrl=queue_url, WaitTimeSeconds=WAIT_S)
    before = process.memory(server.pid).resident
    connections = [Connection(server.endpoint) for _ in range(polls)]
    try:
        await _open(connections)
        begin = time.monotonic()
        waiting = [asyncio.create_task(connection.send(poll)) for connection in connections]
        await asyncio.sleep(2)
        share, window_s = await _share(server.pid, begin + WAIT_S - MARGIN_S)
        resident = process.memory(server.pid).resident - before
        _still_waiting(waiting)
        wake_s = await _wake(server, queue_url, waiting)
    finally:
        for connection in connections:
            connection.close()
    await asyncio.gather(*waiting, return_exceptions=True)
    return Polls(polls, share, window_s, resident / polls, wake_s * 1e3)


async def _open(connections: list[Connection]) -> None:
    try:
        for begin in range(0, len(connections), 100):
            await asyncio.gather(*(connection.open() for connection in connections[begin : begin + 100]))
    except OSError as error:
        raise Refused(f"the server refuses {len(connections)} connections: {error}") from error


async def _share(pid: int, end: float) -> tuple[float, float]:
    begin, used = time.monotonic(), process.cpu_s(pid)
    await asyncio.sleep(min(10.0, end - begin))
    window_s = time.monotonic() - begin
    if window_s < 5:
        raise Refused(f"only {window_s:.1f} s were left of the wait once all polls were open")
    return (process.cpu_s(pid) - used) / window_s, window_s


def _still_waiting(waiting: list[asyncio.Task[Reply]]) -> None:
    ended = [task for task in waiting if task.done()]
    if ended:
        raise Refused(f"{len(ended)} of {len(waiting)} long polls ended early, one with {ended[0]}")


async def _wake(server: Server, queue_url: str, waiting: list[asyncio.Task[Reply]]) -> float:
    """Seconds from one send to the reply that has the message; others may be told that they came too late."""
    woken: dict[asyncio.Task[Reply], float] = {}
    for task in waiting:
        task.add_done_callback(lambda done: woken.update({done: time.monotonic()}))
    sender = Connection(server.endpoint)
    await sender.open()
    sent = time.monotonic()
    await sender.ask(request(server.endpoint, "SendMessage", QueueUrl=queue_url, MessageBody=BODY))
    await asyncio.sleep(MARGIN_S / 2)
    sender.close()
    served = [task for task in woken if swarm.decode_received(task.result().body).messages]
    if len(served) != 1:
        raise Refused(f"a send was to wake one long poll with its message, {len(served)} got it")
    return woken[served[0]] - sent
