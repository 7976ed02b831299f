"""What happened to a queue's messages since the service started, for those who watch it."""

from collections.abc import Iterable

from rockdove.core.message import Entry

# The bins of `Events.delivery`: the last one has all that took 2 ** 22 milliseconds (70 minutes) or longer.
DELIVERY_BINS = 24


class Events:
    """Plain numbers, because they are counted up on the hot path. ``empty`` are receives that got nothing.

    ``delivery`` counts first deliveries by the time since the message was sent: bin 0 has those under a millisecond,
    bin i those from 2 ** (i - 1) to under 2 ** i milliseconds. It is None until there is one: most queues are idle.
    """

    __slots__ = ("dead_lettered", "deleted", "delivery", "empty", "expired", "received", "sent")

    def __init__(self) -> None:
        self.sent = 0
        self.received = 0
        self.empty = 0
        self.deleted = 0
        self.expired = 0
        self.dead_lettered = 0
        self.delivery: list[int] | None = None

    @property
    def numbers(self) -> list[int]:
        return [self.sent, self.received, self.empty, self.deleted, self.expired, self.dead_lettered]

    def deliver(self, entries: Iterable[Entry], now_us: int) -> None:
        """Entries have been received."""
        for entry in entries:
            self.received += 1
            if entry.receive_count == 1:
                if self.delivery is None:
                    self.delivery = [0] * DELIVERY_BINS
                milliseconds = max(now_us - entry.message.sent_us, 0) // 1_000
                self.delivery[min(milliseconds.bit_length(), DELIVERY_BINS - 1)] += 1
