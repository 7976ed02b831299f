"""The operations on message move tasks, as steps. A queue is given by its name, its URL or its ARN."""

from rockdove.client.step import Names, Steps, ask
from rockdove.wire import shape
from rockdove.wire.shape import ListMessageMoveTasksResultEntry as MoveTask


def start_move(names: Names, source: str, destination: str | None = None, *, rate: int | None = None) -> Steps[str]:
    """Move a dead-letter queue's messages back to where they came from, or to one queue; gives the task's handle.

    ``rate`` is in messages a second.
    """
    source_arn = yield from names.arn(source)
    destination_arn = None if destination is None else (yield from names.arn(destination))
    request = shape.StartMessageMoveTask(
        source_arn=source_arn, destination_arn=destination_arn, max_number_of_messages_per_second=rate
    )
    answer = yield from ask(request, shape.StartMessageMoveTaskResult)
    return answer.task_handle


def move_tasks(names: Names, source: str, *, limit: int | None = None) -> Steps[list[MoveTask]]:
    """The newest tasks of a source queue, one unless told otherwise."""
    source_arn = yield from names.arn(source)
    request = shape.ListMessageMoveTasks(source_arn=source_arn, max_results=limit)
    answer = yield from ask(request, shape.ListMessageMoveTasksResult)
    return answer.results


def cancel_move(names: Names, task_handle: str) -> Steps[int]:
    """Stop a task; gives how many messages it has moved."""
    request = shape.CancelMessageMoveTask(task_handle=task_handle)
    answer = yield from ask(request, shape.CancelMessageMoveTaskResult)
    return answer.approximate_number_of_messages_moved
