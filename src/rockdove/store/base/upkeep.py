"""What is done to messages without a client asking for each: a capability of stores."""

from typing import Protocol

from rockdove.store.base.done import Done
from rockdove.store.base.physical import Physical


class Upkeep(Protocol):
    """Works on one physical queue at a time."""

    def holding(self) -> list[tuple[str, str]] | None:
        """Accounts and names of the queues that may hold messages; None: that is not known in this process."""

    def expire(self, physical: Physical, sent_after_us: int, done: Done[list[int]]) -> None:
        """Remove messages sent before a time; their ids. Removes a bounded number: call again while there are any."""

    def retime(self, physical: Physical, delay_us: int, done: Done[None]) -> None:
        """FIFO: give messages that were never received a new delay, counted from when they were sent."""
