"""A message as it is written on a page, and sent."""

import base64
import binascii
import re
from typing import Final

from msgspec import Struct
from starlette.routing import Route

from rockdove.console.place import API, queue_of
from rockdove.console.typed import whole
from rockdove.console.visit import Visit, action
from rockdove.console.wrong import Wrong
from rockdove.core.errors import BatchRequestTooLong, InvalidMessageContents, InvalidParameterValue, MissingParameter
from rockdove.core.limits import MAX_DELAY_S
from rockdove.core.message import Attribute

_FIFO: Final = ".fifo"
_NUMBER: Final = re.compile(r"[+-]?(\d+\.?\d*|\.\d+)([eE][+-]?\d+)?", re.ASCII)
# What the texts of faults name, with the input that it is about.
_FIELDS: Final = (
    ("MessageDeduplicationId", "deduplication"),
    ("MessageGroupId", "group"),
    ("DelaySeconds", "delay"),
    ("MessageBody", "body"),
)


class DraftAttribute(Struct):
    """``place``: which row of the form it stands in. ``kind``: String, Number or Binary, with a label if wanted."""

    place: int
    name: str = ""
    kind: str = "String"
    value: str = ""


class Draft(Struct):
    """As it is typed."""

    body: str
    delay: str = ""
    group: str = ""
    deduplication: str = ""
    attributes: list[DraftAttribute] = []


class Sent(Struct):
    id: str
    sequence: str | None


async def send(visit: Visit, draft: Draft) -> Sent:
    queue = queue_of(visit)
    _check(queue, draft)
    try:
        sent = await visit.client.send(
            queue,
            draft.body,
            delay_s=whole(draft.delay, "delay", 0, MAX_DELAY_S),
            attributes=attributes(draft.attributes) or None,
            group_id=draft.group.strip() or None,
            deduplication_id=draft.deduplication.strip() or None,
        )
    except InvalidMessageContents:
        raise Wrong(
            "The body has characters that SQS does not take: control characters. Take them out.", "body"
        ) from None
    except BatchRequestTooLong as fault:
        raise Wrong(fault.message, "body") from None
    except (InvalidParameterValue, MissingParameter) as fault:
        raise Wrong(fault.message, _field_of(fault.message)) from None
    return Sent(sent.message_id, sent.sequence_number)


def _check(queue: str, draft: Draft) -> None:
    if not draft.body:
        raise Wrong("A message needs a body.", "body")
    if not queue.endswith(_FIFO):
        return
    if not draft.group.strip():
        raise Wrong("In a FIFO queue each message belongs to a group. Name one; it need not be new.", "group")
    if draft.delay.strip():
        raise Wrong(
            "Messages of a FIFO queue have no delay of their own; the queue may have one. Leave this out.", "delay"
        )


def attributes(drafts: list[DraftAttribute]) -> dict[str, Attribute]:
    """Rows without name and value are left out. Raises `Wrong`, about an input of a row."""
    made: dict[str, Attribute] = {}
    for draft in drafts:
        name = draft.name.strip()
        if not name and not draft.value:
            continue
        if not name:
            raise Wrong("Give the attribute a name, or empty its value.", f"a{draft.place}-name")
        if name in made:
            raise Wrong(f"There are two attributes {name}.", f"a{draft.place}-name")
        made[name] = _attribute(draft)
    return made


def _attribute(draft: DraftAttribute) -> Attribute:
    field = f"a{draft.place}-value"
    if not draft.value:
        raise Wrong("An attribute needs a value.", field)
    if draft.kind.startswith("Number") and not _NUMBER.fullmatch(draft.value.strip()):
        raise Wrong("Must be a number, as in 42 or -1.5e3. Choose String for text.", field)
    if not draft.kind.startswith("Binary"):
        return Attribute(draft.kind, draft.value)
    try:
        value = base64.b64decode("".join(draft.value.split()), validate=True)
    except binascii.Error:
        raise Wrong("The value of a binary attribute is written in base64, as in aGVsbG8=.", field) from None
    return Attribute(draft.kind, binary_value=value)


def _field_of(text: str) -> str | None:
    return next((field for name, field in _FIELDS if name in text), None)


ROUTES = [Route(f"{API}/send", action(Draft, send), methods=["POST"])]
