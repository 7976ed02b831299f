"""The page ``/queues/<account>/<name>``: one queue, live, and all that can be done with it."""

from typing import Final

from starlette.responses import Response
from starlette.routing import Route

from rockdove.console.access import ACTIONS
from rockdove.console.attribute import GROUPS, Attribute
from rockdove.console.place import PAGE, queue_of
from rockdove.console.snippet import Target, snippets
from rockdove.console.visit import Visit, page
from rockdove.core import limits

# Of the inputs of the page.
_LIMITS: Final = {
    "delay": limits.MAX_DELAY_S,
    "visibility": limits.MAX_VISIBILITY_TIMEOUT_S,
    "wait": limits.MAX_WAIT_S,
    "receive": limits.MAX_RECEIVE_EXTENDED,
    "move_rate": limits.MAX_MOVE_RATE,
    "id": limits.MAX_ID_LENGTH,
    "attributes": limits.MAX_MESSAGE_ATTRIBUTES,
    "weight": limits.MAX_WEIGHT,
    "tag_key": limits.MAX_TAG_KEY_LENGTH,
    "tag_value": limits.MAX_TAG_VALUE_LENGTH,
}


# The part about permissions has it.
_ELSEWHERE: Final = "Policy"


def listed(fifo: bool) -> list[tuple[str, list[Attribute]]]:
    """Groups of attributes that a queue of that kind has, by title."""
    other = "standard" if fifo else "fifo"
    groups = [
        (group.title, [each for each in group.attributes if each.only != other and each.name != _ELSEWHERE])
        for group in GROUPS
    ]
    return [(title, attributes) for title, attributes in groups if attributes]


async def show(visit: Visit) -> Response:
    name = queue_of(visit)
    url = await visit.client.queue_url(name)
    told = await visit.client.attributes(name)
    service = visit.console.service
    target = Target(service.endpoint, url, name, visit.console.settings.region, signed=bool(visit.session.id))
    return visit.render(
        "queue.html",
        name=name,
        url=url,
        arn=told["QueueArn"],
        fifo=target.fifo,
        visibility=told.get("VisibilityTimeout", ""),
        delay=told.get("DelaySeconds", ""),
        by_content=told.get("ContentBasedDeduplication") == "true",
        attributes=GROUPS,
        listed=listed(target.fifo),
        actions=ACTIONS,
        limits=_LIMITS,
        snippets=snippets(target),
    )


ROUTES = [Route(PAGE, page(show))]
