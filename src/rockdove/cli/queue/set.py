"""``rockdove queue set``."""

from typing import Annotated

import typer

from rockdove.cli import option
from rockdove.cli.output import Output
from rockdove.cli.pair import pairs
from rockdove.cli.service import connect
from rockdove.client.endpoint import DEFAULT_ENDPOINT


def set_attributes(
    queue: Annotated[str, typer.Argument(metavar="NAME", help="The queue's name or URL.")],
    changes: Annotated[
        list[str],
        typer.Argument(metavar="ATTRIBUTE=VALUE", help="An attribute, named as in SQS; no value removes a policy."),
    ],
    endpoint: option.Endpoint = DEFAULT_ENDPOINT,
    region: option.Region = None,
    config: option.Config = None,
    as_json: option.Json = False,
) -> None:
    """Change attributes of a queue.

    \b
    Examples:
      rockdove queue set jobs VisibilityTimeout=60 DelaySeconds=5
      rockdove queue set jobs \\
        'RedrivePolicy={"deadLetterTargetArn": "arn:aws:sqs:us-east-1:000000000000:dead", "maxReceiveCount": 5}'
      rockdove queue set jobs RedrivePolicy=
    """
    wanted = pairs(changes)
    with connect(endpoint, region, queue) as client:
        client.set_attributes(queue, wanted)
        now = client.attributes(queue)
    found = {name: now.get(name, "") for name in wanted}
    output = Output(as_json)
    if as_json:
        output.document({"Attributes": found})
    else:
        output.facts([(name, value or "(removed)") for name, value in found.items()])
