"""What a dequeue policy sees, and what it decides."""

from collections.abc import Iterator
from typing import Protocol


class View(Protocol):
    """The physical queues of one logical queue, read only."""

    @property
    def size(self) -> int:
        """How many physical queues there are."""

    @property
    def turn(self) -> int:
        """Where this receive begins: round-robin over the receives of the logical queue."""

    def may_have_visible(self, index: int) -> bool:
        """False only if a visit would certainly be a miss."""


class DequeuePolicy(Protocol):
    """Decides the visits of one receive. The broker stops asking once it has as many messages as were wanted."""

    # Whether a receive that found nothing is held until something comes, instead of polling again.
    holds: bool

    def visits(self, view: View) -> Iterator[int]:
        """Indices of the physical queues to visit, one after another."""
