"""The tags of a queue."""

from msgspec import Struct
from starlette.routing import Route

from rockdove.console.place import API, queue_of
from rockdove.console.visit import Visit, action, reading
from rockdove.console.wrong import Wrong
from rockdove.core.errors import InvalidParameterValue, OverLimit


class Tag(Struct):
    key: str
    value: str = ""


class Untag(Struct):
    key: str


async def tags(visit: Visit) -> dict[str, list[Tag]]:
    found = await visit.client.tags(queue_of(visit))
    return {"tags": [Tag(key, value) for key, value in sorted(found.items())]}


async def put(visit: Visit, tag: Tag) -> None:
    key = tag.key.strip()
    if not key:
        raise Wrong("Give the tag a key.", "key")
    try:
        await visit.client.tag_queue(queue_of(visit), {key: tag.value.strip()})
    except (InvalidParameterValue, OverLimit) as fault:
        raise Wrong(fault.message, "key") from None


async def remove(visit: Visit, untag: Untag) -> None:
    await visit.client.untag_queue(queue_of(visit), [untag.key])


ROUTES = [
    Route(f"{API}/tags", reading(tags), methods=["GET"]),
    Route(f"{API}/tags", action(Tag, put), methods=["POST"]),
    Route(f"{API}/tags/remove", action(Untag, remove), methods=["POST"]),
]
