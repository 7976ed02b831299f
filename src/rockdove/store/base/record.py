"""Records of queues, topics, move tasks and accounts: a snapshot, then every change that anybody makes.

Whoever changes a record says up to which version he has heard of changes. If somebody else has changed the same thing
since then, the write is refused with a `Conflict`, and nothing has happened: look again, and try again.
"""

from collections.abc import Callable
from typing import Protocol, TypeAlias

from msgspec import Struct

from rockdove.core.account import Account
from rockdove.core.errors import StoreError
from rockdove.core.queue import DeletedQueue, MoveTask, PhysicalRecord, QueueRecord, unpack
from rockdove.core.topic import TopicRecord
from rockdove.store.base.done import Done

# Physical queues that were given out, and that no record names.
MOST_RESERVED = 20_000


class Conflict(StoreError):
    """Somebody else has changed it meanwhile."""


class OverQuota(StoreError):
    """The account has as many physical queues as it may."""


class StillHolds(StoreError):
    """A physical queue that was to go, while others stay, holds messages."""


class QueuePut(Struct, frozen=True, tag="queue"):
    version: int
    queue: QueueRecord


class QueueDropped(Struct, frozen=True, tag="queue-dropped"):
    version: int
    uid: str
    deleted: DeletedQueue


class TaskPut(Struct, frozen=True, tag="task"):
    version: int
    task: MoveTask


class TaskDropped(Struct, frozen=True, tag="task-dropped"):
    version: int
    task_id: str


class TopicPut(Struct, frozen=True, tag="topic"):
    version: int
    topic: TopicRecord


class TopicDropped(Struct, frozen=True, tag="topic-dropped"):
    version: int
    uid: str
    account: str
    name: str


class AccountPut(Struct, frozen=True, tag="account"):
    version: int
    account: Account


class AccountDropped(Struct, frozen=True, tag="account-dropped"):
    version: int
    id: str


Change: TypeAlias = (
    QueuePut | QueueDropped | TaskPut | TaskDropped | TopicPut | TopicDropped | AccountPut | AccountDropped
)
Listener: TypeAlias = Callable[[Change], None]
Reset: TypeAlias = Callable[["Snapshot"], None]


class Snapshot(Struct):
    """All records as they are at a version."""

    version: int
    # See `rockdove.core.queue.pack`.
    packed_queues: list[bytes]
    deleted: list[DeletedQueue]
    tasks: list[MoveTask]
    # The key under which receipt handles are signed.
    secret: bytes
    accounts: list[Account]
    # Ids of accounts that were removed: they are never given out again.
    former_accounts: list[str]
    topics: list[TopicRecord] = []

    @property
    def queues(self) -> list[QueueRecord]:
        return [unpack(packed) for packed in self.packed_queues]


class Records(Protocol):
    """Writes end with the version of the change. Whoever subscribed has heard of it by then, if he is in this process.

    What counts as the same thing: the queues of one account and name, and the topics; the move tasks of one source; all
    accounts.
    """

    def subscribe(self, listener: Listener, reset: Reset) -> None:
        """Be told of every change, in the order of versions.

        ``reset`` gets all records anew if changes may have been missed.
        """

    def catch_up(self, done: Done[None]) -> None:
        """Ends when this process has heard of all that was changed before the call."""

    def reserve(self, number: int, uid: str, done: Done[list[PhysicalRecord]]) -> None:
        """New physical queues of a queue, with numbers that no other has; they are kept once its record names them.

        Of those that no record names, the latest `MOST_RESERVED` are kept apart. To put one that was not, and is
        another's by now, is a `Conflict`. `OverQuota`: there are no more numbers.
        """

    def put_queue(self, queue: QueueRecord, quota: int, seen: int, done: Done[int]) -> None:
        """Create or replace a queue's record. Physical queues that it no longer names go.

        If none stays, the queue is purged: they go with all they hold. If some stay, the others must be empty, or the
        outcome is `StillHolds`. One that leaves takes no more messages, but on a FIFO queue those of groups that it
        holds.

        If the account had more physical queues than ``quota`` then, the outcome is `OverQuota`.
        """

    def drop_queue(self, queue: QueueRecord, deleted_us: int, seen: int, done: Done[int]) -> None:
        """Remove a queue with all it holds, remembering when."""

    def put_task(self, task: MoveTask, seen: int, done: Done[int]) -> None:
        """Create or replace the record of a move task."""

    def drop_task(self, task: MoveTask, seen: int, done: Done[int]) -> None:
        """Forget a move task."""

    def put_topic(self, topic: TopicRecord, seen: int, done: Done[int]) -> None:
        """Create or replace the record of a topic, with its subscriptions."""

    def drop_topic(self, topic: TopicRecord, seen: int, done: Done[int]) -> None:
        """Remove a topic with its subscriptions."""

    def put_account(self, account: Account, seen: int, done: Done[int]) -> None:
        """Create or replace the record of an account."""

    def drop_account(self, id: str, seen: int, done: Done[int]) -> None:
        """Remove the record of an account, remembering its id."""
