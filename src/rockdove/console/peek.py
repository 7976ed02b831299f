"""Looking at messages without disturbing them: page by page, or those that are received next."""

import time
from collections.abc import Mapping

from msgspec import Struct
from starlette.routing import Route

from rockdove.console.place import API, queue_of
from rockdove.console.shown import Shown, shown
from rockdove.console.typed import number, whole
from rockdove.console.visit import Visit, reading
from rockdove.console.wrong import Wrong
from rockdove.core.errors import InvalidParameterValue
from rockdove.core.limits import MAX_PHYSICAL_QUEUES

_PAGE = 20
# Requests for one page: the service looks at many messages to find those of one group, and then gives what it has.
_MOST_REQUESTS = 5
# What is asked for around the time at which a message was sent, in seconds: times are told in milliseconds.
_AROUND_S = 0.002
_LONGEST_S = 15 * 86_400.0


class Glance(Struct):
    """``next``: the token of the page after this one. ``found``: how many messages the page has."""

    messages: list[Shown]
    next: str | None


class Choice(Struct):
    """Of all messages."""

    physical: int | None
    since: float | None
    group: str | None


def choice(asked: Mapping[str, str], now_s: float) -> Choice:
    """As the inputs above the table say. Raises `Wrong`."""
    lately_s = number(asked.get("lately", ""), "lately", 0, _LONGEST_S)
    return Choice(
        physical=whole(asked.get("physical", ""), "physical", 0, MAX_PHYSICAL_QUEUES - 1),
        since=None if lately_s is None else now_s - lately_s,
        group=asked.get("group", "").strip() or None,
    )


async def peek(visit: Visit) -> Glance:
    queue, asked = queue_of(visit), visit.request.query_params
    if asked.get("order") == "next":
        return Glance([shown(message) for message in await visit.client.peek(queue, limit=_PAGE)], None)
    wanted = choice(asked, time.time())
    token = asked.get("token") or None
    found: list[Shown] = []
    try:
        for _ in range(_MOST_REQUESTS):
            page = await visit.client.peek_page(
                queue,
                limit=_PAGE - len(found),
                token=token,
                physical_queue=wanted.physical,
                sent_from=wanted.since,
                group_id=wanted.group,
            )
            found += [shown(message) for message in page.messages]
            token = page.next_token
            if token is None or len(found) >= _PAGE:
                break
    except InvalidParameterValue as fault:
        raise Wrong(f"The list cannot go on from here: {fault.message} Go back to its first page.") from None
    return Glance(found, token)


async def read(visit: Visit) -> dict[str, str]:
    """All of one message's body: the list has its beginning."""
    queue, asked = queue_of(visit), visit.request.query_params
    sent = number(asked.get("sent", ""), "sent", 0, 1e12) or 0.0
    token: str | None = None
    for _ in range(_MOST_REQUESTS):
        page = await visit.client.peek_page(
            queue,
            limit=10,
            token=token,
            physical_queue=whole(asked.get("physical", ""), "physical", 0, MAX_PHYSICAL_QUEUES - 1),
            sent_from=max(0.0, sent - _AROUND_S),
            sent_until=sent + _AROUND_S,
        )
        for message in page.messages:
            if message.message_id == asked.get("id"):
                return {"body": message.body}
        token = page.next_token
        if token is None:
            break
    raise Wrong("This message is not in the queue any more.", status=404)


ROUTES = [
    Route(f"{API}/peek", reading(peek), methods=["GET"]),
    Route(f"{API}/message", reading(read), methods=["GET"]),
]
