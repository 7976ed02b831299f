"""``rockdove queue purge``."""

from typing import Annotated

import typer

from rockdove.cli import option
from rockdove.cli.confirmation import confirm
from rockdove.cli.figure import amount
from rockdove.cli.output import Output
from rockdove.cli.queue.list import COUNTS
from rockdove.cli.service import connect, name_of
from rockdove.client.endpoint import DEFAULT_ENDPOINT


def purge(
    queue: Annotated[str, typer.Argument(metavar="NAME", help="The queue's name or URL.")],
    yes: option.Yes = False,
    endpoint: option.Endpoint = DEFAULT_ENDPOINT,
    region: option.Region = None,
    config: option.Config = None,
    as_json: option.Json = False,
) -> None:
    """Delete all messages of a queue.

    \b
    Example:
      rockdove queue purge jobs --yes
    """
    with connect(endpoint, region, queue) as client:
        url = client.queue_url(queue)
        number = sum(map(int, client.attributes(url, COUNTS).values()))
        confirm(f"Delete {'all' if number != 1 else 'the'} {amount(number, 'message')} of {name_of(url)}?", yes)
        client.purge(url)
    Output(as_json).outcome({"QueueUrl": url, "Purged": number}, f"purged {name_of(url)}: {amount(number, 'message')}")
