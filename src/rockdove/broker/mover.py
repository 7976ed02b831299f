"""Does the work of message move tasks: each in one process at a time, and on after a restart."""

import asyncio
import contextlib
from functools import partial

from rockdove.broker.ask import PhysicalQueueUnavailable, ask, has_duty
from rockdove.broker.context import Context
from rockdove.broker.count import count
from rockdove.broker.deadletter import moved
from rockdove.broker.movetask import (
    CANCELLED,
    CANCELLING,
    COMPLETED,
    FAILED,
    RUNNING,
    MoveTasks,
    no_destination,
    no_resource,
)
from rockdove.broker.queue import Queue
from rockdove.broker.transfer import transfer
from rockdove.core.clock import SECOND_US
from rockdove.core.errors import Fault, ResourceNotFound, ServiceInterrupted, ServiceUnavailable
from rockdove.core.message import Entry
from rockdove.core.queue import MoveTask
from rockdove.store.base import Claimed, Counts, Physical, Want

# Messages moved at a time.
CHUNK = 100
# The same of bytes: they are one transaction, for which others wait.
MOVED_BYTES = 2 * 1024 * 1024
# For so long a message that is being moved is hidden; if the service is killed meanwhile, it is there again afterwards.
HIDDEN_US = 10 * SECOND_US
# For so long a process has a task to itself; it says so again with each chunk.
DUTY_S = 5.0
# Seconds between two looks for messages that a killed service had hidden.
LOOK_AGAIN_S = 0.5


class Mover:
    """Works on all tasks that are active."""

    def __init__(self, context: Context, tasks: MoveTasks) -> None:
        self._context = context
        self._directory = context.directory
        self._clock = context.clock
        self._tasks = tasks
        self._running: dict[str, asyncio.Task[None]] = {}
        # Set to end a pause.
        self._awake: dict[str, asyncio.Event] = {}
        self._closing = False
        # Until then, messages may be hidden that a task was moving when the service was killed.
        self._hidden_until_us = 0

    def start(self) -> None:
        """Go on with what was interrupted, and begin with what is new from now on."""
        self._hidden_until_us = self._clock.now_us() + HIDDEN_US
        self._tasks.on_change = self._changed
        for task in self._tasks.active():
            self._run(task)

    async def close(self) -> None:
        """Stop working after what is being moved just now; the rest goes on after the restart."""
        self._closing = True
        for awake in self._awake.values():
            awake.set()
        await asyncio.gather(*self._running.values(), return_exceptions=True)

    def _changed(self, task: MoveTask) -> None:
        if task.status == RUNNING and task.task_id not in self._running and not self._closing:
            self._run(task)
        elif task.status == CANCELLING and task.task_id in self._awake:
            self._awake[task.task_id].set()

    def _run(self, task: MoveTask) -> None:
        self._awake[task.task_id] = asyncio.Event()
        work = asyncio.get_running_loop().create_task(self._work(task))
        self._running[task.task_id] = work
        work.add_done_callback(lambda _: self._forget(task.task_id))

    def _forget(self, task_id: str) -> None:
        self._running.pop(task_id, None)
        self._awake.pop(task_id, None)

    def _status(self, task: MoveTask) -> str:
        """As it is now: somebody may have cancelled it."""
        now = self._tasks.get(task.task_id)
        return CANCELLING if now is None else now.status

    async def _work(self, task: MoveTask) -> None:
        """Until this process has finished it, or another one that uses the store, too."""
        while self._is_active(task) and not self._closing:
            # The disk may be full, or a server away: it goes on when there is room, or when the server is back.
            with contextlib.suppress(ServiceUnavailable, ServiceInterrupted):
                if await self._has_duty(task):
                    await self._work_alone(task)
            if self._is_active(task):
                await self._pause(task, LOOK_AGAIN_S)
                self._awake[task.task_id].clear()
        if self._context.store.duties is not None:
            self._context.store.duties.leave(_duty(task))

    def _is_active(self, task: MoveTask) -> bool:
        now = self._tasks.get(task.task_id)
        return now is not None and now.status in (RUNNING, CANCELLING)

    async def _has_duty(self, task: MoveTask) -> bool:
        return await has_duty(self._context.store, _duty(task), DUTY_S)

    async def _work_alone(self, task: MoveTask) -> None:
        known = self._tasks.get(task.task_id)
        progress = Progress(task.moved if known is None else known.moved)
        status, failure = None, None
        try:
            is_done = await self._move_all(task, progress)
            if self._status(task) == CANCELLING:
                status = CANCELLED
            elif is_done:
                status = COMPLETED
        except (ServiceUnavailable, ServiceInterrupted):
            raise
        except Fault as fault:
            status, failure = FAILED, fault.message
        # If the store fails, the task goes on after the next start.
        with contextlib.suppress(ServiceUnavailable):
            await self._tasks.save(task.task_id, progress.moved, status, failure)
            if not self._closing:
                await self._tasks.forget_old()

    async def _move_all(self, task: MoveTask, progress: "Progress") -> bool:
        """Whether nothing is left to move."""
        chunk = min(CHUNK, task.max_per_second) if task.max_per_second else CHUNK
        source = self._tasks.queue(task.source_arn, "source")
        self._hidden_until_us = max(self._hidden_until_us, self._hides_until_us())
        while (
            self._status(task) == RUNNING
            and not self._closing
            and await has_duty(self._context.store, _duty(task), DUTY_S)
        ):
            if not source.alive:
                # There may be another queue of that name by now, whose messages are none of this task's.
                raise no_resource("source")
            before = progress.moved
            away: PhysicalQueueUnavailable | None = None
            for physical in source.physical:
                # The rate is the whole task's, however many physical queues there are.
                left = chunk - (progress.moved - before)
                try:
                    if left > 0:
                        await self._move_some(task, source, physical, left, progress)
                except PhysicalQueueUnavailable as fault:
                    # The others go on. This one is not done.
                    away = fault
            number = progress.moved - before
            if away is not None and not number:
                raise away
            if not number:
                if not await self._are_some_hidden(source):
                    return True
                await self._pause(task, LOOK_AGAIN_S)
                continue
            await self._tasks.save(task.task_id, progress.moved)
            if task.max_per_second:
                await self._pause(task, number / task.max_per_second)
        return False

    def _hides_until_us(self) -> int:
        """Another process may have died while it moved messages."""
        return 0 if self._context.store.duties is None else self._clock.now_us() + HIDDEN_US

    async def _are_some_hidden(self, source: Queue) -> bool:
        counts: Counts = await ask(partial(count, source))
        if counts.moving:
            return True
        # Not either if the clock was set back since: that could take hours.
        if not 0 < self._hidden_until_us - self._clock.now_us() <= HIDDEN_US:
            return False
        return counts.in_flight > 0

    async def _pause(self, task: MoveTask, seconds: float) -> None:
        """Keep to the task's rate; a cancelled task does not wait."""
        with contextlib.suppress(TimeoutError):
            await asyncio.wait_for(self._awake[task.task_id].wait(), seconds)

    async def _move_some(
        self, task: MoveTask, source: Queue, physical: Physical, limit: int, progress: "Progress"
    ) -> None:
        settings, watch = source.settings, self._context.watch
        oldest_us = self._clock.now_us() - settings.retention_us
        want = Want(
            limit=limit,
            timeout_us=HIDDEN_US,
            sent_after_us=oldest_us,
            delay_us=settings.delay_us,
            room_bytes=MOVED_BYTES,
        )
        claimed: Claimed = await ask(partial(physical.claim, want))
        source.events.expired += len(claimed.expired)
        if watch is not None:
            watch.expired(source, physical, claimed.expired)
        left = claimed.entries
        try:
            while left:
                target = self._destination(task, left[0])
                same = [entry for entry in left if self._destination(task, entry) is target]
                await self._transfer(physical, same, target)
                if watch is not None:
                    watch.redriven(source, physical, same)
                progress.moved += len(same)
                left = [entry for entry in left if entry not in same]
        except Fault:
            await ask(partial(physical.release, left))
            raise

    async def _transfer(self, physical: Physical, entries: list[Entry], target: Queue) -> None:
        now = self._clock.now_us()
        drafts = [moved(entry, target, now) for entry in entries]
        done: asyncio.Future[Fault | None] = asyncio.get_running_loop().create_future()
        transfer(self._context, physical, entries, target, drafts, lambda fault, number: done.set_result(fault))
        fault = await done
        if fault is not None:
            raise fault if target.alive else no_destination()

    def _destination(self, task: MoveTask, entry: Entry) -> Queue:
        arn = task.destination_arn
        if arn is None:
            extra = entry.message.extra
            arn = extra.dead_letter_source if extra is not None else None
            if arn is None:
                raise ResourceNotFound("CouldNotDetermineMessageSource")
        queue = self._directory.by_arn(arn)
        if queue is None:
            raise no_destination()
        return queue


def _duty(task: MoveTask) -> str:
    return f"move {task.task_id}"


class Progress:
    """How many messages a task has moved."""

    def __init__(self, moved: int) -> None:
        self.moved = moved
