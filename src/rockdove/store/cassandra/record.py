"""Records of the Cassandra store: a journal of their changes, and what it comes to in memory."""

import asyncio
from collections.abc import Awaitable, Callable
from typing import Protocol

import msgspec

from rockdove.core import ids
from rockdove.core.account import Account
from rockdove.core.errors import StoreError
from rockdove.core.queue import DeletedQueue, MoveTask, PhysicalRecord, QueueRecord
from rockdove.core.topic import TopicRecord
from rockdove.store.base import (
    AccountDropped,
    AccountPut,
    Change,
    Conflict,
    Done,
    Listener,
    OverQuota,
    QueueDropped,
    QueuePut,
    Reset,
    Snapshot,
    TaskDropped,
    TaskPut,
    TopicDropped,
    TopicPut,
)
from rockdove.store.cassandra import schema
from rockdove.store.cassandra.journal import PART, Journal, agree
from rockdove.store.cassandra.session import Session
from rockdove.store.common.ledger import (
    ACCOUNTS,
    Ledger,
    Scope,
    conflict,
    over_quota,
    queue_scope,
    task_scope,
    topic_scope,
)
from rockdove.store.common.tasks import Tasks

JOURNAL = "records"
NUMBER = "physical"
# Seconds between two looks whether others have changed something, for the case that nobody has told.
LOOK_S = 1.0

_encode = msgspec.msgpack.Encoder().encode
_decode = msgspec.msgpack.Decoder(Change).decode
_snapshot = msgspec.msgpack.Decoder(Snapshot).decode


class Places(Protocol):
    """What becomes of physical queues when the records of their queues change."""

    async def close(self, queue: QueueRecord, numbers: list[int]) -> None:
        """They take no more messages, being empty. Raises `StillHolds` if one is not, and then all go on."""

    async def settle(self, queue: QueueRecord, before: QueueRecord | None, version: int) -> None:
        """The record is changed, with this version."""

    async def drop(self, queue: QueueRecord) -> None:
        """The record is gone."""


class CassandraRecords:
    """See `rockdove.store.base.Records`. ``changed`` is called when this front-end has changed something."""

    def __init__(
        self,
        session: Session,
        numbers: "Numbers",
        ledger: Ledger,
        places: Places,
        tasks: Tasks,
        changed: Callable[[], None],
    ) -> None:
        self._numbers = numbers
        self._ledger = ledger
        self._places = places
        self._tasks = tasks
        self._changed = changed
        self._resets: list[Reset] = []
        self.journal = Journal(JOURNAL, session, self._take, self._load, self._dump)

    async def open(self) -> None:
        """Raises `StoreError`."""
        await self.journal.open()
        self._tasks.run(self._look())

    async def _look(self) -> None:
        while True:
            await asyncio.sleep(LOOK_S)
            try:
                await self.journal.catch_up()
            except StoreError:
                # It is tried again.
                continue

    def heard(self) -> None:
        """Another front-end has changed something."""
        self._tasks.run(self.journal.catch_up())

    # What the journal tells.

    def _take(self, version: int, entry: bytes) -> None:
        self._ledger.hear(msgspec.structs.replace(_decode(entry), version=version))

    def _load(self, data: bytes | None) -> None:
        secret = self._ledger.secret
        self._ledger.forget_all()
        found = Snapshot(0, [], [], [], b"", [], []) if data is None else _snapshot(data)
        self._ledger.load(found.queues, found.deleted, found.tasks, found.accounts, found.former_accounts, found.topics)
        self._ledger.version = self.journal.version
        self._ledger.secret = secret
        snapshot = self._ledger.snapshot()
        for reset in self._resets:
            reset(snapshot)

    def _dump(self) -> bytes:
        snapshot = self._ledger.snapshot()
        snapshot.secret = b""
        return _encode(snapshot)

    async def _keep(self) -> None:
        """Now and then, the entries so far become a snapshot."""
        await self.journal.keep(self._dump(), self.journal.version)

    # The protocol.

    def subscribe(self, listener: Listener, reset: Reset) -> None:
        self._ledger.subscribe(listener, reset)
        self._resets.append(reset)

    def catch_up(self, done: Done[None]) -> None:
        self._tasks.tell(self.journal.catch_up(), done)

    def reserve(self, number: int, uid: str, done: Done[list[PhysicalRecord]]) -> None:
        self._tasks.tell(self._reserve(number), done)

    async def _reserve(self, number: int) -> list[PhysicalRecord]:
        first = await self._numbers.take(NUMBER, number)
        if first + number > ids.MAX_PHYSICAL_NUMBER:
            raise OverQuota("there are no more numbers for physical queues in this keyspace")
        return [PhysicalRecord(first + at, ids.new_prefix()) for at in range(number)]

    def put_queue(self, queue: QueueRecord, quota: int, seen: int, done: Done[int]) -> None:
        self._tasks.tell(self._put_queue(queue, quota, seen), done)

    async def _put_queue(self, queue: QueueRecord, quota: int, seen: int) -> int:
        before: QueueRecord | None = None

        async def decide() -> Change:
            nonlocal before
            before = self._ledger.queue(queue.uid)
            if self._ledger.exceeds(queue, quota):
                raise over_quota()
            for part in queue.physical:
                other = self._ledger.queue_with(part.number)
                if other is not None and other.uid != queue.uid:
                    raise Conflict("a physical queue was reserved for too long, and is another's")
            kept = {part.number for part in queue.physical}
            there = [] if before is None else [part.number for part in before.physical]
            going = [number for number in there if number not in kept]
            if going and len(going) < len(there):
                await self._places.close(before or queue, going)
            return QueuePut(0, queue)

        version = await self._write(queue_scope(queue.account, queue.name), seen, decide)
        await self._places.settle(queue, before, version)
        return version

    def drop_queue(self, queue: QueueRecord, deleted_us: int, seen: int, done: Done[int]) -> None:
        self._tasks.tell(self._drop_queue(queue, deleted_us, seen), done)

    async def _drop_queue(self, queue: QueueRecord, deleted_us: int, seen: int) -> int:
        before: QueueRecord | None = None

        async def decide() -> Change:
            nonlocal before
            before = self._ledger.queue(queue.uid)
            return QueueDropped(0, queue.uid, DeletedQueue(queue.account, queue.name, deleted_us))

        version = await self._write(queue_scope(queue.account, queue.name), seen, decide)
        if before is not None:
            await self._places.drop(before)
        return version

    def put_task(self, task: MoveTask, seen: int, done: Done[int]) -> None:
        self._put(task_scope(task), seen, TaskPut(0, task), done)

    def drop_task(self, task: MoveTask, seen: int, done: Done[int]) -> None:
        self._put(task_scope(task), seen, TaskDropped(0, task.task_id), done)

    def put_topic(self, topic: TopicRecord, seen: int, done: Done[int]) -> None:
        self._put(topic_scope(topic.account, topic.name), seen, TopicPut(0, topic), done)

    def drop_topic(self, topic: TopicRecord, seen: int, done: Done[int]) -> None:
        scope = topic_scope(topic.account, topic.name)
        self._put(scope, seen, TopicDropped(0, topic.uid, topic.account, topic.name), done)

    def put_account(self, account: Account, seen: int, done: Done[int]) -> None:
        self._put(ACCOUNTS, seen, AccountPut(0, account), done)

    def drop_account(self, id: str, seen: int, done: Done[int]) -> None:
        self._put(ACCOUNTS, seen, AccountDropped(0, id), done)

    def _put(self, scope: Scope, seen: int, change: Change, done: Done[int]) -> None:
        async def decide() -> Change:
            return change

        self._tasks.tell(self._write(scope, seen, decide), done)

    async def _write(self, scope: Scope, seen: int, decide: Callable[[], Awaitable[Change]]) -> int:
        async def decided() -> bytes:
            if self._ledger.has_changed(scope, seen):
                raise conflict()
            return _encode(await decide())

        version = await agree(self.journal, decided)
        self._changed()
        if version % (2 * PART) == 0:
            self._tasks.run(self._keep())
        return version


class Numbers:
    """Numbers that are given out once, of several names."""

    def __init__(self, session: Session) -> None:
        self._session = session
        # The next ones, as far as is known.
        self._next: dict[str, int] = {}

    async def take(self, name: str, number: int) -> int:
        """The first of so many that nobody else gets. Raises `StoreError`."""
        name = self._session.named(name)
        first = self._next.get(name)
        while True:
            if first is None:
                (row,) = await self._session.ask_agreed(schema.FIRST_NUMBER, name, 1 + number)
                is_taken, first = row[0], 1 if row[0] else row[2]
            else:
                (row,) = await self._session.ask_agreed(schema.NEXT_NUMBER, first + number, name, first)
                is_taken = row[0]
            if is_taken:
                self._next[name] = first + number
                return int(first)
            # If there is none, the keyspace was emptied.
            first = row[-1]
