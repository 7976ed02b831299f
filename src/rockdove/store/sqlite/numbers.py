"""The ids of a physical queue's entries, and whether a message is older than those before it."""

from collections.abc import Callable

from rockdove.core import ids
from rockdove.core.message import Message
from rockdove.core.queue import PhysicalRecord
from rockdove.store.sqlite.writer import Writer

# Sequence numbers reserved on disk at a time; a restart skips what is left of them.
RESERVE = 65_536


class Numbers:
    """``next_sequence`` was never given out. For the event loop's thread, but for `is_late`."""

    def __init__(
        self, writer: Writer, record: PhysicalRecord, next_sequence: int, on_reserve: Callable[[int, int], None]
    ) -> None:
        """``on_reserve`` is told the physical queue's number, and the first sequence number that is not reserved."""
        self._writer = writer
        self._on_reserve = on_reserve
        self._record = record
        self.next = next_sequence
        self._reserved = next_sequence
        # When the newest message was sent, to know one that is older than those before it.
        self.newest_us = 0

    def take(self, number: int) -> int:
        """The first of so many new entry ids. What is given out is reserved on disk in the same transaction."""
        first = self.next
        self.next += number
        if self.next > self._reserved:
            self._reserved = self.next + RESERVE
            change = (self._reserved, self._record.number)
            self._on_reserve(self._record.number, self._reserved)
            self._writer.call(
                lambda db: db.execute("UPDATE physical SET reserved = ? WHERE number = ?", change).close(),
                lambda result: None,
            )
        return ids.entry_id(self._record.number, first)

    def is_late(self, message: Message) -> bool:
        """Whether a message is older than one that came before it: moved here, or sent by a clock that was set back."""
        late = message.sent_us < self.newest_us
        if not late:
            self.newest_us = message.sent_us
        return late

    def abandon(self) -> None:
        """A transaction failed: what was reserved may not be on disk."""
        self._reserved = self.next
