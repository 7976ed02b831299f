"""What every store does with leases; the rules of `rockdove.store.base.store` hold.

A lease is made in one step with the claim of its messages, and ends in one step with their removal or return. Whoever
asks for the name of a lease that was made gets its messages, as far as nobody has deleted them otherwise.
"""

from collections.abc import Sequence
from enum import Enum
from typing import Protocol

from msgspec import Struct
from msgspec.structs import replace

from rockdove.core.lease import Holder, Holding, Lease, LeaseName
from rockdove.core.message import Entry
from rockdove.store.base.done import Done
from rockdove.store.base.physical import Claimed, Physical, Want


class Outcome(Enum):
    """What became of a request for a lease."""

    # It is new.
    MADE = "made"
    # It was there already.
    AGAIN = "again"
    # Its sequence was acknowledged or released.
    ENDED = "ended"
    # It is not there, and was not made.
    NOTHING = "nothing"


class Leased(Struct, array_like=True):
    """``number`` is how many messages the lease was made with; ``entries`` has those of them that are still there.

    ``claims`` has what the attempt met in each physical queue, by its number: dead and expired entries, for the caller
    to see to; and when the next entry becomes visible.

    Unlike those of a receive, dead entries are hidden for ``Want.timeout_us`` only.

    ``landing`` tells, of one that was not made, that published messages are about to come.
    """

    outcome: Outcome
    entries: list[Entry]
    made_us: int
    claims: list[tuple[int, Claimed]]
    number: int = 0
    landing: bool = False


def left(want: Want, claimed: Claimed) -> Want:
    """What is still wanted after one physical queue has given what it had."""
    return replace(want, limit=want.limit - len(claimed.entries), room_bytes=max(want.room_bytes - claimed.bytes, 0))


class Ended(Struct, array_like=True):
    """How many leases were ended, with how many messages that were still there; which, if that was asked for."""

    leases: int
    messages: int
    ids: list[int]


class Leases(Protocol):
    """The leases of all queues."""

    def lease(
        self, name: LeaseName, parts: Sequence[Physical], want: Want, even_empty: bool, done: Done[Leased]
    ) -> None:
        """Give the lease of that name, or make it of what is visible in the parts, in their order.

        Without messages it is made only if ``even_empty`` says so and nothing dead was met: behind that there may be
        more. With a ``want.limit`` of 0 none is made.
        """

    def ack(
        self, queue: str, consumer: str, shard: int | None, sequence: int | None, tell_ids: bool, done: Done[Ended]
    ) -> None:
        """End leases through a sequence (None: all) of a shard (None: of all), and remove their messages."""

    def release(self, queue: str, consumer: str, forget: bool, done: Done[Ended]) -> None:
        """End all leases of a consumer, and make their messages visible; remember, or forget, which sequences ended."""

    def page(
        self, queue: str, consumer: str | None, after: tuple[str, int, int] | None, limit: int, done: Done[list[Lease]]
    ) -> None:
        """Leases by (consumer, shard, sequence)."""

    def holders(self, queue: str, consumer: str | None, limit: int, done: Done[list[Holder]]) -> None:
        """Consumers with leases, the one that has been silent for longest first."""

    def holdings(self, done: Done[dict[str, Holding]]) -> None:
        """Of every queue that has leases, by its uid."""

    def silent(self, before_us: int, done: Done[list[tuple[str, str]]]) -> None:
        """Queue and name of consumers with leases that have not called since then."""
