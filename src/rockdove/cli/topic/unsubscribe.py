"""``rockdove topic unsubscribe``."""

from typing import Annotated

import typer

from rockdove.cli import option
from rockdove.cli.failure import Code, Failure
from rockdove.cli.output import Output
from rockdove.cli.service import connect, name_of
from rockdove.client.endpoint import DEFAULT_ENDPOINT
from rockdove.core.arn import parse_arn


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
        wanted = [each for each in subscriptions if _is_meant(queue, each.endpoint)]
        if not wanted:
            raise Failure(
                f'{name_of(queue)} gets nothing of {topic}; "rockdove topic show" tells who does', Code.NOT_FOUND
            )
        if len(wanted) > 1:
            raise Failure(f"several accounts have a queue {queue} that gets {topic}; give its ARN", Code.USAGE)
        client.unsubscribe(wanted[0].subscription_arn)
    text = f"{name_of(queue)} gets nothing more of {name_of(topic)}"
    Output(as_json).outcome({"SubscriptionArn": wanted[0].subscription_arn}, text)


def _is_meant(queue: str, endpoint: str) -> bool:
    """Whether a name, a URL or an ARN means the queue with that ARN."""
    key = parse_arn(endpoint)
    if queue.startswith("arn:"):
        return parse_arn(queue) == key
    if "/" in queue:
        return tuple(queue.rsplit("/", 2)[1:]) == key
    return key is not None and key[1] == queue
