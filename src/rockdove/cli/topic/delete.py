"""``rockdove topic delete``."""

from typing import Annotated

import typer

from rockdove.cli import option
from rockdove.cli.confirmation import confirm
from rockdove.cli.figure import amount
from rockdove.cli.output import Output
from rockdove.cli.service import connect, name_of
from rockdove.client.endpoint import DEFAULT_ENDPOINT


def delete(
    topic: Annotated[str, typer.Argument(metavar="TOPIC", help="The topic's name or ARN.")],
    yes: option.Yes = False,
    endpoint: option.Endpoint = DEFAULT_ENDPOINT,
    region: option.Region = None,
    config: option.Config = None,
    as_json: option.Json = False,
) -> None:
    """Delete a topic with its subscriptions; the queues stay, with what they hold.

    \b
    Example:
      rockdove topic delete orders --yes
    """
    with connect(endpoint, region) as client:
        arn = client.topic_arn(topic)
        number = len(client.topic_subscriptions(arn))
        confirm(f"Delete the topic {name_of(arn)} with {amount(number, 'subscription')}?", yes)
        client.delete_topic(arn)
    text = f"deleted {name_of(arn)} with {amount(number, 'subscription')}"
    Output(as_json).outcome({"TopicArn": arn, "Subscriptions": number}, text)
