"""Looking at messages and changing nothing: a capability of stores."""

from collections.abc import Sequence
from typing import Protocol

from msgspec import Struct

from rockdove.core.message import Entry
from rockdove.store.base.done import Done
from rockdove.store.base.physical import Physical


class Sight(Struct, array_like=True, frozen=True, gc=False):
    """Where an entry stands, and how much it would be to read it: the bytes of its message."""

    visible_us: int
    id: int
    bytes: int


class Browsing(Protocol):
    """Looks at one physical queue at a time."""

    def oldest(self, physical: Physical, done: Done[int | None]) -> None:
        """When the oldest message was sent, at a cost that does not grow with their number; None: there is none."""

    def sight(self, physical: Physical, limit: int, done: Done[list[Sight]]) -> None:
        """Where the first entries stand in the order in which they become visible, without reading their messages."""

    def read(self, physical: Physical, ids: Sequence[int], done: Done[list[Entry]]) -> None:
        """Entries as they are; those that are gone are left out."""

    def scan(self, physical: Physical, after: int, limit: int, room_bytes: int, done: Done[list[Entry]]) -> None:
        """Look at the entries with the next ids after this one; none if there are no more.

        No more of them once those before are so many bytes; at least one.
        """
