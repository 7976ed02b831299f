"""What a dequeue policy sees, and what it decides."""

from collections.abc import Generator
from typing import Protocol, TypeAlias

from msgspec import Struct


class Sleep(Struct, frozen=True):
    """Nothing was found: look again after so many seconds, or, if ``wakes``, as soon as a message has come."""

    seconds: float
    wakes: bool = False


# What a receive does next: visit the physical queue with that index, or sleep. A visit's outcome, which is how many
# messages it has found, is sent back; after a sleep, 0 is.
Plan: TypeAlias = Generator[int | Sleep, int, None]


class View(Protocol):
    """The physical queues of one logical queue, as one front-end sees them."""

    @property
    def size(self) -> int:
        """How many physical queues there are."""

    def next_index(self) -> int:
        """Whose turn it is: round-robin over all visits of this front-end."""

    def may_have_visible(self, index: int) -> bool:
        """False only if a visit would certainly be a miss, as to one that is no longer there."""

    def waiting(self, index: int) -> int:
        """How many messages were there at the last look; see `DequeuePolicy.monitor_s`."""


class DequeuePolicy(Protocol):
    """Decides the visits of receives. It may learn from them, so there is one for each logical queue."""

    @property
    def monitor_s(self) -> float | None:
        """Seconds between two looks at the numbers of messages; None: nobody needs them."""

    def visits(self, view: View) -> Plan:
        """What one receive does. It is over when this ends, or has as many messages as were wanted, or no more time."""
