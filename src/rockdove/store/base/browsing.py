"""Looking at messages and changing nothing: a capability of stores."""

from collections.abc import Sequence
from typing import Protocol

from msgspec import Struct

from rockdove.core.message import Entry
from rockdove.store.base.done import Done
from rockdove.store.base.physical import Physical

# Later than all times.
LATEST_US = 1 << 62
# Entries that one scan passes over at most.
MOST_PASSED = 10_000


class Sight(Struct, array_like=True, frozen=True, gc=False):
    """Where an entry stands, and how much it would be to read it: about the bytes of its message."""

    visible_us: int
    id: int
    bytes: int


class Page(Struct, array_like=True, frozen=True, gc=False):
    """Which entries of a physical queue to look at: those after an id, so many, of so many bytes together.

    Only those that were sent from one time to before another, and have that group.
    """

    after: int
    limit: int
    room_bytes: int
    sent_from_us: int = 0
    sent_until_us: int = LATEST_US
    group: str | None = None

    @property
    def takes_all(self) -> bool:
        return self.sent_from_us <= 0 and self.sent_until_us >= LATEST_US and self.group is None


class Scanned(Struct, array_like=True, gc=False):
    """``after`` is the id to go on after; None: there are no more."""

    entries: list[Entry]
    after: int | None


class Browsing(Protocol):
    """Looks at one physical queue at a time."""

    def oldest(self, physical: Physical, done: Done[int | None]) -> None:
        """When the oldest message was sent, at a cost that does not grow with their number; None: there is none."""

    def sight(self, physical: Physical, limit: int, done: Done[list[Sight]]) -> None:
        """Where the first entries stand in the order in which they become visible, without reading their messages."""

    def read(self, physical: Physical, ids: Sequence[int], done: Done[list[Entry]]) -> None:
        """Entries as they are; those that are gone are left out."""

    def scan(self, physical: Physical, page: Page, done: Done[Scanned]) -> None:
        """Look at entries in the order of their ids.

        There are no more of them once those before are ``room_bytes``; at least one. One call passes over a bounded
        number of others, so it may find none though there are more.
        """
