"""``rockdove queue delete``."""

from typing import Annotated

import typer

from rockdove.cli import option
from rockdove.cli.confirmation import confirm
from rockdove.cli.figure import amount
from rockdove.cli.output import Output
from rockdove.cli.queue.list import COUNTS
from rockdove.cli.service import connect, name_of
from rockdove.client.endpoint import DEFAULT_ENDPOINT


def delete(
    queue: Annotated[str, typer.Argument(metavar="NAME", help="The queue's name or URL.")],
    yes: option.Yes = False,
    endpoint: option.Endpoint = DEFAULT_ENDPOINT,
    region: option.Region = None,
    config: option.Config = None,
    as_json: option.Json = False,
) -> None:
    """Delete a queue with all its messages.

    \b
    Example:
      rockdove queue delete jobs --yes
    """
    with connect(endpoint, region, queue) as client:
        url = client.queue_url(queue)
        number = sum(map(int, client.attributes(url, COUNTS).values()))
        confirm(f"Delete the queue {name_of(url)} with {amount(number, 'message')}?", yes)
        client.delete_queue(url)
    Output(as_json).outcome(
        {"QueueUrl": url, "Deleted": number}, f"deleted {name_of(url)} with {amount(number, 'message')}"
    )
