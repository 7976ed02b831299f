"""``rockdove queue create``."""

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
    name: Annotated[str, typer.Argument(metavar="NAME", help="The queue's name.")],
    attribute: Annotated[
        list[str] | None,
        typer.Option("--attribute", "-a", metavar="NAME=VALUE", help="A queue attribute, named as in SQS; repeatable."),
    ] = None,
    tag: Annotated[
        list[str] | None, typer.Option("--tag", "-t", metavar="KEY=VALUE", help="A tag; repeatable.")
    ] = None,
    fifo: Annotated[bool, typer.Option("--fifo", help="A FIFO queue; its name ends in .fifo.")] = False,
    endpoint: option.Endpoint = DEFAULT_ENDPOINT,
    region: option.Region = None,
    config: option.Config = None,
    as_json: option.Json = False,
) -> None:
    """Create a queue and print its URL.

    A queue that exists with the same attributes is fine; with others, nothing is changed.

    \b
    Examples:
      rockdove queue create jobs
      rockdove queue create jobs --attribute VisibilityTimeout=60 --tag team=red
      rockdove queue create orders.fifo --fifo --attribute ContentBasedDeduplication=true
    """
    if fifo and not name.endswith(_FIFO):
        raise Failure(f"the name of a FIFO queue ends in {_FIFO}: {name}{_FIFO}", Code.USAGE)
    attributes = pairs(attribute)
    if name.endswith(_FIFO):
        # It can be nothing else.
        attributes.setdefault("FifoQueue", "true")
    with connect(endpoint, region) as client:
        url = client.create_queue(name, attributes=attributes, tags=pairs(tag))
    Output(as_json).outcome({"QueueUrl": url}, url)
