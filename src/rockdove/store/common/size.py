"""How many bytes of a store a message takes."""

import msgspec

from rockdove.core.message import Extra, Message

encode_extra = msgspec.json.Encoder().encode


def stored_bytes(message: Message) -> int:
    """Of the body, and of what else a message has, as they are kept."""
    size = len(message.body)
    return size if message.extra is None else size + len(encode_extra(message.extra))


def extra_text(extra: Extra | None) -> str | None:
    """What else a message has, as it is kept."""
    return None if extra is None else encode_extra(extra).decode()
