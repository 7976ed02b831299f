"""Receiving by hand: messages are hidden from others until they are deleted, put back, or time is up."""

import asyncio
import time

from msgspec import Struct
from starlette.routing import Route

from rockdove.client import Message
from rockdove.console.place import API, queue_of
from rockdove.console.shown import Shown, shown
from rockdove.console.typed import whole
from rockdove.console.visit import Visit, action
from rockdove.console.wrong import Wrong
from rockdove.core.errors import Fault, InvalidParameterValue, MessageNotInflight, ReceiptHandleIsInvalid
from rockdove.core.limits import MAX_RECEIVE_EXTENDED, MAX_VISIBILITY_TIMEOUT_S, MAX_WAIT_S

_MOST = 10
_GONE = "This receipt does not hold the message any more: it is deleted, or was received again. Take it off the list."


class Wish(Struct):
    """As it is typed."""

    limit: str = ""
    wait: str = ""
    visibility: str = ""


class Received(Struct):
    """``until``: when the messages become visible again, in seconds since 1970."""

    messages: list[Shown]
    until: float


class Held(Struct):
    receipts: list[str]


class Extension(Struct):
    """``seconds``: from now; 0 puts the messages back."""

    receipts: list[str]
    seconds: str


class Outcome(Struct):
    """What did not work, by receipt."""

    failed: dict[str, str]
    until: float = 0.0


async def receive(visit: Visit, wish: Wish) -> Received:
    queue = queue_of(visit)
    limit = whole(wish.limit, "limit", 1, MAX_RECEIVE_EXTENDED) or _MOST
    wait_s = whole(wish.wait, "wait", 0, MAX_WAIT_S) or 0
    visibility_s = whole(wish.visibility, "visibility", 0, MAX_VISIBILITY_TIMEOUT_S)
    if visibility_s is None:
        told = await visit.client.attributes(queue, ["VisibilityTimeout"])
        visibility_s = int(told["VisibilityTimeout"])
    begun_s = time.time()
    messages = await _while_there(visit, queue, limit, wait_s, visibility_s)
    # When the service hid them is between the two; the earlier is the safe one, unless it waited.
    hidden_s = begun_s if not wait_s else time.time()
    return Received([shown(message, cut=None) for message in messages], hidden_s + visibility_s)


async def _while_there(visit: Visit, queue: str, limit: int, wait_s: int, visibility_s: int) -> list[Message]:
    """A page that is closed while it waits takes no message along."""
    asking = asyncio.ensure_future(visit.client.receive(queue, limit=limit, wait_s=wait_s, visibility_s=visibility_s))
    leaving = asyncio.ensure_future(_left(visit))
    try:
        await asyncio.wait({asking, leaving}, return_when=asyncio.FIRST_COMPLETED)
        return await asking if asking.done() else []
    finally:
        asking.cancel()
        leaving.cancel()
        await asyncio.gather(asking, leaving, return_exceptions=True)


async def _left(visit: Visit) -> None:
    while (await visit.request.receive())["type"] != "http.disconnect":
        pass


async def delete(visit: Visit, held: Held) -> Outcome:
    result = await visit.client.delete_batch(queue_of(visit), held.receipts)
    return Outcome({held.receipts[int(entry.id)]: entry.message or entry.code for entry in result.failed})


async def extend(visit: Visit, extension: Extension) -> Outcome:
    queue = queue_of(visit)
    seconds = whole(extension.seconds, "seconds", 0, MAX_VISIBILITY_TIMEOUT_S)
    if seconds is None:
        raise Wrong("Say for how many seconds from now.", "seconds")
    failed: dict[str, str] = {}
    # One by one: their faults say more than those of a batch.
    for receipt in extension.receipts:
        try:
            await visit.client.change_visibility(queue, receipt, seconds)
        except (MessageNotInflight, ReceiptHandleIsInvalid, InvalidParameterValue) as fault:
            failed[receipt] = _why(fault)
    return Outcome(failed, time.time() + seconds)


def _why(fault: Fault) -> str:
    """In words for people, where the fault's are for programs."""
    if isinstance(fault, MessageNotInflight):
        return "Its time was up: it is visible to others again. Receive it anew."
    if isinstance(fault, ReceiptHandleIsInvalid) or "does not exist" in fault.message:
        return _GONE
    return fault.message


ROUTES = [
    Route(f"{API}/receive", action(Wish, receive), methods=["POST"]),
    Route(f"{API}/delete-messages", action(Held, delete), methods=["POST"]),
    Route(f"{API}/extend", action(Extension, extend), methods=["POST"]),
]
