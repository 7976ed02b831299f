"""``rockdove lease list``."""

import time
from typing import Annotated

import typer

from rockdove.cli import option
from rockdove.cli.figure import duration, moment
from rockdove.cli.output import Output, note
from rockdove.cli.service import connect
from rockdove.client.endpoint import DEFAULT_ENDPOINT


def list_leases(
    queue: Annotated[str, typer.Argument(metavar="QUEUE", help="The queue's name or URL.")],
    consumer: Annotated[str | None, typer.Option(metavar="ID", help="Only this consumer's.")] = None,
    each: Annotated[bool, typer.Option("--each", help="A line for each lease, not for each consumer.")] = False,
    endpoint: option.Endpoint = DEFAULT_ENDPOINT,
    region: option.Region = None,
    config: option.Config = None,
    as_json: option.Json = False,
) -> None:
    """List who has leased messages of a queue: the consumer that has been silent for longest first.

    \b
    Examples:
      rockdove lease list jobs
      rockdove lease list jobs --each --consumer nightly
    """
    with connect(endpoint, region, queue) as client:
        found = client.list_leases(queue, consumer)
    output = Output(as_json)
    if as_json:
        output.document(found)
    elif not found.leases:
        note(f"nobody has leased messages of {queue}" if consumer is None else f"{consumer} holds no leases of {queue}")
    elif each:
        leases = [
            (
                lease.consumer,
                f"{lease.shard}",
                f"{lease.sequence}",
                f"{lease.messages:,}",
                _when(lease.leased_timestamp),
            )
            for lease in found.leases
        ]
        output.table(("consumer", "shard", "sequence", "messages", "leased"), leases, numbers=(1, 2, 3))
    else:
        now = time.time()
        rows = [
            (
                holder.consumer,
                f"{holder.leases:,}",
                f"{holder.messages:,}",
                duration(max(int(now - holder.last_call_timestamp / 1000), 0)),
            )
            for holder in found.consumers
        ]
        output.table(("consumer", "leases", "messages", "silent for"), rows, numbers=(1, 2))


def _when(timestamp_ms: int) -> str:
    return moment(timestamp_ms / 1000)
