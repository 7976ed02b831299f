"""Who is told what becomes of messages without a client asking for it."""

from collections.abc import Sequence
from typing import Protocol

from rockdove.broker.queue import Queue
from rockdove.core.message import Entry
from rockdove.store.base import Appended, Draft, Physical


class Watch(Protocol):
    """Is told afterwards. The queue and the physical queue are those where the messages were."""

    def published(self, queue: Queue, sent: Sequence[tuple[Draft, Appended]]) -> None:
        """They were published, and are in the queue now."""

    def expired(self, queue: Queue, physical: Physical, ids: Sequence[int]) -> None:
        """They were too old, and are removed."""

    def dead_lettered(self, queue: Queue, physical: Physical, entries: Sequence[Entry]) -> None:
        """They have had their deliveries, and are in the dead-letter queue now."""

    def redriven(self, queue: Queue, physical: Physical, entries: Sequence[Entry]) -> None:
        """A move task has taken them to another queue."""
