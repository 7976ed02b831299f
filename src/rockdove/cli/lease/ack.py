"""``rockdove lease ack``."""

from typing import Annotated

import typer

from rockdove.cli import option
from rockdove.cli.confirmation import confirm
from rockdove.cli.figure import amount
from rockdove.cli.lease.holding import held
from rockdove.cli.output import Output
from rockdove.cli.service import connect
from rockdove.client.endpoint import DEFAULT_ENDPOINT


def ack(
    queue: Annotated[str, typer.Argument(metavar="QUEUE", help="The queue's name or URL.")],
    consumer: Annotated[str, typer.Argument(metavar="ID", help="The consumer, or the lease id of a drain.")],
    yes: option.Yes = False,
    endpoint: option.Endpoint = DEFAULT_ENDPOINT,
    region: option.Region = None,
    config: option.Config = None,
    as_json: option.Json = False,
) -> None:
    """Delete all messages that a consumer has leased.

    \b
    Example:
      rockdove lease ack jobs export-2026-01 --yes
    """
    with connect(endpoint, region, queue) as client:
        number = held(client, queue, consumer)
        confirm(f"Delete {amount(number, 'message')} that {consumer} has leased from {queue}?", yes)
        ended = client.ack_through(queue, consumer)
    Output(as_json).outcome(ended, f"deleted {amount(ended.messages, 'message')} of {amount(ended.leases, 'lease')}")
