"""One process of a workload: its share of the senders and receivers, each a task on one event loop."""

import asyncio
import resource
import signal
from collections.abc import Sequence
from contextlib import AsyncExitStack
from multiprocessing.connection import Connection

import msgspec
import uvloop

from rockdove.client import AsyncClient
from rockdove.core.clock import Clock, SystemClock
from rockdove.workload.board import Board
from rockdove.workload.caller import Caller
from rockdove.workload.crowd import first
from rockdove.workload.error import Trouble, trouble_of
from rockdove.workload.fault import Dice, generator
from rockdove.workload.job import Job
from rockdove.workload.journal import Journal
from rockdove.workload.receiver import Receiver
from rockdove.workload.sender import Sender
from rockdove.workload.tracing import Tracing
from rockdove.workload.workload import Thread, share

# How soon a flag on the board is noticed.
_LOOK_S = 0.01


def main(job: Job, board: Board, pipe: Connection) -> None:
    """Runs in a new process; hands over its notes, and the trouble that ended it if there was any."""
    # A terminal sends it to all processes; the board tells when to stop.
    signal.signal(signal.SIGINT, signal.SIG_IGN)
    _open_many_files()
    journal = Journal(job.run)
    try:
        with Tracing(job.trace, f"bench-{job.run}-{job.process}") as tracing:
            journal.sink = tracing.sink
            with asyncio.Runner(loop_factory=uvloop.new_event_loop) as runner:
                trouble = runner.run(Worker(job, board, journal, SystemClock()).run())
        journal.notes.untraced = tracing.dropped
    except Exception as error:
        trouble = trouble_of(error, job.endpoints[0])
    if trouble is not None:
        board.stop()
    pipe.send_bytes(msgspec.msgpack.encode((journal.notes, trouble)))
    pipe.close()


def _open_many_files() -> None:
    """Every task has a connection of its own while it asks."""
    _, most = resource.getrlimit(resource.RLIMIT_NOFILE)
    resource.setrlimit(resource.RLIMIT_NOFILE, (most, most))


class Worker:
    """Works until its share is done, the board says stop, or something cannot be done at all."""

    def __init__(self, job: Job, board: Board, journal: Journal, clock: Clock) -> None:
        self._job = job
        self._board = board
        self._journal = journal
        self._clock = clock

    async def run(self) -> Trouble | None:
        async with AsyncExitStack() as stack:
            clients = [
                await stack.enter_async_context(AsyncClient(endpoint, region=self._job.region, retry=None))
                for endpoint in self._job.endpoints
            ]
            self._board.report_ready(self._job.process)
            while not self._board.is_going and not self._board.is_stopped:
                await asyncio.sleep(_LOOK_S)
            work = asyncio.create_task(self._work(clients))
            while not work.done() and not self._board.is_stopped:
                await asyncio.wait([work], timeout=_LOOK_S)
            return await self._end(work)

    async def _end(self, work: asyncio.Task[None]) -> Trouble | None:
        work.cancel()
        try:
            await work
        except asyncio.CancelledError:
            return None
        except ExceptionGroup as group:
            # One tells what the matter is; the others were asking at the same time.
            return trouble_of(first(group), self._job.endpoints[0])
        return None

    async def _work(self, clients: Sequence[AsyncClient]) -> None:
        load, process = self._job.workload, self._job.process

        def client(thread: Thread) -> AsyncClient:
            return clients[(thread.queue + thread.number) % len(clients)]

        async with asyncio.TaskGroup() as group:
            for thread in share(load.queues, load.senders, process, load.processes):
                group.create_task(self._send(client(thread), thread))
            for thread in share(load.queues, load.receivers, process, load.processes):
                group.create_task(self._receive(client(thread), thread))

    async def _send(self, client: AsyncClient, thread: Thread) -> None:
        load, process, board = self._job.workload, self._job.process, self._board
        rng = generator(load.seed, "send", thread)
        caller = Caller(Dice(load.faults, rng), self._journal, self._clock, load.patience_s)
        sender = Sender(client, caller, self._journal, self._job.places[thread.queue], thread.number, self._job.run)
        await sender.work(load, rng, lambda: board.send(process, thread.queue))
        board.finish(process, thread.queue)

    async def _receive(self, client: AsyncClient, thread: Thread) -> None:
        load, process, board, queue = self._job.workload, self._job.process, self._board, thread.queue
        if not load.at_once:
            while board.totals()[2] < load.queues * load.senders:
                await asyncio.sleep(_LOOK_S)
        dice = Dice(load.faults, generator(load.seed, "receive", thread))
        caller = Caller(dice, self._journal, self._clock, load.patience_s)
        receiver = Receiver(client, caller, dice, self._journal, self._job.places[queue], thread.number)
        await receiver.work(
            load,
            lambda: board.finished(queue) == load.senders,
            lambda: board.deleted(queue) >= board.sent(queue),
            lambda: board.delete(process, queue),
        )
