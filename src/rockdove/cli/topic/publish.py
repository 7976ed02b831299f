"""``rockdove topic publish``."""

from typing import Annotated

import typer

from rockdove.cli import option
from rockdove.cli.output import Output
from rockdove.cli.pair import attributes
from rockdove.cli.service import connect
from rockdove.client.endpoint import DEFAULT_ENDPOINT


def publish(
    topic: Annotated[str, typer.Argument(metavar="TOPIC", help="The topic's name or ARN.")],
    message: Annotated[str, typer.Argument(metavar="MESSAGE", help="The message.")],
    subject: Annotated[str | None, typer.Option("--subject", metavar="TEXT", help="A subject.")] = None,
    attribute: Annotated[
        list[str] | None,
        typer.Option(
            "--attribute",
            "-a",
            metavar="NAME=VALUE",
            help="A message attribute, text unless NAME:Number=VALUE or NAME:Binary=BASE64; repeatable.",
        ),
    ] = None,
    group: Annotated[
        str | None, typer.Option("--group", metavar="ID", help="The message group; FIFO topics need one.")
    ] = None,
    dedup_id: Annotated[
        str | None, typer.Option("--dedup-id", metavar="ID", help="The deduplication id, for FIFO topics.")
    ] = None,
    endpoint: option.Endpoint = DEFAULT_ENDPOINT,
    region: option.Region = None,
    config: option.Config = None,
    as_json: option.Json = False,
) -> None:
    """Publish a message. It is in all queues that are to get it when this command ends.

    \b
    Examples:
      rockdove topic publish orders "order 1"
      rockdove topic publish orders "order 1" --attribute kind=paid --attribute total:Number=12
      rockdove topic publish orders.fifo "order 1" --group customer-7 --dedup-id order-1
    """
    with connect(endpoint, region) as client:
        published = client.publish(
            topic,
            message,
            subject=subject,
            attributes=attributes(attribute),
            group_id=group,
            deduplication_id=dedup_id,
        )
    output = Output(as_json)
    if as_json:
        output.document(published)
    else:
        output.line(f"published {published.message_id}")
