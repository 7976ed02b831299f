"""The page ``/``: all queues of an account; to create, edit, purge and delete them."""

import json
from collections.abc import Mapping

from msgspec import Struct
from starlette.responses import Response
from starlette.routing import Route

from rockdove.client import AsyncClient
from rockdove.console.attribute import DEAD_LETTER_QUEUE, GROUPS, MAX_RECEIVES, NAMES
from rockdove.console.visit import Visit, action, page, reading
from rockdove.console.wrong import Wrong
from rockdove.core.errors import (
    InvalidAddress,
    InvalidAttributeName,
    InvalidAttributeValue,
    InvalidParameterValue,
    QueueDoesNotExist,
    QueueNameExists,
)

_FIFO = ".fifo"
_DEFAULT_RECEIVES = "5"


async def show(visit: Visit) -> Response:
    return visit.render("queues.html", attributes=GROUPS)


class NewQueue(Struct):
    """Attributes that are empty are left to their defaults."""

    name: str
    fifo: bool = False
    attributes: dict[str, str] = {}


class Change(Struct):
    """What has changed in the form; an empty value takes an attribute away."""

    attributes: dict[str, str]


class Sure(Struct):
    """The name of the queue, as somebody has typed it."""

    typed: str


async def create(visit: Visit, new: NewQueue) -> dict[str, str]:
    name = new.name.strip()
    if not name:
        raise Wrong("Give the queue a name.", "name")
    if new.fifo and not name.endswith(_FIFO):
        name += _FIFO
    given = {key: value.strip() for key, value in new.attributes.items() if value.strip()}
    attributes = await _for_service(visit.client, given, {})
    if name.endswith(_FIFO):
        attributes["FifoQueue"] = "true"
    try:
        await visit.client.create_queue(name, attributes=attributes)
    except QueueNameExists:
        raise Wrong(
            f"There is a queue {name} already, with other attributes. Choose another name, or edit it.", "name"
        ) from None
    except (InvalidAddress, InvalidParameterValue) as fault:
        raise Wrong(fault.message, _field_of(fault.message) or "name") from None
    except (InvalidAttributeName, InvalidAttributeValue) as fault:
        raise Wrong(fault.message, _field_of(fault.message)) from None
    return {"name": name}


async def attributes(visit: Visit) -> dict[str, dict[str, str]]:
    """As the form has them."""
    told = await visit.client.attributes(_name(visit))
    policy = json.loads(told.get("RedrivePolicy") or "{}")
    if policy:
        told[DEAD_LETTER_QUEUE] = str(policy["deadLetterTargetArn"]).rpartition(":")[2]
        told[MAX_RECEIVES] = str(policy["maxReceiveCount"])
    return {"attributes": told}


async def change(visit: Visit, change: Change) -> None:
    name = _name(visit)
    given = {key: value.strip() for key, value in change.attributes.items()}
    before = (await attributes(visit))["attributes"]
    try:
        await visit.client.set_attributes(name, await _for_service(visit.client, given, before))
    except (InvalidAttributeName, InvalidAttributeValue, InvalidParameterValue) as fault:
        raise Wrong(fault.message, _field_of(fault.message)) from None


async def purge(visit: Visit, sure: Sure) -> None:
    await visit.client.purge(_sure(visit, sure))


async def delete(visit: Visit, sure: Sure) -> None:
    await visit.client.delete_queue(_sure(visit, sure))


def _name(visit: Visit) -> str:
    name: str = visit.request.path_params["name"]
    return name


def _sure(visit: Visit, sure: Sure) -> str:
    name = _name(visit)
    if sure.typed.strip() != name:
        raise Wrong(f"This is not the queue's name. Type {name} to confirm.", "typed")
    return name


async def _for_service(client: AsyncClient, given: Mapping[str, str], before: Mapping[str, str]) -> dict[str, str]:
    """The form has two inputs for RedrivePolicy. Raises `Wrong` for a dead-letter queue that there is not."""
    unknown = given.keys() - NAMES
    if unknown:
        raise Wrong(f"There is no attribute {min(unknown)}. Load the page again.")
    attributes = {key: value for key, value in given.items() if key not in (DEAD_LETTER_QUEUE, MAX_RECEIVES)}
    if DEAD_LETTER_QUEUE in given or MAX_RECEIVES in given:
        queue = given.get(DEAD_LETTER_QUEUE, before.get(DEAD_LETTER_QUEUE, ""))
        count = given.get(MAX_RECEIVES) or before.get(MAX_RECEIVES) or _DEFAULT_RECEIVES
        attributes["RedrivePolicy"] = await _redrive(client, queue, count) if queue else ""
    return {key: value for key, value in attributes.items() if value or before.get(key)}


async def _redrive(client: AsyncClient, queue: str, count: str) -> str:
    if not count.isdigit():
        raise Wrong("Must be a whole number.", MAX_RECEIVES)
    try:
        arn = queue if queue.startswith("arn:") else (await client.attributes(queue, ["QueueArn"]))["QueueArn"]
    except QueueDoesNotExist:
        raise Wrong(f"There is no queue {queue}. Create it first.", DEAD_LETTER_QUEUE) from None
    return json.dumps({"deadLetterTargetArn": arn, "maxReceiveCount": int(count)})


def _field_of(text: str) -> str | None:
    """The input that a fault of the service is about: its text names the attribute."""
    if "maxReceiveCount" in text:
        return MAX_RECEIVES
    if "RedrivePolicy" in text:
        return DEAD_LETTER_QUEUE
    return next((name for name in NAMES if name in text), None)


ROUTES = [
    Route("/", page(show)),
    Route("/api/queues", action(NewQueue, create), methods=["POST"]),
    Route("/api/queues/{name}/attributes", reading(attributes), methods=["GET"]),
    Route("/api/queues/{name}/attributes", action(Change, change), methods=["POST"]),
    Route("/api/queues/{name}/purge", action(Sure, purge), methods=["POST"]),
    Route("/api/queues/{name}/delete", action(Sure, delete), methods=["POST"]),
]
