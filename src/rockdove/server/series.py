"""Which queues have series of their own: so many at most, and the others together have one.

A queue keeps its place for as long as it lives, so that no counter ever falls: what has gone into the sum of the others
stays in it when a queue is deleted, and a queue that began there stays there when places become free.
"""

from collections import Counter

from rockdove.broker.directory import Directory
from rockdove.broker.queue import Queue
from rockdove.server.figures import NOTHING, Figures

# No queue can have this name.
OTHERS = "(others)"


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
        # What has happened in queues without a place of their own, by their uids.
        self._others: dict[str, Counter[str]] = {}
        # What happened in those of them that are gone.
        self._past: Counter[str] = Counter()
        self.has_others = False

    def update(self, directory: Directory, figures: Figures) -> None:
        """Take note of which queues there are now, and of what has happened in them."""
        self.own = {queue: None for queue in self.own if queue.alive}
        if len(self.own) < self._most:
            self._give_places(directory)
        mine = {queue.record.uid for queue in self.own}
        happened = {uid: figures.events_of(uid) for uid in figures.events if uid not in mine}
        for uid, before in self._others.items():
            if uid not in happened:
                self._past += before
        # The larger of both: one process may have forgotten a queue before the others have.
        self._others = {uid: now | self._others.get(uid, NOTHING) for uid, now in happened.items()}
        self.has_others = bool(self._past) or len(directory) > len(self.own)

    def _give_places(self, directory: Directory) -> None:
        for key in list(directory.keys()):
            if len(self.own) == self._most:
                return
            queue = directory.get(*key)
            if queue is not None and queue.record.uid not in self._others:
                self.own[queue] = None

    def other_events(self) -> Counter[str]:
        total = Counter(self._past)
        for happened in self._others.values():
            total.update(happened)
        return total
