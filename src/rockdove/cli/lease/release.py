"""``rockdove lease release``."""

from typing import Annotated

import typer

from rockdove.cli import option
from rockdove.cli.confirmation import confirm
from rockdove.cli.figure import amount
from rockdove.cli.lease.holding import held
from rockdove.cli.output import Output
from rockdove.cli.service import connect
from rockdove.client.endpoint import DEFAULT_ENDPOINT


def release(
    queue: Annotated[str, typer.Argument(metavar="QUEUE", help="The queue's name or URL.")],
    consumer: Annotated[str, typer.Argument(metavar="ID", help="The consumer, or the lease id of a drain.")],
    forget: Annotated[
        bool, typer.Option("--forget", help="Also forget its sequences: it may begin with 0 again.")
    ] = False,
    yes: option.Yes = False,
    endpoint: option.Endpoint = DEFAULT_ENDPOINT,
    region: option.Region = None,
    config: option.Config = None,
    as_json: option.Json = False,
) -> None:
    """Give back all messages that a consumer has leased: others receive them from now on.

    \b
    Example:
      rockdove lease release jobs nightly
    """
    with connect(endpoint, region, queue) as client:
        if not forget:
            # Who is to be forgotten may hold nothing.
            held(client, queue, consumer)
        confirm(f"Give back what {consumer} has leased from {queue}, though it may still be at work?", yes)
        ended = client.release_consumer(queue, consumer, forget=forget)
    text = f"gave back {amount(ended.messages, 'message')} of {amount(ended.leases, 'lease')}"
    Output(as_json).outcome(ended, f"{text}, and forgot {consumer}" if forget else text)
