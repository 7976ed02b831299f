"""``rockdove topic subscribe``."""

import json
from typing import Annotated

import typer

from rockdove.cli import option
from rockdove.cli.output import Output
from rockdove.cli.service import connect
from rockdove.client.endpoint import DEFAULT_ENDPOINT
from rockdove.core.filter import ATTRIBUTES, BODY


def subscribe(
    topic: Annotated[str, typer.Argument(metavar="TOPIC", help="The topic's name or ARN.")],
    queue: Annotated[str, typer.Argument(metavar="QUEUE", help="The queue's name, URL or ARN.")],
    raw: Annotated[bool, typer.Option("--raw", help="Send the message itself, without an envelope.")] = False,
    filter_policy: Annotated[
        str | None, typer.Option("--filter", metavar="JSON", help="A filter policy: only messages that fit it.")
    ] = None,
    body: Annotated[bool, typer.Option("--body", help="Filter by the body, not by the attributes.")] = False,
    dead_letters: Annotated[
        str | None, typer.Option("--dead-letters", metavar="QUEUE", help="Where what the queue does not take goes.")
    ] = None,
    endpoint: option.Endpoint = DEFAULT_ENDPOINT,
    region: option.Region = None,
    config: option.Config = None,
    as_json: option.Json = False,
) -> None:
    """Let a queue get what is published to a topic, and print the ARN of the subscription.

    \b
    Examples:
      rockdove topic subscribe orders billing
      rockdove topic subscribe orders billing --raw --filter '{"kind": ["paid", "refunded"]}'
      rockdove topic subscribe orders audit --filter '{"total": [{"numeric": [">", 100]}]}' --body
    """
    attributes = {"RawMessageDelivery": "true"} if raw else {}
    with connect(endpoint, region, queue) as client:
        if filter_policy is not None:
            attributes |= {"FilterPolicy": filter_policy, "FilterPolicyScope": BODY if body else ATTRIBUTES}
        if dead_letters is not None:
            with connect(endpoint, region, dead_letters) as other:
                arn = other.run(other.names.arn(dead_letters))
            attributes["RedrivePolicy"] = json.dumps({"deadLetterTargetArn": arn})
        subscription = client.subscribe(topic, queue, attributes=attributes)
    Output(as_json).outcome({"SubscriptionArn": subscription}, subscription)
