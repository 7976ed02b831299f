"""``rockdove topic set``."""

from typing import Annotated

import typer

from rockdove.cli import option
from rockdove.cli.output import Output
from rockdove.cli.pair import pairs
from rockdove.cli.service import connect
from rockdove.client.endpoint import DEFAULT_ENDPOINT
from rockdove.core.arn import parse_subscription_arn


def set_attributes(
    topic: Annotated[
        str, typer.Argument(metavar="TOPIC", help="The topic's name or ARN, or the ARN of a subscription.")
    ],
    changes: Annotated[
        list[str],
        typer.Argument(metavar="ATTRIBUTE=VALUE", help="An attribute, named as in SNS; no value removes a policy."),
    ],
    endpoint: option.Endpoint = DEFAULT_ENDPOINT,
    region: option.Region = None,
    config: option.Config = None,
    as_json: option.Json = False,
) -> None:
    """Change attributes of a topic, or of a subscription.

    \b
    Examples:
      rockdove topic set orders DisplayName=Orders
      rockdove topic set arn:aws:sns:us-east-1:000000000000:orders:6f1a5c0e-3b8f-4a53-9df2-1c1a52a8a0a1 \\
        'FilterPolicy={"kind": ["paid"]}'
    """
    wanted = pairs(changes)
    of_subscription = parse_subscription_arn(topic) is not None
    with connect(endpoint, region) as client:
        for name, value in wanted.items():
            if of_subscription:
                client.set_subscription_attribute(topic, name, value)
            else:
                client.set_topic_attribute(topic, name, value)
        now = client.subscription_attributes(topic) if of_subscription else client.topic_attributes(topic)
    found = {name: now.get(name, "") for name in wanted}
    output = Output(as_json)
    if as_json:
        output.document({"Attributes": found})
    else:
        output.facts([(name, value or "(removed)") for name, value in found.items()])
