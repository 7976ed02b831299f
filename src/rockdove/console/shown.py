"""A message as pages show it."""

import base64
from collections.abc import Mapping
from typing import Final

from msgspec import Struct

from rockdove.client import Message, PeekedMessage
from rockdove.core.message import Attribute

# Characters of a body in a list; the rest is asked for when somebody wants to read it.
CUT: Final = 2_000


class ShownAttribute(Struct):
    """``value`` is base64 where the type is binary."""

    name: str
    type: str
    value: str


class Shown(Struct, omit_defaults=True):
    """Times are seconds since 1970."""

    id: str
    body: str
    # In bytes, of all of the body.
    size: int
    md5: str
    # SQS's own, with its names.
    attributes: dict[str, str]
    message_attributes: list[ShownAttribute]
    sent: float | None = None
    receives: int = 0
    group: str | None = None
    is_cut: bool = False
    # Of one that was looked at.
    state: str | None = None
    visible_from: float | None = None
    physical: int | None = None
    # Of one that was received.
    receipt: str | None = None


def shown(message: Message | PeekedMessage, cut: int | None = CUT) -> Shown:
    attributes = message.attributes
    whole = message.body
    body = whole if cut is None else whole[:cut]
    made = Shown(
        id=message.message_id,
        body=body,
        size=len(whole.encode(errors="replace")),
        md5=message.md5_of_body,
        attributes=attributes,
        message_attributes=_attributes(message.message_attributes),
        sent=_seconds(attributes.get("SentTimestamp")),
        receives=int(attributes.get("ApproximateReceiveCount", "0")),
        group=attributes.get("MessageGroupId"),
        is_cut=len(body) < len(whole),
    )
    if isinstance(message, Message):
        made.receipt = message.receipt_handle
    else:
        made.state, made.visible_from = message.state, message.visible_from
        made.physical = message.physical_queue
    return made


def _seconds(milliseconds: str | None) -> float | None:
    return None if milliseconds is None else int(milliseconds) / 1_000


def _attributes(attributes: Mapping[str, Attribute]) -> list[ShownAttribute]:
    return [ShownAttribute(name, each.data_type, _value(each)) for name, each in attributes.items()]


def _value(attribute: Attribute) -> str:
    if attribute.binary_value is not None:
        return base64.b64encode(attribute.binary_value).decode()
    return attribute.string_value or ""
