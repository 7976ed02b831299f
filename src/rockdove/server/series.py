"""Which queues have series of their own: so many at most, and the others together have one.

A queue keeps its place for as long as it lives, so that no counter ever falls: what has gone into the sum of the others
stays in it when a queue is deleted, and a queue that began there stays there when places become free.
"""

from collections import Counter
from collections.abc import Callable, Iterable

from rockdove.broker.queue import Queue

# No queue can have this name.
OTHERS = "(others)"

EVENTS = {
    "sent": "sent",
    "received": "received",
    "empty": "empty",
    "deleted": "deleted",
    "expired": "expired",
    "dead-lettered": "dead_lettered",
}


def only_of(account: str, text: bytes) -> bytes:
    """Of a page of metrics, the series of an account's queues, and what explains them."""
    mine = f'queue="{account}/'.encode()
    kept: list[bytes] = []
    about: list[bytes] = []
    for line in text.splitlines(keepends=True):
        if line.startswith(b"#"):
            about = [line] if line.startswith(b"# HELP") else [*about, line]
        elif mine in line:
            kept += [*about, line]
            about = []
    return b"".join(kept)


class Places:
    """Gives queues their places; ``most`` have one of their own."""

    def __init__(self, most: int) -> None:
        self._most = most
        self.own: dict[Queue, None] = {}
        # Without a place of their own, and what has happened in them.
        self.others: dict[Queue, Counter[str]] = {}
        # What happened in those of them that are gone.
        self._past: Counter[str] = Counter()

    def update(self, queues: Iterable[Queue], events: Callable[[Queue], Counter[str]]) -> None:
        """Take note of which queues there are now, and of what has happened in them."""
        alive = dict.fromkeys(queues)
        self.own = {queue: None for queue in self.own if queue in alive}
        for queue, happened in self.others.items():
            if queue not in alive:
                self._past += happened
        self.others = {queue: events(queue) for queue in self.others if queue in alive}
        for queue in alive:
            if queue not in self.own and queue not in self.others:
                if len(self.own) < self._most:
                    self.own[queue] = None
                else:
                    self.others[queue] = events(queue)

    def other_events(self) -> Counter[str]:
        total = Counter(self._past)
        for happened in self.others.values():
            if happened:
                total.update(happened)
        return total

    @property
    def has_others(self) -> bool:
        return bool(self.others or self._past)
