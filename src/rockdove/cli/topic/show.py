"""``rockdove topic show``."""

from typing import Annotated

import typer

from rockdove.cli import option
from rockdove.cli.output import Output
from rockdove.cli.service import connect, name_of
from rockdove.client.endpoint import DEFAULT_ENDPOINT

# Of a subscription, what people want to know besides its queue.
_TOLD = ("RawMessageDelivery", "FilterPolicyScope", "FilterPolicy", "RedrivePolicy")


def show(
    topic: Annotated[str, typer.Argument(metavar="TOPIC", help="The topic's name or ARN.")],
    endpoint: option.Endpoint = DEFAULT_ENDPOINT,
    region: option.Region = None,
    config: option.Config = None,
    as_json: option.Json = False,
) -> None:
    """Show a topic: its attributes, its tags, and which queues get what of it.

    \b
    Examples:
      rockdove topic show orders
      rockdove topic show orders --json
    """
    output = Output(as_json)
    with connect(endpoint, region) as client:
        arn = client.topic_arn(topic)
        attributes = client.topic_attributes(arn)
        tags = client.topic_tags(arn)
        subscriptions = [
            client.subscription_attributes(each.subscription_arn) for each in client.topic_subscriptions(arn)
        ]
    if as_json:
        output.document({"TopicArn": arn, "Attributes": attributes, "Tags": tags, "Subscriptions": subscriptions})
        return
    facts = [(name, value) for name, value in attributes.items() if value and not name.startswith("Subscriptions")]
    output.facts(facts + [(f"tag {key}", value) for key, value in tags.items()])
    for each in subscriptions:
        told = [(name, each[name]) for name in _TOLD if name in each]
        output.line("")
        output.facts([("queue", name_of(each["Endpoint"])), ("subscription", each["SubscriptionArn"]), *told])
