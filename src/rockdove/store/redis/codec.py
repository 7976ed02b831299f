"""Messages as Redis keeps them: four bytes of their size, then the message itself."""

from collections.abc import Sequence
from typing import Any

import msgspec

from rockdove.core import ids
from rockdove.core.message import Entry, Message
from rockdove.store.common.size import stored_bytes

_encode = msgspec.msgpack.Encoder().encode
_decode = msgspec.msgpack.Decoder(Message).decode
_SIZE_BYTES = 4


def encode_message(message: Message) -> bytes:
    return stored_bytes(message).to_bytes(_SIZE_BYTES, "big") + _encode(message)


def entry_name(id: int) -> str:
    """How an entry is called within its physical queue."""
    return f"{id & ids.SEQUENCE_MASK:010x}"


def entry_id(number: int, name: bytes) -> int:
    return ids.entry_id(number, int(name, 16))


def entries(number: int, flat: Sequence[Any]) -> list[Entry]:
    """Of each entry: its name, visible_us, receive count, time of the first receive, and message."""
    return [
        Entry(
            entry_id(number, flat[at]),
            int(flat[at + 1]),
            _decode(memoryview(flat[at + 4])[_SIZE_BYTES:]),
            int(flat[at + 2]),
            int(flat[at + 3]),
        )
        for at in range(0, len(flat), 5)
    ]
