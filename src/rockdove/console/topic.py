"""The topics that a queue gets messages from: subscriptions of this account."""

import asyncio

from msgspec import Struct
from starlette.routing import Route

from rockdove.console.place import API, queue_of
from rockdove.console.visit import Visit, reading
from rockdove.core.arn import parse_arn, parse_topic_arn

# Subscriptions of which a page tells the attributes; each is a request.
_DETAILED = 50


class Subscription(Struct):
    """``raw``: messages come as they were published, not in an envelope."""

    arn: str
    topic: str
    topic_arn: str
    raw: bool | None = None
    filter: str = ""
    filter_scope: str = ""
    dead_letter: str = ""


async def topics(visit: Visit) -> dict[str, list[Subscription]]:
    here = (visit.session.account.id, queue_of(visit))
    listed = await visit.client.list_subscriptions()
    found = [
        Subscription(each.subscription_arn, _title(each.topic_arn), each.topic_arn)
        for each in listed
        if parse_arn(each.endpoint) == here
    ]
    found.sort(key=lambda subscription: subscription.topic)
    await asyncio.gather(*(_detail(visit, subscription) for subscription in found[:_DETAILED]))
    return {"subscriptions": found}


def _title(arn: str) -> str:
    topic = parse_topic_arn(arn)
    return topic[1] if topic else arn


async def _detail(visit: Visit, subscription: Subscription) -> None:
    told = await visit.client.subscription_attributes(subscription.arn)
    subscription.raw = told.get("RawMessageDelivery") == "true"
    subscription.filter = told.get("FilterPolicy", "")
    subscription.filter_scope = told.get("FilterPolicyScope", "") if subscription.filter else ""
    subscription.dead_letter = told.get("RedrivePolicy", "")


ROUTES = [Route(f"{API}/topics", reading(topics), methods=["GET"])]
