"""What every store does: five verbs on each physical queue, and records of queues, tasks and accounts.

Stores are driven by one event loop. Each call returns at once; its outcome comes later, in the same loop, through
``done``: the result, or a `StoreError`, in which case nothing of it has happened. A change is reported done only when
it will survive a crash (as far as the store promises durability at all).
"""

from collections.abc import Callable, Sequence
from typing import TYPE_CHECKING, Protocol, TypeAlias, TypeVar

from msgspec import Struct

from rockdove.core.account import Account
from rockdove.core.errors import StoreError
from rockdove.core.message import Entry, Message
from rockdove.core.queue import DeletedQueue, MoveTask, PhysicalRecord, QueueRecord

if TYPE_CHECKING:
    from rockdove.store.leasing import Leases
    from rockdove.store.publishing import Publications

T = TypeVar("T")
Done: TypeAlias = Callable[[T | StoreError], None]


class Draft(Struct, gc=False):
    """A message on its way in. ``deduplication_key`` is None where nothing is to be deduplicated.

    ``bytes`` is its size as SQS counts it, for who sends several at once.
    """

    message: Message
    visible_us: int
    deduplication_key: str | None = None
    bytes: int = 0


class Appended(Struct, frozen=True, gc=False):
    """Where a draft went; for a duplicate, where its first copy went, and under which message id."""

    id: int
    message_id: str


class Want(Struct, frozen=True, gc=False):
    """What a receive asks of one physical queue.

    limit: how many messages at most.
    timeout_us: for how long they become invisible.
    spread: the order hint K: take ``limit`` at random of the first ``limit + spread - 1`` visible ones; 0 is no order.
    max_receives: entries received so often already are not delivered but returned as ``dead``; 0 is never.
    sent_after_us: messages sent before are expired: removed, never delivered.
    attempt: the ReceiveRequestAttemptId of a FIFO receive.
    delay_us: the queue's delay, which on FIFO queues holds for messages that already wait.
    spare: leave noisy groups alone.
    room_bytes: no more once the messages are so many bytes together; 0 is without a bound.
    """

    limit: int
    timeout_us: int
    spread: int = 1
    max_receives: int = 0
    sent_after_us: int = 0
    attempt: str | None = None
    delay_us: int = 0
    spare: bool = False
    room_bytes: int = 0


class Claimed(Struct, gc=False):
    """What a claim got. Entries carry the new ``visible_us`` and ``receive_count``.

    dead: entries that have had their deliveries; they are hidden like the claimed ones, with the count unchanged, until
    the caller transfers them to the dead-letter queue.
    next_us: with nothing claimed, when the next entry becomes visible; None if that is not in sight.
    claimed_us: when the claim was made; for a repeated attempt, when it was made first.
    expired: the ids of messages that it met, that were too old, and that it removed.
    bytes: of the bodies claimed, where there is a bound to them.
    """

    entries: list[Entry]
    dead: list[Entry]
    next_us: int | None = None
    claimed_us: int = 0
    expired: list[int] = []
    bytes: int = 0


class Counts(Struct, frozen=True):
    """Exact numbers of messages by state."""

    visible: int
    in_flight: int
    delayed: int

    @property
    def total(self) -> int:
        return self.visible + self.in_flight + self.delayed


class Effort(Struct, frozen=True):
    """What a store has done since it was opened: transactions tried, those that failed, and the time they took."""

    batches: int = 0
    failed: int = 0
    busy_s: float = 0.0


class Snapshot(Struct):
    """What a store remembers when it is opened."""

    queues: list[QueueRecord]
    deleted: list[DeletedQueue]
    tasks: list[MoveTask]
    # The key under which receipt handles are signed.
    secret: bytes
    accounts: list[Account]
    # Ids of accounts that were removed: they are never given out again.
    former_accounts: list[str]


class Sight(Struct, frozen=True, gc=False):
    """Where an entry stands, and how much it would be to read it: the bytes of its message."""

    visible_us: int
    id: int
    bytes: int


class Physical(Protocol):
    """One physical queue.

    Standard: entries are claimed in the order (visible_us, id). If messages carry group ids and a group is noisy (see
    `rockdove.core.fairness`), messages of other groups go first.
    FIFO: a group's messages are claimed strictly in the order of their ids; while one of a group is in flight, no other
    of that group is given, except together in one claim. Appends with a deduplication key seen in the last five minutes
    (on the logical queue) store nothing and report the first copy. A claim with an ``attempt`` seen in the last five
    minutes gives the same entries again with their visibility renewed, unless one of them was deleted, changed or has
    become visible meanwhile: then it is a claim like any other.
    """

    @property
    def record(self) -> PhysicalRecord: ...

    def append(self, drafts: Sequence[Draft], done: Done[list[Appended]]) -> None:
        """Store messages, all or none; ids grow in the order given."""

    def claim(self, want: Want, done: Done[Claimed]) -> None:
        """Take visible entries and make them invisible."""

    def move(self, id: int, visible_us: int, receive_count: int | None, done: Done[bool]) -> None:
        """Change when an in-flight entry becomes visible. False: it is gone, or not in flight.

        With a ``receive_count``, only if that is still the entry's: on FIFO queues a handle ends with its receive.
        """

    def remove(self, id: int, receive_count: int | None, done: Done[bool]) -> None:
        """Remove an entry and its message. False: it was gone.

        With a ``receive_count``, only if that is still the entry's and it is in flight (False otherwise).
        """

    def remove_all(self, ids: Sequence[int], done: Done[int]) -> None:
        """Remove entries and their messages, whoever holds them; how many there were."""

    def release(self, entries: Sequence[Entry], done: Done[None]) -> None:
        """Undo a claim that nobody got: visible now, with the count it had before."""

    def count(self, done: Done[Counts]) -> None:
        """Tell how many messages there are, at a cost that does not grow with their number."""

    def oldest(self, done: Done[int | None]) -> None:
        """When the oldest message was sent, at a cost that does not grow with their number; None: there is none."""

    def sight(self, limit: int, done: Done[list[Sight]]) -> None:
        """Where the first entries stand in the order in which they become visible, without reading their messages."""

    def read(self, ids: Sequence[int], done: Done[list[Entry]]) -> None:
        """Entries as they are; those that are gone are left out."""

    def scan(self, after: int, limit: int, room_bytes: int, done: Done[list[Entry]]) -> None:
        """Look at the entries with the next ids after this one, changing nothing; none if there are no more.

        No more of them once those before are so many bytes; at least one.
        """

    def expire(self, sent_after_us: int, done: Done[list[int]]) -> None:
        """Remove messages sent before a time; their ids. Removes a bounded number: call again while there are any."""

    def retime(self, delay_us: int, done: Done[None]) -> None:
        """FIFO: give messages that were never received a new delay, counted from when they were sent."""

    def find(self, id: int, done: Done[Entry | None]) -> None:
        """The entry as it is, or None if it is gone."""

    def in_flight_at_most(self) -> int:
        """Not fewer than are in flight, and seldom more. Cheap, no I/O."""

    def has_noisy(self) -> bool:
        """Whether a group holds more than its share of what is in flight on the logical queue. Cheap, no I/O."""

    def next_visible_us(self) -> int | None:
        """A time before which there is certainly nothing to claim; None: there is nothing at all. Cheap, no I/O."""

    def may_have_visible(self, now_us: int) -> bool:
        """False only if there is certainly nothing to claim now. Cheap, no I/O: policies ask it often."""


class Store(Protocol):
    """Physical queues, and records of logical queues, move tasks and accounts."""

    @property
    def full(self) -> str | None:
        """Why nothing should be appended at the moment, in words for the client; None: there is room."""

    @property
    def trouble(self) -> str | None:
        """Why changes fail at the moment, in words for the operator; None: the last one that was tried has landed."""

    @property
    def effort(self) -> Effort:
        """How much work writing was so far; nothing for a store that has none."""

    @property
    def leases(self) -> "Leases": ...

    @property
    def publications(self) -> "Publications": ...

    def open(self) -> Snapshot:
        """Take the store into use. Raises `DataFolderError` with a line that says what to do."""

    def close(self) -> None:
        """Finish what was begun, and let go."""

    def physical(self, queue: QueueRecord, record: PhysicalRecord) -> Physical:
        """The physical queue of a record."""

    def new_physical(self) -> PhysicalRecord:
        """A number that no physical queue has, with a new prefix; kept once a queue record with it is put."""

    def put_queue(self, queue: QueueRecord, done: Done[None]) -> None:
        """Create or replace a queue's record. Physical queues that it no longer names go, with all they hold."""

    def drop_queue(self, queue: QueueRecord, deleted_us: int, done: Done[None]) -> None:
        """Remove a queue with all it holds, remembering when."""

    def put_task(self, task: MoveTask, done: Done[None]) -> None:
        """Create or replace the record of a move task."""

    def drop_task(self, task_id: str, done: Done[None]) -> None:
        """Forget a move task."""

    def put_account(self, account: Account, done: Done[None]) -> None:
        """Create or replace the record of an account."""

    def drop_account(self, id: str, done: Done[None]) -> None:
        """Remove the record of an account, remembering its id."""

    def transfer(
        self,
        source: Physical,
        ids: Sequence[int],
        target: Physical,
        drafts: Sequence[Draft],
        done: Done[list[Appended]],
    ) -> None:
        """Remove entries here, append messages there, both or neither. An id that is gone takes its draft along."""
