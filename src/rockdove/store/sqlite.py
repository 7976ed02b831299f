"""The embedded store: one SQLite file, one writer thread, group commit; what is reported done is on disk."""

import asyncio
import random
from collections.abc import Iterable, Sequence
from pathlib import Path
from typing import Any

import apsw
import msgspec

from rockdove.core import ids
from rockdove.core.account import Account
from rockdove.core.clock import SECOND_US, Clock
from rockdove.core.errors import FolderFull, StoreError, StoreFull
from rockdove.core.fairness import Shares
from rockdove.core.limits import COOL_DOWN_S, DEDUPLICATION_S, RECEIVE_ATTEMPT_S
from rockdove.core.queue import DeletedQueue, MoveTask, PhysicalRecord, QueueRecord
from rockdove.store.base import Appended, Done, Draft, Effort, Physical, Snapshot
from rockdove.store.fifo import FifoQueue
from rockdove.store.folder import LOG, Folder, damaged
from rockdove.store.grouped import WAITING_US
from rockdove.store.inspection import inspect
from rockdove.store.janitor import Janitor
from rockdove.store.lease import SqliteLeases, forget_places
from rockdove.store.log import log_damage
from rockdove.store.publish import SqlitePublications, forget_publications
from rockdove.store.room import FULL, Room, keep_log, kept_bytes
from rockdove.store.shelf import Change, Shelf
from rockdove.store.standard import StandardQueue
from rockdove.store.writer import Writer

# Bytes of bodies that all cached heads together hold at most.
HEADS_BYTES = 96 * 1024 * 1024
# While sends are refused, the record of a queue, an account or a task that is there may grow up to this size: to set
# a shorter retention must be possible, a policy without end is not. With hardly any room left, up to the other.
SMALL_RECORD = 4096
SMALLEST_RECORD = 1024


class SqliteStore:
    """See `rockdove.store.base.Store`."""

    def __init__(self, folder: Path, clock: Clock, rng: random.Random, loop: asyncio.AbstractEventLoop) -> None:
        self._folder = Folder(folder)
        self.clock = clock
        self.rng = rng
        self._loop = loop
        self.room = Room(folder, self._room_changed)
        # Why nothing can be sent at the moment; None: it can.
        self.full: str | None = None
        self.writer = Writer(self._connect_marked, self.room, loop)
        self.writer.on_failure = self._abandon
        self.writer.on_rest = self._weigh
        self._shelves: dict[int, StandardQueue | FifoQueue] = {}
        # Read once when opened, consumed by `physical`.
        self._known: dict[int, tuple[bool, int]] = {}
        self._counted: dict[int, list[tuple[Any, ...]]] = {}
        self._held: dict[int, list[tuple[int, str, int]]] = {}
        self._newest: dict[int, int] = {}
        self._numbers: set[int] = set()
        self._shares: dict[str, Shares] = {}
        self._janitor = Janitor(self, loop)
        self.leases = SqliteLeases(self)
        self.publications = SqlitePublications(self)

    def open(self) -> Snapshot:
        self._folder.take()
        try:
            wrong = log_damage(self._folder.path)
            if wrong is not None:
                raise damaged(self._folder.path, wrong, LOG)
            db = self._connect()
            try:
                inspect(self._folder, db)
                snapshot = self._load(db)
            except (apsw.CorruptError, apsw.SQLError, ValueError, TypeError) as error:
                raise damaged(self._folder.path, str(error)) from None
            finally:
                keep_log(self._folder.path, db)
                db.close()
        except BaseException:
            self._folder.mark()
            self._folder.release()
            raise
        self.writer.heavy_bytes = self.room.commit_bytes()
        self.writer.start()
        self._janitor.start()
        return snapshot

    def _connect(self) -> apsw.Connection:
        try:
            return self._folder.connect()
        except FolderFull:
            if not self.room.is_kept_back():
                raise
            self.room.give_up()
            self.full = FULL
            return self._folder.connect()

    def _connect_marked(self) -> apsw.Connection:
        db = self._folder.connect()
        self._folder.mark()
        return db

    def _room_changed(self, full: str | None) -> None:
        def change() -> None:
            self.full = full

        if not self._loop.is_closed():
            self._loop.call_soon_threadsafe(change)

    def close(self) -> None:
        self._janitor.stop()
        self._folder.unmark()
        self.writer.stop()
        self._folder.release()

    def _load(self, db: apsw.Connection) -> Snapshot:
        rows: list[tuple[Any, ...]] = db.execute("SELECT number, grouped, reserved FROM physical").fetchall()
        self._known = {number: (bool(grouped), reserved) for number, grouped, reserved in rows}
        self._numbers = set(self._known)
        queues = [msgspec.json.decode(text, type=QueueRecord) for (text,) in db.execute("SELECT record FROM queue")]
        tasks = [msgspec.json.decode(text, type=MoveTask) for (text,) in db.execute("SELECT record FROM task")]
        deleted = [DeletedQueue(*row) for row in db.execute("SELECT account, name, deleted_us FROM deleted")]
        secret = db.execute("SELECT value FROM meta WHERE name = 'secret'").get
        accounts: dict[str, str | None] = dict(db.execute("SELECT id, record FROM account"))
        for queue in queues:
            for record in queue.physical:
                self._count(db, queue, record.number)
        return Snapshot(
            queues,
            deleted,
            tasks,
            secret,
            accounts=[msgspec.json.decode(text, type=Account) for text in accounts.values() if text is not None],
            former_accounts=[id for id, text in accounts.items() if text is None],
        )

    def _count(self, db: apsw.Connection, queue: QueueRecord, number: int) -> None:
        """Begin a physical queue's tally: what is visible as one number, what is not by the second."""
        now = self.clock.now_us()
        second = now - now % SECOND_US
        past = db.execute("SELECT count(*) FROM entry WHERE pq = ? AND t < ?", (number, second)).get
        future = "SELECT t / 1000000, rc > 0, count(*) FROM entry WHERE pq = ? AND t >= ? AND t < ? GROUP BY 1, 2"
        rows: list[Any] = db.execute(future, (number, second, WAITING_US)).fetchall()
        if past:
            rows.append((0, False, past))
        if queue.fifo:
            waiting = (
                "SELECT CASE WHEN rc THEN 0 ELSE (sent + ?) / 1000000 END, rc > 0, count(*) FROM entry "
                "WHERE pq = ? AND t >= ? GROUP BY 1, 2"
            )
            rows += db.execute(waiting, (_delay_us(queue), number, WAITING_US)).fetchall()
        self._counted[number] = rows
        low = ids.entry_id(number, 0)
        newest = "SELECT sent FROM entry WHERE id BETWEEN ? AND ? AND NOT late ORDER BY id DESC LIMIT 1"
        latest = "SELECT sent FROM entry WHERE pq = ? AND late ORDER BY sent DESC LIMIT 1"
        # With nothing left but late ones, the next is late if it is older than they are.
        self._newest[number] = max(
            db.execute(newest, (low, low | ids.SEQUENCE_MASK)).get or 0, db.execute(latest, (number,)).get or 0
        )
        if self._known[number][0]:
            held = "SELECT id, grp, t FROM entry WHERE pq = ? AND t > ? AND t < ? AND rc > 0 AND grp > ''"
            found: Any = db.execute(held, (number, now, WAITING_US)).fetchall()
            self._held[number] = found

    def physical(self, queue: QueueRecord, record: PhysicalRecord) -> Physical:
        shelf = self._shelves.get(record.number)
        if shelf is None:
            shelf = self._shelves[record.number] = self._open_shelf(queue, record)
        return shelf

    def _open_shelf(self, queue: QueueRecord, record: PhysicalRecord) -> StandardQueue | FifoQueue:
        grouped, reserved = self._known.pop(record.number, (False, 0))
        counted = self._counted.pop(record.number, [])
        shelf: StandardQueue | FifoQueue
        if queue.fifo:
            shelf = FifoQueue(self, queue.uid, record, reserved)
            shelf.delay_us = _delay_us(queue)
        else:
            shelf = StandardQueue(self, queue.uid, record, reserved)
            shelf.open(empty=not counted, grouped=grouped)
            if shelf.lanes is not None:
                shelf.lanes.hold(self._held.pop(record.number, []))
        shelf.recount(counted)
        shelf.newest_us = self._newest.pop(record.number, 0)
        return shelf

    def shelf(self, number: int) -> StandardQueue | FifoQueue | None:
        """The physical queue of that number, if it is in use."""
        return self._shelves.get(number)

    def shelves(self) -> Iterable[StandardQueue | FifoQueue]:
        return self._shelves.values()

    def shares(self, queue: str) -> Shares:
        """Who holds what of a logical queue."""
        return self._shares.setdefault(queue, Shares())

    def new_physical(self) -> PhysicalRecord:
        number = max(self._numbers, default=0) + 1
        if number > ids.MAX_PHYSICAL_NUMBER:
            number = next(free for free in range(1, len(self._numbers) + 2) if free not in self._numbers)
        self._numbers.add(number)
        return PhysicalRecord(number, ids.new_prefix())

    def put_queue(self, queue: QueueRecord, done: Done[None]) -> None:
        text = msgspec.json.encode(queue).decode()
        kept = {record.number: record for record in queue.physical}

        def call(db: apsw.Connection) -> list[int] | StoreFull:
            there = {number for (number,) in db.execute("SELECT number FROM physical WHERE queue = ?", (queue.uid,))}
            if not there - kept.keys() and not self._takes(
                db, "SELECT record FROM queue WHERE uid = ?", queue.uid, text
            ):
                return StoreFull(FULL)
            db.execute("INSERT OR REPLACE INTO queue VALUES (?, ?)", (queue.uid, text))
            for record in kept.values():
                if record.number not in there:
                    row = (record.number, record.prefix, queue.uid, queue.fifo)
                    db.execute("INSERT INTO physical VALUES (?, ?, ?, ?, 0, 0)", row)
            if there - kept.keys():
                forget_places(db, queue.uid, there - kept.keys())
            for number in there - kept.keys():
                db.execute("UPDATE physical SET queue = NULL WHERE number = ?", (number,))
            if there and not there & kept.keys():
                # Purged: what is gone must not keep its like from being sent again.
                db.execute("DELETE FROM seen WHERE queue = ?", (queue.uid,))
            return list(there - kept.keys())

        self._record(call, done, kept_bytes(text))

    def _takes(self, db: apsw.Connection, sql: str, id: str, record: str) -> bool:
        """Whether there is room for a record: on a full disk, only for one that was there, and is small."""
        if not self.room.full and not self.room.tight:
            return True
        before = db.execute(sql, (id,)).get
        if before is None:
            return False
        return len(record) <= max(len(before), SMALLEST_RECORD if self.room.tight else SMALL_RECORD)

    def drop_queue(self, queue: QueueRecord, deleted_us: int, done: Done[None]) -> None:
        uid, name = queue.uid, (queue.account, queue.name, deleted_us)

        self._shares.pop(uid, None)

        def call(db: apsw.Connection) -> list[int]:
            db.execute("DELETE FROM queue WHERE uid = ?", (uid,))
            db.execute("DELETE FROM seen WHERE queue = ?", (uid,))
            for table in ("attempt", "lease", "consumer", "stage", "published", "application"):
                db.execute(f"DELETE FROM {table} WHERE queue = ?", (uid,))
            db.execute("INSERT OR REPLACE INTO deleted VALUES (?, ?, ?)", name)
            dropped = [number for (number,) in db.execute("SELECT number FROM physical WHERE queue = ?", (uid,))]
            db.execute("UPDATE physical SET queue = NULL WHERE queue = ?", (uid,))
            return dropped

        self._record(call, done)

    def _record(self, call: Any, done: Done[None], kept: int = 0) -> None:
        """Change records; what physical queues they drop, the janitor empties."""

        def landed(result: list[int] | StoreError) -> None:
            if isinstance(result, StoreError):
                done(result)
                return
            for number in result:
                shelf = self._shelves.pop(number, None)
                if shelf is not None:
                    shelf.drop()
            if result:
                self._janitor.empty()
            done(None)

        self.writer.call(call, landed, kept_bytes=kept)

    def put_task(self, task: MoveTask, done: Done[None]) -> None:
        self._put("task", task.task_id, msgspec.json.encode(task).decode(), done)

    def put_account(self, account: Account, done: Done[None]) -> None:
        self._put("account", account.id, msgspec.json.encode(account).decode(), done)

    def drop_account(self, id: str, done: Done[None]) -> None:
        self._put("account", id, None, done)

    def _put(self, table: str, id: str, record: str | None, done: Done[None]) -> None:
        def landed(result: StoreError | None) -> None:
            done(result)

        def call(db: apsw.Connection) -> StoreFull | None:
            if record is not None and not self._takes(db, f"SELECT record FROM {table} WHERE id = ?", id, record):
                return StoreFull(FULL)
            db.execute(f"INSERT OR REPLACE INTO {table} VALUES (?, ?)", (id, record))
            return None

        self.writer.call(call, landed, kept_bytes=kept_bytes(record or ""))

    def drop_task(self, task_id: str, done: Done[None]) -> None:
        def landed(result: StoreError | None) -> None:
            done(result)

        self.writer.call(lambda db: db.execute("DELETE FROM task WHERE id = ?", (task_id,)).close(), landed)

    def transfer(
        self,
        source: Physical,
        ids: Sequence[int],
        target: Physical,
        drafts: Sequence[Draft],
        done: Done[list[Appended]],
    ) -> None:
        assert isinstance(source, Shelf)
        assert isinstance(target, Shelf)
        now = self.clock.now_us()
        if isinstance(target, StandardQueue):
            target.prepare(drafts)
        first = target.take_numbers(len(drafts))
        by_id = dict(zip(ids, drafts, strict=True))

        def call(db: apsw.Connection) -> tuple[list[Appended], list[Change], list[Change]] | StoreError:
            kept = db.execute("SELECT queue FROM physical WHERE number = ?", (target.record.number,)).get
            if kept is None:
                return StoreError("the queue to transfer to is gone")
            removed, out = source.remove_in(db, list(ids), now)
            appended, into = target.append_in(db, [by_id[id] for id in removed], first, now)
            return appended, out, into

        source.pin(ids)

        def landed(result: tuple[list[Appended], list[Change], list[Change]] | StoreError) -> None:
            source.unpin(ids)
            if isinstance(result, StoreError):
                # They are where they were; what was taken out of the head is read again.
                source.abandon()
                done(result)
                return
            appended, out, into = result
            source.land(out)
            target.land(into)
            done(appended)

        self.writer.call(call, landed)

    def _weigh(self) -> None:
        """Keep all heads together within the memory they may use: over it, they are forgotten, the largest first."""
        heads = [shelf.head for shelf in self._shelves.values() if isinstance(shelf, StandardQueue)]
        over = sum(head.bytes for head in heads) - HEADS_BYTES
        for head in sorted(heads, key=lambda head: -head.bytes):
            if over <= 0:
                return
            over -= head.bytes
            head.abandon()

    @property
    def trouble(self) -> str | None:
        return self.writer.trouble

    @property
    def effort(self) -> Effort:
        return Effort(self.writer.commits, self.writer.failures, self.writer.busy_s)

    def _abandon(self) -> None:
        for shelf in self._shelves.values():
            shelf.abandon()
        self._janitor.hurry()

    def free_number(self, number: int) -> None:
        self._numbers.discard(number)

    def forget_old(self, db: apsw.Connection) -> None:
        """Deduplication keys, attempts, publications and deleted names are kept only for as long as they matter."""
        now = self.clock.now_us()
        db.execute("DELETE FROM seen WHERE at_us <= ?", (now - DEDUPLICATION_S * SECOND_US,))
        db.execute("DELETE FROM attempt WHERE at_us <= ?", (now - RECEIVE_ATTEMPT_S * SECOND_US,))
        # Of a time that has not come yet: the clock was set back.
        db.execute("DELETE FROM seen WHERE at_us >= ?", (now + DEDUPLICATION_S * SECOND_US,))
        forget_publications(db, now)
        db.execute("DELETE FROM deleted WHERE deleted_us <= ?", (now - COOL_DOWN_S * SECOND_US,))


def _delay_us(queue: QueueRecord) -> int:
    return int(queue.attributes.get("DelaySeconds", "0")) * SECOND_US
