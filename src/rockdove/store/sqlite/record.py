"""Records of the embedded store: JSON documents, written in the writer's transaction, with versions in memory.

What takes a connection (`db`) runs in the writer's thread, all else in the event loop's.
"""

from collections import OrderedDict
from collections.abc import Callable, Iterator
from functools import partial
from typing import Any

import apsw
import msgspec

from rockdove.core import ids
from rockdove.core.account import Account
from rockdove.core.errors import StoreError, StoreFull
from rockdove.core.queue import DeletedQueue, MoveTask, PhysicalRecord, QueueRecord
from rockdove.core.topic import TopicRecord
from rockdove.store.base import MOST_RESERVED, Conflict, Done, Listener, OverQuota, Reset, StillHolds
from rockdove.store.common.ledger import Commit, Ledger
from rockdove.store.sqlite.landing import forget_landings
from rockdove.store.sqlite.lease import forget_places
from rockdove.store.sqlite.room import FULL, kept_bytes
from rockdove.store.sqlite.shared import Shared
from rockdove.store.sqlite.shelves import Shelves

# While sends are refused, a record that is there may grow up to this size: to set a shorter retention must be possible,
# a policy without end is not.
SMALL_RECORD = 4096


class SqliteRecords:
    """See `rockdove.store.base.Records`."""

    def __init__(
        self,
        shared: Shared,
        shelves: Shelves,
        ledger: Ledger,
        empty: Callable[[list[int]], None],
        purged: Callable[[str], None],
    ) -> None:
        """``empty`` is told which physical queues were dropped, ``purged`` the uid of a queue that lost all of them."""
        self._writer = shared.writer
        self._room = shared.room
        self._shelves = shelves
        self._ledger = ledger
        self._empty = empty
        self._purged = purged
        # Of physical queues that there are, or will be; and of these those that no record names yet, the oldest first.
        self._numbers: set[int] = set()
        self._reserved: OrderedDict[int, None] = OrderedDict()
        # The one that was given out last.
        self._last = 0

    def load(self, db: apsw.Connection) -> None:
        tasks = [msgspec.json.decode(text, type=MoveTask) for (text,) in db.execute("SELECT record FROM task")]
        topics = [msgspec.json.decode(text, type=TopicRecord) for (text,) in db.execute("SELECT record FROM topic")]
        deleted = [DeletedQueue(*row) for row in db.execute("SELECT account, name, deleted_us FROM deleted")]
        accounts: dict[str, str | None] = dict(db.execute("SELECT id, record FROM account"))
        self._ledger.secret = db.execute("SELECT value FROM meta WHERE name = 'secret'").get
        self._numbers = self._shelves.load(db)
        self._last = max(self._numbers, default=0)
        self._empty([number for (number,) in db.execute("SELECT number FROM physical WHERE queue IS NULL")])
        self._ledger.load(
            self._load_queues(db),
            deleted,
            tasks,
            [msgspec.json.decode(text, type=Account) for text in accounts.values() if text is not None],
            [id for id, text in accounts.items() if text is None],
            topics,
        )

    def _load_queues(self, db: apsw.Connection) -> Iterator[QueueRecord]:
        """One by one: all of them at once take much memory, which would stay with the process."""
        holding, decode = self._shelves.holding(db), msgspec.json.Decoder(QueueRecord).decode
        for (text,) in db.execute("SELECT record FROM queue"):
            queue = decode(text)
            for record in queue.physical:
                if record.number in holding:
                    self._shelves.count(db, queue, record.number)
            yield queue

    def subscribe(self, listener: Listener, reset: Reset) -> None:
        self._ledger.subscribe(listener, reset)

    def catch_up(self, done: Done[None]) -> None:
        done(None)

    def reserve(self, number: int, uid: str, done: Done[list[PhysicalRecord]]) -> None:
        while self._reserved and len(self._reserved) + number > MOST_RESERVED:
            # Whoever asked for it has been refused since, or has gone.
            self._numbers.discard(self._reserved.popitem(last=False)[0])
        if len(self._numbers) + number > ids.MAX_PHYSICAL_NUMBER:
            done(OverQuota("there are as many physical queues as there can be"))
            return
        done([PhysicalRecord(self._reserve(), ids.new_prefix()) for _ in range(number)])

    def _reserve(self) -> int:
        number = self._new_number()
        self._reserved[number] = None
        return number

    def _new_number(self) -> int:
        """Larger than all others, as long as there are such: see `rockdove.core.ids.sequence_number`.

        What was freed comes last: a front-end that stood still may take a number for the queue that had it.
        """
        number = self._last
        while True:
            number = number % ids.MAX_PHYSICAL_NUMBER + 1
            if number not in self._numbers:
                break
        self._last = number
        self._numbers.add(number)
        return number

    def free_number(self, number: int) -> None:
        """A dropped physical queue is empty by now."""
        self._numbers.discard(number)

    def put_queue(self, queue: QueueRecord, quota: int, seen: int, done: Done[int]) -> None:
        before = self._ledger.queue(queue.uid)
        named = set() if before is None else {part.number for part in before.physical}
        fresh = {part.number for part in queue.physical} - named
        if any(number in self._numbers and number not in self._reserved for number in fresh):
            done(Conflict("a physical queue was reserved for too long, and is another's"))
            return
        for number in fresh:
            self._reserved.pop(number, None)
            self._numbers.add(number)

        def told(outcome: int | StoreError) -> None:
            if isinstance(outcome, StoreError):
                self._numbers -= fresh
            done(outcome)

        self._put_queue(queue, quota, seen, told)

    def _put_queue(self, queue: QueueRecord, quota: int, seen: int, done: Done[int]) -> None:
        text = msgspec.json.encode(queue).decode()
        kept = {record.number: record for record in queue.physical}

        # In the writer's thread.
        def call(there: set[int], db: apsw.Connection) -> list[int] | StoreError:
            going = there - kept.keys()
            if not going and not self._takes(db, "SELECT record FROM queue WHERE uid = ?", queue.uid, text):
                return StoreFull(FULL)
            if going != there and any(_holds(db, number) for number in going):
                return StillHolds("a physical queue that was to go holds messages")
            db.execute("INSERT OR REPLACE INTO queue VALUES (?, ?)", (queue.uid, text))
            for record in kept.values():
                if record.number not in there:
                    row = (record.number, record.prefix, queue.uid, queue.fifo)
                    db.execute("INSERT INTO physical VALUES (?, ?, ?, ?, 0, 0)", row)
            if going:
                forget_places(db, queue.uid, going)
            for number in going:
                db.execute("UPDATE physical SET queue = NULL WHERE number = ?", (number,))
            if there and going == there:
                # Purged: forget the deduplication keys, so that the same messages can be sent again.
                db.execute("DELETE FROM seen WHERE queue = ?", (queue.uid,))
                forget_landings(db, queue.uid)
            return list(going)

        put = self._dropping(queue.uid, call, kept_bytes(text))

        def commit(committed: Done[None]) -> None:
            def landed(outcome: StoreError | None) -> None:
                if outcome is None:
                    self._shelves.changed(queue)
                committed(outcome)

            put(landed)

        self._ledger.put_queue(queue, quota, seen, commit, done)

    def _takes(self, db: apsw.Connection, sql: str, id: str, record: str) -> bool:
        """Whether there is room for a record: on a full disk, only for one that was there, and is small.

        With hardly any room left, only if it does not grow: there may be very many.

        In the writer's thread.
        """
        if not self._room.full and not self._room.tight:
            return True
        before = db.execute(sql, (id,)).get
        if before is None:
            return False
        return len(record) <= len(before) or (len(record) <= SMALL_RECORD and not self._room.short)

    def drop_queue(self, queue: QueueRecord, deleted_us: int, seen: int, done: Done[int]) -> None:
        uid, row = queue.uid, (queue.account, queue.name, deleted_us)

        # In the writer's thread.
        def call(there: set[int], db: apsw.Connection) -> list[int]:
            db.execute("DELETE FROM queue WHERE uid = ?", (uid,))
            db.execute("DELETE FROM seen WHERE queue = ?", (uid,))
            for table in ("attempt", "lease", "consumer", "stage", "published", "application", "landing"):
                db.execute(f"DELETE FROM {table} WHERE queue = ?", (uid,))
            db.execute("INSERT OR REPLACE INTO deleted VALUES (?, ?, ?)", row)
            for number in there:
                db.execute("UPDATE physical SET queue = NULL WHERE number = ?", (number,))
            return list(there)

        self._ledger.drop_queue(queue, deleted_us, seen, self._dropping(uid, call), done)

    def _dropping(self, uid: str, call: Callable[[set[int], apsw.Connection], Any], kept: int = 0) -> Commit:
        """Change a queue's record; what physical queues that drops, the janitor empties.

        ``call`` gets the numbers of those that it has: to look for them in their table would take longer with each
        queue that there is.
        """

        def commit(done: Done[None]) -> None:
            before = self._ledger.queue(uid)
            there = set() if before is None else {record.number for record in before.physical}

            def landed(result: list[int] | StoreError) -> None:
                if isinstance(result, StoreError):
                    done(result)
                    return
                for number in result:
                    self._shelves.drop(number)
                if result:
                    self._empty(result)
                if there and there == set(result):
                    self._purged(uid)
                done(None)

            self._writer.call(partial(call, there), landed, kept_bytes=kept)

        return commit

    def put_task(self, task: MoveTask, seen: int, done: Done[int]) -> None:
        commit = self._putting("task", task.task_id, msgspec.json.encode(task).decode())
        self._ledger.put_task(task, seen, commit, done)

    def put_topic(self, topic: TopicRecord, seen: int, done: Done[int]) -> None:
        commit = self._putting("topic", topic.uid, msgspec.json.encode(topic).decode())
        self._ledger.put_topic(topic, seen, commit, done)

    def drop_topic(self, topic: TopicRecord, seen: int, done: Done[int]) -> None:
        self._ledger.drop_topic(topic, seen, self._deleting("topic", topic.uid), done)

    def put_account(self, account: Account, seen: int, done: Done[int]) -> None:
        commit = self._putting("account", account.id, msgspec.json.encode(account).decode())
        self._ledger.put_account(account, seen, commit, done)

    def drop_account(self, id: str, seen: int, done: Done[int]) -> None:
        commit = self._putting("account", id, None)
        self._ledger.drop_account(id, seen, commit, done)

    def _putting(self, table: str, id: str, record: str | None) -> Commit:
        # In the writer's thread.
        def call(db: apsw.Connection) -> StoreFull | None:
            if record is not None and not self._takes(db, f"SELECT record FROM {table} WHERE id = ?", id, record):
                return StoreFull(FULL)
            db.execute(f"INSERT OR REPLACE INTO {table} VALUES (?, ?)", (id, record))
            return None

        return lambda done: self._writer.call(call, done, kept_bytes=kept_bytes(record or ""))

    def drop_task(self, task: MoveTask, seen: int, done: Done[int]) -> None:
        self._ledger.drop_task(task, seen, self._deleting("task", task.task_id), done)

    def _deleting(self, table: str, id: str) -> Commit:
        sql = f"DELETE FROM {table} WHERE id = ?"
        return lambda done: self._writer.call(lambda db: db.execute(sql, (id,)).close(), done)


def _holds(db: apsw.Connection, number: int) -> bool:
    """Whether a physical queue holds messages, or counts those that have not landed. In the writer's thread."""
    sql = "SELECT EXISTS (SELECT 1 FROM entry WHERE pq = ?1) OR EXISTS (SELECT 1 FROM landing WHERE place = ?1)"
    return bool(db.execute(sql, (number,)).get)
