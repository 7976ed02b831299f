"""``rockdove queue move``."""

import time
from typing import Annotated

import typer

from rockdove.cli import option
from rockdove.cli.failure import Code, Failure
from rockdove.cli.figure import amount
from rockdove.cli.output import Output, Progress, note
from rockdove.cli.service import connect, name_of
from rockdove.client import Client
from rockdove.client.endpoint import DEFAULT_ENDPOINT
from rockdove.core.limits import MAX_MOVE_RATE
from rockdove.wire.shape import ListMessageMoveTasksResultEntry as MoveTask

_LOOK_EVERY_S = 0.2
_ACTIVE = ("RUNNING", "CANCELLING")


def move(
    source: Annotated[str, typer.Argument(metavar="SOURCE", help="The dead-letter queue, by name or URL.")],
    destination: Annotated[
        str | None,
        typer.Argument(
            metavar="DESTINATION", help="Where to; without it, each message goes back to where it came from."
        ),
    ] = None,
    rate: Annotated[
        int | None, typer.Option(metavar="N", help="Messages a second at most.", min=1, max=MAX_MOVE_RATE)
    ] = None,
    wait: Annotated[bool, typer.Option("--wait", help="Wait until all messages have been moved.")] = False,
    cancel: Annotated[
        bool, typer.Option("--cancel", help="Stop the task that is moving messages from SOURCE.")
    ] = False,
    endpoint: option.Endpoint = DEFAULT_ENDPOINT,
    region: option.Region = None,
    config: option.Config = None,
    as_json: option.Json = False,
) -> None:
    """Move dead letters back, or to another queue.

    The service does it in the background; Ctrl-C during --wait ends the waiting, not the move.

    \b
    Examples:
      rockdove queue move jobs-dead --wait
      rockdove queue move jobs-dead jobs --rate 50
      rockdove queue move jobs-dead --cancel
    """
    if cancel and (destination or rate or wait):
        raise Failure("--cancel goes with SOURCE alone", Code.USAGE)
    output = Output(as_json)
    with connect(endpoint, region, source) as client:
        if cancel:
            _cancel(client, source, output)
            return
        if destination is not None:
            _check(client, destination)
        client.start_move(source, destination, rate=rate)
        task = _newest(client, source)
        if wait:
            task = _wait(client, source, task)
    if as_json:
        output.document(task)
    elif task.status in _ACTIVE:
        expected = amount(task.approximate_number_of_messages_to_move or 0, "message")
        output.line(
            f'moving {expected} from {name_of(source)}; "rockdove queue show {name_of(source)}" tells how far it is'
        )
    else:
        output.line(f"moved {amount(task.approximate_number_of_messages_moved, 'message')} from {name_of(source)}")
    if task.status == "FAILED":
        raise Failure(f"the move failed: {task.failure_reason or 'no reason given'}")


def _check(client: Client, destination: str) -> None:
    """So that the user is told which of the two queues is missing."""
    with connect(client.endpoint, None, destination) as other:
        other.attributes(destination, ["QueueArn"])


def _cancel(client: Client, source: str, output: Output) -> None:
    task = next((task for task in client.move_tasks(source, limit=10) if task.task_handle), None)
    if task is None or task.task_handle is None:
        raise Failure(f"no task is moving messages from {name_of(source)}", Code.NOT_FOUND)
    moved = client.cancel_move(task.task_handle)
    output.outcome({"ApproximateNumberOfMessagesMoved": moved}, f"stopped after {amount(moved, 'message')}")


def _newest(client: Client, source: str) -> MoveTask:
    tasks = client.move_tasks(source)
    if not tasks:
        raise Failure("the service does not know the task that it has started")
    return tasks[0]


def _wait(client: Client, source: str, task: MoveTask) -> MoveTask:
    progress = Progress()
    try:
        while task.status in _ACTIVE:
            expected = task.approximate_number_of_messages_to_move or 0
            progress.show(f"{task.approximate_number_of_messages_moved:,} of {expected:,} moved")
            time.sleep(_LOOK_EVERY_S)
            task = _newest(client, source)
    except KeyboardInterrupt:
        note(f'\nthe service goes on; "rockdove queue move {name_of(source)} --cancel" stops it')
        raise
    finally:
        progress.clear()
    return task
