"""``rockdove queue show``."""

import json
from typing import Annotated

import typer

from rockdove.cli import option
from rockdove.cli.figure import amount, duration, moment, size
from rockdove.cli.output import Output
from rockdove.cli.queue.list import COUNTS
from rockdove.cli.service import connect, name_of
from rockdove.client.endpoint import DEFAULT_ENDPOINT
from rockdove.core.limits import MAX_LISTED_MOVE_TASKS
from rockdove.wire.shape import ListMessageMoveTasksResultEntry as MoveTask

_DURATIONS = (
    "VisibilityTimeout",
    "MessageRetentionPeriod",
    "DelaySeconds",
    "ReceiveMessageWaitTimeSeconds",
    "KmsDataKeyReusePeriodSeconds",
)
_MOMENTS = ("CreatedTimestamp", "LastModifiedTimestamp")
# Shown in words of their own.
_TOLD = (*COUNTS, "QueueArn", "RedrivePolicy")


def show(
    queue: Annotated[str, typer.Argument(metavar="NAME", help="The queue's name or URL.")],
    endpoint: option.Endpoint = DEFAULT_ENDPOINT,
    region: option.Region = None,
    config: option.Config = None,
    as_json: option.Json = False,
) -> None:
    """Show all there is to know about a queue.

    Its attributes, its tags, where its dead letters go, whose dead letters it takes, and its message
    move tasks.

    \b
    Examples:
      rockdove queue show jobs
      rockdove queue show jobs --json
    """
    output = Output(as_json)
    with connect(endpoint, region, queue) as client:
        url = client.queue_url(queue)
        attributes = client.attributes(url)
        tags = client.tags(url)
        sources = client.dead_letter_sources(url)
        tasks = client.move_tasks(url, limit=MAX_LISTED_MOVE_TASKS)
        if as_json:
            output.document(
                {
                    "QueueName": name_of(url),
                    "QueueUrl": url,
                    "Attributes": attributes,
                    "Tags": tags,
                    "DeadLetterSourceQueueUrls": sources,
                    "MessageMoveTasks": tasks,
                }
            )
            return
    visible, in_flight, delayed = (f"{int(attributes[name]):,}" for name in COUNTS)
    output.facts(
        [
            ("queue", name_of(url)),
            ("URL", url),
            ("ARN", attributes["QueueArn"]),
            ("messages", f"{visible} visible, {in_flight} in flight, {delayed} delayed"),
            *_dead_letters(attributes, sources),
            *[("move task", _task(task)) for task in tasks],
            *[("tag", f"{key}={value}") for key, value in sorted(tags.items())],
            *[(name, _readable(name, value)) for name, value in sorted(attributes.items()) if name not in _TOLD],
        ]
    )


def _dead_letters(attributes: dict[str, str], sources: list[str]) -> list[tuple[str, str]]:
    rows = []
    if attributes.get("RedrivePolicy"):
        policy = json.loads(attributes["RedrivePolicy"])
        receives = amount(int(policy["maxReceiveCount"]), "receive")
        rows.append(("dead letters", f"go to {name_of(policy['deadLetterTargetArn'])} after {receives}"))
    if sources:
        rows.append(("dead letters of", ", ".join(map(name_of, sources))))
    return rows


def _task(task: MoveTask) -> str:
    where = f"to {name_of(task.destination_arn)}" if task.destination_arn else "back to where they came from"
    rate = (
        f", at most {task.max_number_of_messages_per_second} a second" if task.max_number_of_messages_per_second else ""
    )
    why = f": {task.failure_reason}" if task.failure_reason else ""
    moved = f"{task.approximate_number_of_messages_moved:,}"
    if task.approximate_number_of_messages_to_move is not None:
        moved += f" of {task.approximate_number_of_messages_to_move:,}"
    began = moment(task.started_timestamp / 1000)
    return f"{task.status.lower()}{why}, {moved} messages moved {where}{rate}, begun {began}"


def _readable(name: str, value: str) -> str:
    if not value.isdigit():
        return value
    number = int(value)
    if name in _MOMENTS:
        return moment(number)
    if name in _DURATIONS:
        return duration(number) if number < 60 else f"{duration(number)} ({number:,} s)"
    if name == "MaximumMessageSize":
        return f"{size(number)} ({number:,} bytes)"
    return value
