"""Records that another process has."""

from rockdove.core.account import Account
from rockdove.core.queue import MoveTask, PhysicalRecord, QueueRecord
from rockdove.core.topic import TopicRecord
from rockdove.store.base import Change, Done, Listener, Reset, Snapshot
from rockdove.store.remote import asked
from rockdove.store.remote.link import Link


class RemoteRecords:
    """See `rockdove.store.base.Records`."""

    def __init__(self, link: Link) -> None:
        self._ask = link.ask
        self._listeners: list[tuple[Listener, Reset]] = []
        # What came before the first listener did, who has the records of the beginning: it must not miss that.
        self._early_reset: Snapshot | None = None
        self._early: list[Change] = []

    def subscribe(self, listener: Listener, reset: Reset) -> None:
        self._listeners.append((listener, reset))
        snapshot, self._early_reset = self._early_reset, None
        early, self._early = self._early, []
        if snapshot is not None:
            reset(snapshot)
        for change in early:
            listener(change)

    def changed(self, change: Change) -> None:
        if not self._listeners:
            self._early.append(change)
        for listener, _ in self._listeners:
            listener(change)

    def reset(self, snapshot: Snapshot) -> None:
        """The owner was away, and changes may have been missed."""
        if not self._listeners:
            self._early_reset = snapshot
            self._early.clear()
        for _, reset in self._listeners:
            reset(snapshot)

    def catch_up(self, done: Done[None]) -> None:
        """What the owner has said before its answer comes before it."""
        self._ask(done, asked.CatchUp)

    def reserve(self, number: int, uid: str, done: Done[list[PhysicalRecord]]) -> None:
        self._ask(done, asked.Reserve, number, uid)

    def put_queue(self, queue: QueueRecord, quota: int, seen: int, done: Done[int]) -> None:
        self._ask(done, asked.PutQueue, queue, quota, seen)

    def drop_queue(self, queue: QueueRecord, deleted_us: int, seen: int, done: Done[int]) -> None:
        self._ask(done, asked.DropQueue, queue, deleted_us, seen)

    def put_task(self, task: MoveTask, seen: int, done: Done[int]) -> None:
        self._ask(done, asked.PutTask, task, seen)

    def drop_task(self, task: MoveTask, seen: int, done: Done[int]) -> None:
        self._ask(done, asked.DropTask, task, seen)

    def put_topic(self, topic: TopicRecord, seen: int, done: Done[int]) -> None:
        self._ask(done, asked.PutTopic, topic, seen)

    def drop_topic(self, topic: TopicRecord, seen: int, done: Done[int]) -> None:
        self._ask(done, asked.DropTopic, topic, seen)

    def put_account(self, account: Account, seen: int, done: Done[int]) -> None:
        self._ask(done, asked.PutAccount, account, seen)

    def drop_account(self, id: str, seen: int, done: Done[int]) -> None:
        self._ask(done, asked.DropAccount, id, seen)
