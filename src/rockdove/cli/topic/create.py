"""``rockdove topic create``."""

from typing import Annotated

import typer

from rockdove.cli import option
from rockdove.cli.failure import Code, Failure
from rockdove.cli.output import Output
from rockdove.cli.pair import pairs
from rockdove.cli.service import connect
from rockdove.client.endpoint import DEFAULT_ENDPOINT

_FIFO = ".fifo"


def create(
    name: Annotated[str, typer.Argument(metavar="NAME", help="The topic's name.")],
    attribute: Annotated[
        list[str] | None,
        typer.Option("--attribute", "-a", metavar="NAME=VALUE", help="A topic attribute, named as in SNS; repeatable."),
    ] = None,
    tag: Annotated[
        list[str] | None, typer.Option("--tag", "-t", metavar="KEY=VALUE", help="A tag; repeatable.")
    ] = None,
    fifo: Annotated[bool, typer.Option("--fifo", help="A FIFO topic; its name ends in .fifo.")] = False,
    endpoint: option.Endpoint = DEFAULT_ENDPOINT,
    region: option.Region = None,
    config: option.Config = None,
    as_json: option.Json = False,
) -> None:
    """Create a topic and print its ARN.

    A topic that exists with the same attributes is fine; with others, nothing is changed.

    \b
    Examples:
      rockdove topic create orders
      rockdove topic create orders.fifo --fifo --attribute ContentBasedDeduplication=true
    """
    if fifo and not name.endswith(_FIFO):
        raise Failure(f"the name of a FIFO topic ends in {_FIFO}: {name}{_FIFO}", Code.USAGE)
    attributes = pairs(attribute)
    if name.endswith(_FIFO):
        # It can be nothing else.
        attributes.setdefault("FifoTopic", "true")
    with connect(endpoint, region) as client:
        arn = client.create_topic(name, attributes=attributes, tags=pairs(tag))
    Output(as_json).outcome({"TopicArn": arn}, arn)
