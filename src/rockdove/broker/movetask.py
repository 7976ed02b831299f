"""Message move tasks: started, cancelled and listed here; `rockdove.broker.mover` does the work."""

import base64
import secrets
from collections import Counter
from collections.abc import Callable
from functools import partial

import msgspec
from msgspec.structs import replace

from rockdove.broker.ask import ask
from rockdove.broker.context import Context
from rockdove.broker.count import count
from rockdove.broker.feed import Feed
from rockdove.broker.queue import Queue
from rockdove.core import limits
from rockdove.core.arn import parse_arn
from rockdove.core.errors import InvalidParameterValue, OverLimit, ResourceNotFound
from rockdove.core.queue import MoveTask
from rockdove.store.base import Change, Counts, Snapshot, TaskDropped, TaskPut

RUNNING, CANCELLING = "RUNNING", "CANCELLING"
COMPLETED, CANCELLED, FAILED = "COMPLETED", "CANCELLED", "FAILED"
ACTIVE = (RUNNING, CANCELLING)
# They are changed seldom enough to take turns.
_TASKS = "tasks"


class MoveTasks:
    """All tasks as their records tell of them, whoever works on them."""

    def __init__(self, context: Context, feed: Feed) -> None:
        self._context = context
        self._directory = context.directory
        self._records = context.store.records
        self._feed = feed
        self._tasks: dict[str, MoveTask] = {}
        # Called when a task is new or has changed.
        self.on_change: Callable[[MoveTask], None] = lambda task: None

    # Records, see `rockdove.broker.feed.RecordFollower`.

    def load(self, snapshot: Snapshot) -> None:
        self._tasks = {task.task_id: task for task in snapshot.tasks}

    def apply(self, change: Change) -> None:
        match change:
            case TaskPut(task=task):
                self._tasks[task.task_id] = task
                self.on_change(task)
            case TaskDropped(task_id=task_id):
                self._tasks.pop(task_id, None)

    def get(self, task_id: str) -> MoveTask | None:
        return self._tasks.get(task_id)

    def active(self) -> list[MoveTask]:
        return [task for task in self._tasks.values() if task.status in ACTIVE]

    # Operations.

    async def start(self, account: str, source_arn: str, destination_arn: str | None, rate: int | None) -> str:
        source = self.queue(source_arn, "source")
        if rate is not None and not 1 <= rate <= limits.MAX_MOVE_RATE:
            raise InvalidParameterValue(
                f"Value {rate} for parameter MaxNumberOfMessagesPerSecond is invalid. "
                f"Reason: Must be between 1 and {limits.MAX_MOVE_RATE}, if provided."
            )
        if not self._directory.sources(source):
            raise InvalidParameterValue("Source queue must be configured as a Dead Letter Queue.")
        if destination_arn is not None:
            destination = self.queue(destination_arn, "destination")
            if destination is source:
                raise InvalidParameterValue("Source queue and destination queue cannot be the same.")
            if destination.fifo != source.fifo:
                raise InvalidParameterValue("Source queue and destination queue must be of the same type.")

        async def attempt(seen: int) -> MoveTask:
            if any(task.status in ACTIVE for task in self._of(source)):
                raise InvalidParameterValue(
                    "There is already a task running. "
                    "Only one active task is allowed for a source queue arn at a given time."
                )
            if sum(task.account == account for task in self.active()) >= limits.MAX_MOVE_TASKS:
                raise OverLimit(
                    f"An account can have at most {limits.MAX_MOVE_TASKS} active tasks. "
                    "Cancel one, or wait until one is done."
                )
            counts: Counts = await ask(partial(count, source))
            task = MoveTask(
                task_id=secrets.token_hex(16),
                account=account,
                source_arn=source.arn,
                destination_arn=destination_arn,
                max_per_second=rate,
                status=RUNNING,
                started_us=self._context.clock.now_us(),
                to_move=counts.total,
            )
            await ask(partial(self._records.put_task, task, seen))
            return task

        return handle(await self._feed.write(_TASKS, attempt))

    async def cancel(self, task_handle: str) -> int:
        """How many messages were moved before."""
        named = _read(task_handle)
        self.queue(named.source_arn, "source")

        async def attempt(seen: int) -> int:
            task = self._tasks.get(named.task_id)
            if task is None:
                raise ResourceNotFound("Task does not exist.")
            if task.status != RUNNING:
                raise InvalidParameterValue("Only active tasks can be cancelled.")
            await ask(partial(self._records.put_task, replace(task, status=CANCELLING), seen))
            return task.moved

        return await self._feed.write(_TASKS, attempt)

    async def save(self, task_id: str, moved: int, status: str | None = None, failure: str | None = None) -> None:
        """Keep how far a task has come; whoever cancels it meanwhile is not overruled."""

        async def attempt(seen: int) -> None:
            task = self._tasks.get(task_id)
            if task is not None:
                saved = replace(task, moved=moved, status=status or task.status, failure=failure)
                await ask(partial(self._records.put_task, saved, seen))

        await self._feed.write(_TASKS, attempt)

    def source_of(self, task_handle: str) -> str | None:
        """The ARN of a task's source queue; of a task that does not exist, what its handle says. None: no handle."""
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
        tasks = self._of(self.queue(source_arn, "source"))
        tasks.reverse()
        tasks.sort(key=lambda task: -task.started_us)
        return tasks[: limit or 1]

    def _of(self, source: Queue) -> list[MoveTask]:
        """A queue's tasks; those from before a restart may name it by the ARN of another region."""
        return [task for task in self._tasks.values() if parse_arn(task.source_arn) == source.key]

    def queue(self, arn: str, what: str) -> Queue:
        queue = self._directory.by_arn(arn)
        if queue is None:
            raise no_resource(what)
        return queue

    async def forget_old(self) -> None:
        """Keep as many finished tasks of each source as are ever listed, and none of queues that are gone."""
        listed: Counter[tuple[str, str] | None] = Counter()
        for task in sorted(self._tasks.values(), key=lambda task: -task.started_us):
            if task.status in ACTIVE:
                continue
            source = parse_arn(task.source_arn)
            listed[source] += 1
            gone = self._directory.by_arn(task.source_arn) is None
            if gone or listed[source] > limits.MAX_LISTED_MOVE_TASKS:
                await self._feed.write(_TASKS, partial(self._drop, task))

    async def _drop(self, task: MoveTask, seen: int) -> None:
        await ask(partial(self._records.drop_task, task, seen))


def no_resource(what: str) -> ResourceNotFound:
    return ResourceNotFound(f"The resource that you specified for the {what.capitalize()}Arn parameter doesn't exist.")


def no_destination() -> ResourceNotFound:
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
