"""The operations on queues and move tasks: from a request to the broker, and from its outcome to the result."""

import asyncio
import base64
import contextlib
from bisect import bisect_right
from collections.abc import Awaitable, Callable
from functools import partial

from rockdove.broker.admin import Admin
from rockdove.broker.ask import PhysicalQueueUnavailable, ask
from rockdove.broker.directory import Directory
from rockdove.broker.elastic import ElasticStates
from rockdove.broker.movetask import RUNNING, MoveTasks, handle
from rockdove.broker.queue import Queue
from rockdove.core import limits
from rockdove.core.clock import SECOND_US
from rockdove.core.errors import Fault, InvalidParameterValue, QueueDoesNotExist, ServiceInterrupted, ServiceUnavailable
from rockdove.core.queue import MoveTask, PhysicalState
from rockdove.server.call import Call
from rockdove.server.tracer import Tracer
from rockdove.store.base import Counts, Physical
from rockdove.wire import extension, shape


class Queues:
    """One method for each operation."""

    def __init__(
        self,
        directory: Directory,
        admin: Admin,
        elastic: ElasticStates,
        tasks: MoveTasks,
        tracer: Tracer | None = None,
    ) -> None:
        self._tracer = tracer
        self._directory = directory
        self._queue = directory.by_url
        self._admin = admin
        self._elastic = elastic
        self._tasks = tasks

    async def create_queue(self, call: Call, request: shape.CreateQueue) -> shape.CreateQueueResult:
        name = request.queue_name
        await self._admin.create(call.account, name, request.attributes or {}, request.tags or {})
        return shape.CreateQueueResult(queue_url=_url(call, call.account, name))

    async def delete_queue(self, call: Call, request: shape.DeleteQueue) -> None:
        queue = self._queue(request.queue_url, call.account)
        await self._emptied(call, queue, self._admin.delete(queue))
        # If the store fails now, the queue is gone all the same.
        with contextlib.suppress(ServiceUnavailable, ServiceInterrupted):
            await self._tasks.forget_old()

    async def purge_queue(self, call: Call, request: shape.PurgeQueue) -> None:
        queue = self._queue(request.queue_url, call.account)
        await self._emptied(call, queue, self._admin.purge(queue))

    async def _emptied(self, call: Call, queue: Queue, work: Awaitable[None]) -> None:
        try:
            await work
        except Fault as fault:
            if self._tracer is not None:
                self._tracer.failed(call, "purge", queue, fault)
            raise
        if self._tracer is not None:
            self._tracer.purged(call, queue)

    async def get_queue_url(self, call: Call, request: shape.GetQueueUrl) -> shape.GetQueueUrlResult:
        owner = request.queue_owner_aws_account_id or call.account
        if self._directory.find(owner, request.queue_name) is None:
            raise QueueDoesNotExist()
        return shape.GetQueueUrlResult(queue_url=_url(call, owner, request.queue_name))

    async def list_queues(self, call: Call, request: shape.ListQueues) -> shape.ListQueuesResult:
        account, prefix = call.account, request.queue_name_prefix or ""
        some = partial(self._directory.page, account, prefix)
        page, token = _page(some, request.max_results, request.next_token)
        base = call.base_url()
        return shape.ListQueuesResult(queue_urls=[f"{base}/{account}/{name}" for name in page], next_token=token)

    async def get_queue_attributes(
        self, call: Call, request: shape.GetQueueAttributes
    ) -> shape.GetQueueAttributesResult:
        queue = self._directory.at_url(request.queue_url, call.account)
        return shape.GetQueueAttributesResult(
            attributes=await self._admin.attributes(queue, request.attribute_names or [])
        )

    async def set_queue_attributes(self, call: Call, request: shape.SetQueueAttributes) -> None:
        await self._admin.set_attributes(self._queue(request.queue_url, call.account), request.attributes)

    async def describe_physical_queues(
        self, call: Call, request: extension.DescribePhysicalQueues
    ) -> extension.DescribePhysicalQueuesResult:
        queue = self._queue(request.queue_url, call.account)
        parts = queue.record.physical
        described = await asyncio.gather(*map(_count, queue.physical))
        return extension.DescribePhysicalQueuesResult(
            physical_queues=[
                extension.DescribedPhysicalQueue(
                    index=index,
                    state=part.state.value,
                    weight=float(part.weight),
                    reachable=counts is not None,
                    approximate_number_of_messages=None if counts is None else counts.visible,
                    approximate_number_of_messages_not_visible=None if counts is None else counts.in_flight,
                    approximate_number_of_messages_delayed=None if counts is None else counts.delayed,
                )
                for index, (part, counts) in enumerate(zip(parts, described, strict=True))
            ]
        )

    async def set_physical_queue(self, call: Call, request: extension.SetPhysicalQueue) -> None:
        queue = self._queue(request.queue_url, call.account)
        await self._admin.set_physical(queue, request.index, request.weight, _state(request.state))

    async def put_elastic_state(
        self, call: Call, request: extension.PutElasticState
    ) -> extension.PutElasticStateResult:
        queue = self._queue(request.queue_url, call.account)
        paused = await self._elastic.put(queue, request.holder, request.hold_seconds, request.state)
        return extension.PutElasticStateResult(paused=paused)

    async def get_elastic_state(
        self, call: Call, request: extension.GetElasticState
    ) -> extension.GetElasticStateResult:
        elastic = self._queue(request.queue_url, call.account).record.elastic
        if elastic is None or not elastic.put_us:
            return extension.GetElasticStateResult(paused=elastic is not None and elastic.paused)
        return extension.GetElasticStateResult(
            paused=elastic.paused,
            holder=elastic.holder,
            held_until=elastic.held_until_us / SECOND_US,
            state=elastic.state or None,
            updated=elastic.put_us / SECOND_US,
        )

    async def set_elastic_control(self, call: Call, request: extension.SetElasticControl) -> None:
        await self._elastic.pause(self._queue(request.queue_url, call.account), request.paused)

    async def tag_queue(self, call: Call, request: shape.TagQueue) -> None:
        await self._admin.tag(self._queue(request.queue_url, call.account), request.tags)

    async def untag_queue(self, call: Call, request: shape.UntagQueue) -> None:
        await self._admin.untag(self._queue(request.queue_url, call.account), request.tag_keys)

    async def list_queue_tags(self, call: Call, request: shape.ListQueueTags) -> shape.ListQueueTagsResult:
        return shape.ListQueueTagsResult(tags=dict(self._queue(request.queue_url, call.account).record.tags))

    async def add_permission(self, call: Call, request: shape.AddPermission) -> None:
        queue = self._queue(request.queue_url, call.account)
        await self._admin.add_permission(queue, request.label, request.aws_account_ids, request.actions)

    async def remove_permission(self, call: Call, request: shape.RemovePermission) -> None:
        await self._admin.remove_permission(self._queue(request.queue_url, call.account), request.label)

    async def list_dead_letter_source_queues(
        self, call: Call, request: shape.ListDeadLetterSourceQueues
    ) -> shape.ListDeadLetterSourceQueuesResult:
        target = self._queue(request.queue_url, call.account)
        names = self._directory.sources(target)

        def some(after: str, most: int) -> list[str]:
            first = bisect_right(names, after)
            return names[first : first + most]

        page, token = _page(some, request.max_results, request.next_token)
        base = f"{call.base_url()}/{target.record.account}"
        return shape.ListDeadLetterSourceQueuesResult(queue_urls=[f"{base}/{name}" for name in page], next_token=token)

    async def start_message_move_task(
        self, call: Call, request: shape.StartMessageMoveTask
    ) -> shape.StartMessageMoveTaskResult:
        task_handle = await self._tasks.start(
            call.account, request.source_arn, request.destination_arn, request.max_number_of_messages_per_second
        )
        return shape.StartMessageMoveTaskResult(task_handle=task_handle)

    async def cancel_message_move_task(
        self, call: Call, request: shape.CancelMessageMoveTask
    ) -> shape.CancelMessageMoveTaskResult:
        moved = await self._tasks.cancel(request.task_handle)
        return shape.CancelMessageMoveTaskResult(approximate_number_of_messages_moved=moved)

    async def list_message_move_tasks(
        self, call: Call, request: shape.ListMessageMoveTasks
    ) -> shape.ListMessageMoveTasksResult:
        tasks = self._tasks.newest(request.source_arn, request.max_results)
        return shape.ListMessageMoveTasksResult(results=[_task(task) for task in tasks])


# What can be set; a physical queue leaves when the number of them is changed.
_STATES = [state.value for state in PhysicalState if state is not PhysicalState.LEAVING]


def _url(call: Call, account: str, name: str) -> str:
    return f"{call.base_url()}/{account}/{name}"


def _state(value: str | None) -> PhysicalState | None:
    if value is None:
        return None
    if value not in _STATES:
        raise InvalidParameterValue(
            f"Value {value} for parameter State is invalid. Reason: Must be one of {', '.join(_STATES)}."
        )
    return PhysicalState(value)


def _task(task: MoveTask) -> shape.ListMessageMoveTasksResultEntry:
    return shape.ListMessageMoveTasksResultEntry(
        task_handle=handle(task) if task.status == RUNNING else None,
        status=task.status,
        source_arn=task.source_arn,
        destination_arn=task.destination_arn,
        max_number_of_messages_per_second=task.max_per_second,
        approximate_number_of_messages_moved=task.moved,
        approximate_number_of_messages_to_move=task.to_move,
        failure_reason=task.failure,
        started_timestamp=task.started_us // 1000,
    )


def _page(some: Callable[[str, int], list[str]], most: int | None, token: str | None) -> tuple[list[str], str | None]:
    """One page of names in order; the token holds the last name given.

    ``some`` gives names that come after one, so many at most.
    """
    if most is not None and not 1 <= most <= limits.MAX_LISTED_QUEUES:
        raise InvalidParameterValue(
            f"Value {most} for parameter MaxResults is invalid. "
            f"Reason: Must be between 1 and {limits.MAX_LISTED_QUEUES}, if provided."
        )
    number = most or limits.MAX_LISTED_QUEUES
    found = some(_token_name(token) if token else "", number + 1)
    page = found[:number]
    # Without MaxResults, SQS gives the first thousand and no token.
    more = most is not None and len(found) > len(page)
    return page, base64.urlsafe_b64encode(page[-1].encode()).decode() if more else None


def _token_name(token: str) -> str:
    try:
        return base64.b64decode(token, altchars=b"-_", validate=True).decode()
    except ValueError:
        raise InvalidParameterValue("Invalid or expired next token.") from None


async def _count(physical: Physical) -> Counts | None:
    """None: it cannot be reached."""
    try:
        return await ask(physical.count)
    except (PhysicalQueueUnavailable, ServiceInterrupted):
        return None
