"""Message move tasks: take a dead-letter queue's messages back to where they came from, or elsewhere."""

import asyncio
import base64
import contextlib
import secrets
from collections import Counter
from functools import partial

import msgspec

from rockdove.broker.ask import ask
from rockdove.broker.broker import Broker
from rockdove.broker.deadletter import moved
from rockdove.broker.queue import Queue
from rockdove.core import limits
from rockdove.core.arn import parse_arn
from rockdove.core.clock import SECOND_US
from rockdove.core.errors import (
    Fault,
    InvalidParameterValue,
    ResourceNotFound,
    ServiceUnavailable,
)
from rockdove.core.message import Entry
from rockdove.core.queue import MoveTask
from rockdove.store.base import Claimed, Counts, Physical, Want

RUNNING, CANCELLING = "RUNNING", "CANCELLING"
COMPLETED, CANCELLED, FAILED = "COMPLETED", "CANCELLED", "FAILED"
# Messages moved at a time.
CHUNK = 100
# For so long a message that is being moved is hidden; if the service is killed meanwhile, it is there again afterwards.
HIDDEN_US = 10 * SECOND_US
# Seconds between two looks for messages that a killed service had hidden.
LOOK_AGAIN_S = 0.5


class MoveTasks:
    """Starts, lists and cancels tasks, and goes on with those that a restart interrupted."""

    def __init__(self, broker: Broker) -> None:
        self._broker = broker
        self._directory = broker.directory
        self._clock = broker.clock
        self._tasks: dict[str, MoveTask] = {}
        self._running: dict[str, asyncio.Task[None]] = {}
        # Set to end a pause.
        self._awake: dict[str, asyncio.Event] = {}
        self._closing = False
        # Until then, messages may be hidden that a task was moving when the service was killed.
        self._hidden_until_us = 0
        # One start at a time: two at once for one source must not both find that none is active.
        self._starting = asyncio.Lock()

    def load(self, tasks: list[MoveTask]) -> None:
        self._tasks = {task.task_id: task for task in tasks}
        self._hidden_until_us = self._clock.now_us() + HIDDEN_US
        for task in tasks:
            if task.status in (RUNNING, CANCELLING):
                self._run(task)

    async def close(self) -> None:
        """Stop working after what is being moved just now; the rest goes on after the restart."""
        self._closing = True
        for awake in self._awake.values():
            awake.set()
        await asyncio.gather(*self._running.values(), return_exceptions=True)

    async def start(self, account: str, source_arn: str, destination_arn: str | None, rate: int | None) -> str:
        async with self._starting:
            return await self._start(account, source_arn, destination_arn, rate)

    async def _start(self, account: str, source_arn: str, destination_arn: str | None, rate: int | None) -> str:
        source = self._queue(source_arn, "source")
        if rate is not None and not 1 <= rate <= limits.MAX_MOVE_RATE:
            raise InvalidParameterValue(
                f"Value {rate} for parameter MaxNumberOfMessagesPerSecond is invalid. "
                f"Reason: Must be between 1 and {limits.MAX_MOVE_RATE}, if provided."
            )
        if not self._is_dead_letter_queue(source):
            raise InvalidParameterValue("Source queue must be configured as a Dead Letter Queue.")
        if destination_arn is not None:
            destination = self._queue(destination_arn, "destination")
            if destination is source:
                raise InvalidParameterValue("Source queue and destination queue cannot be the same.")
            if destination.fifo != source.fifo:
                raise InvalidParameterValue("Source queue and destination queue must be of the same type.")
        if any(task.status in (RUNNING, CANCELLING) for task in self._of(source)):
            raise InvalidParameterValue(
                "There is already a task running. "
                "Only one active task is allowed for a source queue arn at a given time."
            )
        counts: Counts = await ask(partial(self._broker.count, source))
        task = MoveTask(
            task_id=secrets.token_hex(16),
            account=account,
            source_arn=source.arn,
            destination_arn=destination_arn,
            max_per_second=rate,
            status=RUNNING,
            started_us=self._clock.now_us(),
            to_move=counts.total,
        )
        await self._put(task)
        self._tasks[task.task_id] = task
        self._run(task)
        return handle(task)

    async def cancel(self, task_handle: str) -> int:
        """How many messages were moved before."""
        named = _read(task_handle)
        self._queue(named.source_arn, "source")
        task = self._tasks.get(named.task_id)
        if task is None:
            raise ResourceNotFound("Task does not exist.")
        if task.status != RUNNING:
            raise InvalidParameterValue("Only active tasks can be cancelled.")
        task.status = CANCELLING
        if task.task_id in self._awake:
            self._awake[task.task_id].set()
        await self._put(task)
        return task.moved

    def source_of(self, task_handle: str) -> str | None:
        """The ARN of a task's source queue; of a task that there is not, what its handle says. None: no handle."""
        try:
            named = _read(task_handle)
        except InvalidParameterValue:
            return None
        task = self._tasks.get(named.task_id)
        return named.source_arn if task is None else task.source_arn

    def newest(self, source_arn: str, limit: int | None) -> list[MoveTask]:
        """The newest tasks of a source queue."""
        if limit is not None and not 1 <= limit <= limits.MAX_LISTED_MOVE_TASKS:
            raise InvalidParameterValue(
                f"Value {limit} for parameter MaxResults is invalid. "
                f"Reason: Must be between 1 and {limits.MAX_LISTED_MOVE_TASKS}, if provided."
            )
        tasks = self._of(self._queue(source_arn, "source"))
        tasks.reverse()
        tasks.sort(key=lambda task: -task.started_us)
        return tasks[: limit or 1]

    def _of(self, source: Queue) -> list[MoveTask]:
        """A queue's tasks; those from before a restart may name it by the ARN of another region."""
        return [task for task in self._tasks.values() if parse_arn(task.source_arn) == source.key]

    def _queue(self, arn: str, what: str) -> Queue:
        queue = self._directory.by_arn(arn)
        if queue is None:
            raise _no_resource(what)
        return queue

    def _is_dead_letter_queue(self, queue: Queue) -> bool:
        return any(
            source.settings.redrive is not None and source.settings.redrive.target == queue.key
            for source in self._directory
        )

    async def _put(self, task: MoveTask) -> None:
        await ask(partial(self._broker.store.put_task, task))

    def _run(self, task: MoveTask) -> None:
        self._awake[task.task_id] = asyncio.Event()
        work = asyncio.get_running_loop().create_task(self._work(task))
        self._running[task.task_id] = work
        work.add_done_callback(lambda _: self._forget(task.task_id))

    def _forget(self, task_id: str) -> None:
        self._running.pop(task_id, None)
        self._awake.pop(task_id, None)

    async def _work(self, task: MoveTask) -> None:
        try:
            await self._move_all(task)
            if task.status == CANCELLING:
                task.status = CANCELLED
            elif not self._closing:
                task.status = COMPLETED
        except Fault as fault:
            task.status, task.failure = FAILED, fault.message
        # If the store fails, the task goes on after the next start.
        with contextlib.suppress(ServiceUnavailable):
            await self._put(task)
            await self.forget_old()

    async def forget_old(self) -> None:
        """Keep as many finished tasks of each source as are ever listed, and none of queues that are gone."""
        listed: Counter[tuple[str, str] | None] = Counter()
        for task in sorted(self._tasks.values(), key=lambda task: -task.started_us):
            if task.status in (RUNNING, CANCELLING):
                continue
            source = parse_arn(task.source_arn)
            listed[source] += 1
            gone = self._directory.by_arn(task.source_arn) is None
            if (gone or listed[source] > limits.MAX_LISTED_MOVE_TASKS) and not self._closing:
                self._tasks.pop(task.task_id, None)
                await ask(partial(self._broker.store.drop_task, task.task_id))

    async def _move_all(self, task: MoveTask) -> None:
        chunk = min(CHUNK, task.max_per_second) if task.max_per_second else CHUNK
        source = self._queue(task.source_arn, "source")
        while task.status == RUNNING and not self._closing:
            if not source.alive:
                # There may be another queue of that name by now, whose messages are none of this task's.
                raise _no_resource("source")
            number = 0
            for physical in source.physical:
                # The rate is the whole task's, however many physical queues there are.
                if number < chunk:
                    number += await self._move_some(task, source, physical, chunk - number)
            if not number:
                if not await self._are_some_hidden(source):
                    return
                await self._pause(task, LOOK_AGAIN_S)
                continue
            task.moved += number
            await self._put(task)
            if task.max_per_second:
                await self._pause(task, number / task.max_per_second)

    async def _are_some_hidden(self, source: Queue) -> bool:
        # Not either if the clock was set back since: that could take hours.
        if not 0 < self._hidden_until_us - self._clock.now_us() <= HIDDEN_US:
            return False
        counts: Counts = await ask(partial(self._broker.count, source))
        return counts.in_flight > 0

    async def _pause(self, task: MoveTask, seconds: float) -> None:
        """Keep to the task's rate; a cancelled task does not wait."""
        with contextlib.suppress(TimeoutError):
            await asyncio.wait_for(self._awake[task.task_id].wait(), seconds)

    async def _move_some(self, task: MoveTask, source: Queue, physical: Physical, limit: int) -> int:
        settings = source.settings
        oldest_us = self._clock.now_us() - settings.retention_us
        want = Want(limit=limit, timeout_us=HIDDEN_US, sent_after_us=oldest_us, delay_us=settings.delay_us)
        claimed: Claimed = await ask(partial(physical.claim, want))
        source.expired += len(claimed.expired)
        if self._broker.watch is not None:
            self._broker.watch.expired(source, physical, claimed.expired)
        number = 0
        left = claimed.entries
        try:
            while left:
                target = self._destination(task, left[0])
                same = [entry for entry in left if self._destination(task, entry) is target]
                await self._transfer(physical, same, target)
                if self._broker.watch is not None:
                    self._broker.watch.redriven(source, physical, same)
                number += len(same)
                left = [entry for entry in left if entry not in same]
        except Fault:
            task.moved += number
            await ask(partial(physical.release, left))
            raise
        return number

    async def _transfer(self, physical: Physical, entries: list[Entry], target: Queue) -> None:
        now = self._clock.now_us()
        drafts = [moved(entry, target, now) for entry in entries]
        done: asyncio.Future[Fault | None] = asyncio.get_running_loop().create_future()
        self._broker.transfer(physical, entries, target, drafts, lambda fault, number: done.set_result(fault))
        fault = await done
        if fault is not None:
            raise fault if target.alive else _no_destination()

    def _destination(self, task: MoveTask, entry: Entry) -> Queue:
        arn = task.destination_arn
        if arn is None:
            extra = entry.message.extra
            arn = extra.dead_letter_source if extra is not None else None
            if arn is None:
                raise ResourceNotFound("CouldNotDetermineMessageSource")
        queue = self._directory.by_arn(arn)
        if queue is None:
            raise _no_destination()
        return queue


def _no_resource(what: str) -> ResourceNotFound:
    return ResourceNotFound(f"The resource that you specified for the {what.capitalize()}Arn parameter doesn't exist.")


def _no_destination() -> ResourceNotFound:
    return ResourceNotFound("AWS.SimpleQueueService.NonExistentQueue")


class _Handle(msgspec.Struct, rename="camel"):
    task_id: str
    source_arn: str


def handle(task: MoveTask) -> str:
    """A task's handle names the task and its source."""
    return base64.b64encode(msgspec.json.encode(_Handle(task.task_id, task.source_arn))).decode()


def _read(task_handle: str) -> _Handle:
    try:
        return msgspec.json.decode(base64.b64decode(task_handle, validate=True), type=_Handle)
    except (ValueError, RecursionError):
        raise InvalidParameterValue("Value for parameter TaskHandle is invalid.") from None
