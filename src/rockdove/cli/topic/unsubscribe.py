"""``rockdove topic unsubscribe``."""

from typing import Annotated

import typer

from rockdove.cli import option
from rockdove.cli.failure import Code, Failure
from rockdove.cli.output import Output
from rockdove.cli.service import connect, name_of
from rockdove.client.endpoint import DEFAULT_ENDPOINT


def unsubscribe(
    topic: Annotated[str, typer.Argument(metavar="TOPIC", help="The topic's name or ARN.")],
    queue: Annotated[str, typer.Argument(metavar="QUEUE", help="The queue's name, URL or ARN.")],
    endpoint: option.Endpoint = DEFAULT_ENDPOINT,
    region: option.Region = None,
    config: option.Config = None,
    as_json: option.Json = False,
) -> None:
    """Let a queue get no more of a topic. What it has got already stays in it.

    \b
    Example:
      rockdove topic unsubscribe orders billing
    """
    with connect(endpoint, region) as client:
        subscriptions = client.topic_subscriptions(topic)
        # The queue may be gone.
        wanted = [each for each in subscriptions if queue == each.endpoint or name_of(queue) == name_of(each.endpoint)]
        if not wanted:
            raise Failure(
                f'{name_of(queue)} gets nothing of {topic}; "rockdove topic show" tells who does', Code.NOT_FOUND
            )
        for each in wanted:
            client.unsubscribe(each.subscription_arn)
    arns = [each.subscription_arn for each in wanted]
    Output(as_json).outcome({"SubscriptionArns": arns}, f"{name_of(queue)} gets nothing more of {name_of(topic)}")
