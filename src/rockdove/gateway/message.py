"""What devices send are bytes; what queues hold is text."""

import base64
import hashlib
import re
import uuid
from collections.abc import Mapping

from rockdove.client import Message, Outgoing
from rockdove.client.outgoing import AttributeValue
from rockdove.core.limits import MAX_MESSAGE_BYTES
from rockdove.core.message import FORBIDDEN
from rockdove.gateway.error import Refused, Why

# The attribute of a message whose body is not the bytes themselves.
ENCODING = "Encoding"
_BASE64 = "base64"
# What SQS takes as the id of a group, and as that of a message.
_ID = re.compile(r"[!-~]{1,128}")


def outgoing(
    payload: bytes,
    attributes: Mapping[str, AttributeValue],
    sender: str,
    queue: str,
    group: str | None = None,
    dedup: str | None = None,
) -> Outgoing:
    """A message with these bytes. Raises `Refused`.

    On a FIFO queue those of one ``sender`` are a group, unless it names one, and what is sent on twice is there once.
    """
    if not payload:
        raise Refused(Why.CONTENT, "A message must not be empty.")
    text = _text(payload)
    fifo = queue.endswith(".fifo")
    message = Outgoing(
        body=text if text is not None else base64.b64encode(payload).decode(),
        attributes=attributes if text is not None else {**attributes, ENCODING: _BASE64},
        group_id=group or (_group(sender) if fifo else None),
        deduplication_id=dedup or (uuid.uuid4().hex if fifo else None),
    )
    if message.size_bytes > MAX_MESSAGE_BYTES:
        raise Refused(
            Why.TOO_LARGE,
            f"A message can have {MAX_MESSAGE_BYTES} bytes with its attributes, and this one has {message.size_bytes}.",
        )
    return message


def payload_of(message: Message) -> bytes:
    """The bytes of a message; one that is said to be base64 and is not is taken as it is."""
    marked = message.message_attributes.get(ENCODING)
    if marked is not None and marked.string_value == _BASE64:
        try:
            return base64.b64decode(message.body, validate=True)
        except ValueError:
            pass
    return message.body.encode()


def _group(sender: str) -> str:
    return sender if _ID.fullmatch(sender) else hashlib.blake2b(sender.encode(), digest_size=16).hexdigest()


def _text(payload: bytes) -> str | None:
    """None: a queue could not hold it as text."""
    try:
        text = payload.decode()
    except UnicodeDecodeError:
        return None
    return None if FORBIDDEN.search(text) else text
