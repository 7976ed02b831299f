"""How many bytes of a store a message takes."""

from collections.abc import Sequence

import msgspec

from rockdove.core.message import Entry, Extra, Message
from rockdove.store.base import MOST_DEAD, MOST_DEAD_BYTES

encode_extra = msgspec.json.Encoder().encode


def stored_bytes(message: Message) -> int:
    """Of the body, and of what else a message has, as they are kept."""
    size = len(message.body)
    return size if message.extra is None else size + len(encode_extra(message.extra))


def extra_text(extra: Extra | None) -> str | None:
    """What else a message has, as it is kept."""
    return None if extra is None else encode_extra(extra).decode()


class DeadBound:
    """Whether a claim has met as many dead entries as it may: a number of them, or of their bytes."""

    def __init__(self, dead: Sequence[Entry]) -> None:
        """``dead`` grows meanwhile."""
        self._dead = dead
        self._seen = 0
        self._bytes = 0

    @property
    def is_reached(self) -> bool:
        if self._seen < len(self._dead):
            self._bytes += sum(stored_bytes(entry.message) for entry in self._dead[self._seen :])
            self._seen = len(self._dead)
        return self._seen >= MOST_DEAD or self._bytes >= MOST_DEAD_BYTES
