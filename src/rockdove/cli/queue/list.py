"""``rockdove queue list``."""

from typing import Annotated

import typer

from rockdove.cli import option
from rockdove.cli.output import Output, note
from rockdove.cli.service import connect, name_of
from rockdove.client import Client
from rockdove.client.endpoint import DEFAULT_ENDPOINT
from rockdove.core.errors import QueueDoesNotExist

COUNTS = (
    "ApproximateNumberOfMessages",
    "ApproximateNumberOfMessagesNotVisible",
    "ApproximateNumberOfMessagesDelayed",
)


def list_queues(
    prefix: Annotated[str, typer.Option(metavar="TEXT", help="Only queues whose names begin so.")] = "",
    endpoint: option.Endpoint = DEFAULT_ENDPOINT,
    region: option.Region = None,
    config: option.Config = None,
    as_json: option.Json = False,
) -> None:
    """List queues, and how many messages each holds.

    \b
    Examples:
      rockdove queue list
      rockdove queue list --prefix orders --json
    """
    with connect(endpoint, region) as client:
        rows = [row for url in client.list_queues(prefix) if (row := _row(client, url)) is not None]
        where = client.endpoint
    output = Output(as_json)
    if as_json:
        output.document({"Queues": rows})
    elif rows:
        counts = [[str(row["QueueName"]), *(f"{row[name]:,}" for name in COUNTS)] for row in rows]
        output.table(("queue", "visible", "in flight", "delayed"), counts, numbers=(1, 2, 3))
    else:
        begun = f" whose name begins with {prefix}" if prefix else ""
        note(f'no queue{begun} at {where}; make one with "rockdove queue create NAME"')


def _row(client: Client, url: str) -> dict[str, str | int] | None:
    try:
        counts = client.attributes(url, COUNTS)
    except QueueDoesNotExist:
        # Deleted since we asked for the list.
        return None
    return {"QueueName": name_of(url), "QueueUrl": url, **{name: int(counts[name]) for name in COUNTS}}
