"""Drives a store from tests: its callbacks become results, its clock moves only when told to."""

import asyncio
import hashlib
import itertools
import os
import shutil
import socket
import tempfile
import threading
from collections.abc import Callable, Coroutine, Sequence
from copy import deepcopy
from functools import partial
from pathlib import Path
from random import Random
from typing import Any, TypeAlias, TypeVar, cast

from rockdove.core import ids
from rockdove.core.account import Account
from rockdove.core.clock import SECOND_US, ManualClock
from rockdove.core.errors import StoreError
from rockdove.core.lease import LeaseName
from rockdove.core.message import Entry, Extra, Message
from rockdove.core.queue import MoveTask, PhysicalRecord, QueueRecord
from rockdove.core.topic import TopicRecord
from rockdove.store.base import (
    Appended,
    Browsing,
    Change,
    Claimed,
    Counts,
    Draft,
    Ended,
    Hint,
    Landings,
    Leased,
    Leases,
    Page,
    Physical,
    Publications,
    Scanned,
    Sight,
    Snapshot,
    Store,
    Transfers,
    Upkeep,
    Want,
)
from rockdove.store.cassandra.store import CassandraStore
from rockdove.store.common.gone import GonePhysical
from rockdove.store.common.outcome import outcome_of
from rockdove.store.common.size import stored_bytes
from rockdove.store.memory.store import MemoryStore
from rockdove.store.redis.store import RedisStore
from rockdove.store.remote.owner import Owner
from rockdove.store.remote.store import RemoteStore
from rockdove.store.sqlite.store import SqliteStore
from tests.support.cassandra import Keyspace, own_keyspace
from tests.support.redis import RedisServers, shared_servers

# "remote" is a front-end's store, and its owner has one of SQLite.
_WANTED = os.environ.get("TEST_STORE")
STORES = (_WANTED,) if _WANTED in ("redis", "cassandra") else ("memory", "sqlite", "remote")
# Those that still have everything after a crash.
DURABLE = ("sqlite", "remote", "redis", "cassandra")

T = TypeVar("T")
Inner: TypeAlias = MemoryStore | SqliteStore | RedisStore | CassandraStore

# What is published lands in pieces of so many.
MOST_AT_ONCE = 1_000
# A call that has not come back after so long never will.
PATIENCE_S = 60


def submit(function: Callable[..., None], *arguments: Any) -> "asyncio.Future[Any]":
    """Make a call now; the future has what ``done`` got. A second call of ``done``, or one in another thread, fails."""
    future = asyncio.get_running_loop().create_future()
    thread = threading.get_ident()

    def done(result: Any) -> None:
        assert threading.get_ident() == thread
        assert not future.done(), "done was called twice"
        if isinstance(result, StoreError):
            future.set_exception(result)
        else:
            future.set_result(result)

    function(*arguments, done)
    return future


async def call(function: Callable[..., None], *arguments: Any) -> Any:
    """Make a call and wait for its outcome: `await call(physical.claim, want)`."""
    return await asyncio.wait_for(submit(function, *arguments), PATIENCE_S)


def us(seconds: float) -> int:
    return round(seconds * SECOND_US)


def message(body: str, sent_us: int, group: str | None = None, extra: Extra | None = None) -> Message:
    if group is not None:
        extra = Extra(group_id=group)
    return Message(sent_us, body.encode(), hashlib.md5(body.encode(), usedforsecurity=False).hexdigest(), extra)


def bodies(entries: Sequence[Entry]) -> list[str]:
    return [entry.message.text for entry in entries]


class Bench:
    """A store under test, with its loop and its clock. The calls here wait for their outcome."""

    def __init__(self, kind: str, folder: Path) -> None:
        self.kind = kind
        self.clock = ManualClock()
        self.rng = Random(20_090)
        self.loop = asyncio.new_event_loop()
        self._failures: list[dict[str, Any]] = []
        self.loop.set_exception_handler(lambda loop, context: self._failures.append(context))
        self._folder = folder
        self._copies = itertools.count(1)
        self._abandoned: list[tuple[Store, Inner]] = []
        self._owners: dict[Inner, tuple[Owner, socket.socket]] = {}
        self._uids = itertools.count(1)
        self._data = folder / "data"
        self.servers: RedisServers | None = None
        if kind == "redis":
            self.servers = shared_servers()
            self.servers.empty()
        self._keyspace: Keyspace | None = None
        if kind == "cassandra":
            self._keyspace = own_keyspace("store")
            self._keyspace.empty()
        self.changes: list[Change] = []
        self.snapshot: Snapshot
        self._open(self._data)

    # What the store is able to do.

    @property
    def landings(self) -> Landings:
        assert self.inner.landings is not None
        return self.inner.landings

    @property
    def browsing(self) -> Browsing:
        assert self.store.browsing is not None
        return self.store.browsing

    @property
    def upkeep(self) -> Upkeep:
        assert self.store.upkeep is not None
        return self.store.upkeep

    @property
    def transfers(self) -> Transfers:
        assert self.store.transfers is not None
        return self.store.transfers

    @property
    def leases(self) -> Leases:
        assert self.store.leases is not None
        return self.store.leases

    @property
    def publications(self) -> Publications:
        assert self.store.publications is not None
        return self.store.publications

    @property
    def version(self) -> int:
        """Of the last change that was heard of."""
        return self.changes[-1].version if self.changes else self.snapshot.version

    def reserve(self, number: int = 1, uid: str = "uid") -> list[PhysicalRecord]:
        return cast(list[PhysicalRecord], self.do(self.store.records.reserve, number, uid))

    def put_queue(self, record: QueueRecord, quota: int = 10_000) -> None:
        """A copy: tests change their records, and what was put must not change."""
        self.do(self.store.records.put_queue, deepcopy(record), quota, self.version)

    def put_task(self, task: MoveTask) -> None:
        self.do(self.store.records.put_task, task, self.version)

    def put_account(self, account: Account) -> None:
        self.do(self.store.records.put_account, deepcopy(account), self.version)

    def drop_account(self, id: str) -> None:
        self.do(self.store.records.drop_account, id, self.version)

    def put_topic(self, topic: TopicRecord) -> None:
        self.do(self.store.records.put_topic, deepcopy(topic), self.version)

    def drop_topic(self, topic: TopicRecord) -> None:
        self.do(self.store.records.drop_topic, topic, self.version)

    @property
    def durable(self) -> bool:
        return self.kind in DURABLE

    @property
    def now_us(self) -> int:
        return self.clock.now_us()

    def run(self, scenario: Coroutine[Any, Any, T]) -> T:
        return self.loop.run_until_complete(scenario)

    def do(self, function: Callable[..., None], *arguments: Any) -> Any:
        result = self.run(call(function, *arguments))
        if isinstance(result, Claimed):
            # Somebody has them: the end of a front-end does not give them back.
            self.store.delivered(
                GonePhysical(0), [(each.id, each.receive_count) for each in result.entries + result.dead]
            )
        return result

    def advance(self, seconds: float) -> None:
        # The clock cuts off what is less than a microsecond; 299.999 seconds must not lose one.
        self.clock.advance(seconds + 0.5 / SECOND_US)

    def hear(self) -> None:
        """What servers have published has arrived: it comes on connections of its own."""
        if isinstance(self.inner, RedisStore):
            for server in self.inner.servers.all:
                if (ears := server._ears) is not None:
                    self.run(outcome_of(partial(ears.call, ("PING",))))

    def queue(self, fifo: bool = False, physical: int = 1, **fields: Any) -> "Queue":
        """A new queue, stored."""
        number = next(self._uids)
        uid = f"uid-{number}"
        record = QueueRecord(
            uid=uid,
            account="000000000000",
            name=f"queue-{number}" + (".fifo" if fifo else ""),
            fifo=fifo,
            created_us=self.now_us,
            modified_us=self.now_us,
            physical=self.reserve(physical, uid),
            **fields,
        )
        self.put_queue(record)
        return Queue(self, record)

    def reopen(self) -> None:
        """Close in good order, and open again."""
        self._end(self.store, self.inner)
        self._open(self._data)

    def crash(self) -> None:
        """Go on with what a crash at this moment would have left on disk."""
        assert self.durable, "nothing survives a crash in memory"
        self._abandoned.append((self.store, self.inner))
        if self.servers is not None:
            self.servers.kill()
            self.servers.start()
            self._open(self._data)
            return
        if self._keyspace is not None:
            # To the nodes it makes no difference how a front-end ends.
            self._open(self._data)
            return
        copy = self._folder / f"copy-{next(self._copies)}"
        shutil.copytree(self._data, copy)
        self._open(copy)

    def close(self) -> None:
        for store, inner in (*self._abandoned, (self.store, self.inner)):
            self._end(store, inner)
        self.loop.run_until_complete(asyncio.sleep(0))
        self.loop.close()
        assert not self._failures, self._failures

    def _open(self, data: Path) -> None:
        self._data = data
        if self.durable or not hasattr(self, "store"):
            # The store that has the data, and the one that is tested.
            self.inner = self.run(self._make(data))
            self.store: Store = self.run(self._reach(self.inner)) if self.kind == "remote" else self.inner
        self.snapshot = deepcopy(self.run(self.store.open()))
        self.changes = []
        self.store.records.subscribe(self.changes.append, self._reset)

    def _reset(self, snapshot: Snapshot) -> None:
        self.snapshot = snapshot
        self.changes.clear()

    async def _reach(self, inner: Inner) -> Store:
        await inner.open()
        owner = Owner(inner, self.clock)
        path = tempfile.mktemp(prefix="test-", suffix=".sock")
        listening = socket.socket(socket.AF_UNIX)
        listening.bind(path)
        listening.listen()
        owner.start(listening)
        self._owners[inner] = (owner, listening)
        return RemoteStore(path, self.clock)

    def _end(self, store: Store, inner: Inner) -> None:
        store.close()
        owner, listening = self._owners.pop(inner, (None, None))
        if owner is not None and listening is not None:
            self.run(_settle(owner))
            os.unlink(listening.getsockname())
            listening.close()
            inner.close()

    async def _make(self, data: Path) -> Inner:
        if self.kind == "memory":
            return MemoryStore(self.clock, self.rng)
        if self.servers is not None:
            return RedisStore(self.servers.address, self.clock, self.rng, self.loop)
        if self._keyspace is not None:
            return CassandraStore(self._keyspace.address, self.clock, self.rng, self.loop)
        return SqliteStore(data, self.clock, self.rng, self.loop)


async def _settle(owner: Owner) -> None:
    """End an owner, and let it hear that its front-ends are gone."""
    for _ in range(20):
        await asyncio.sleep(0)
    owner.close()
    for _ in range(5):
        await asyncio.sleep(0)


class Queue:
    """A stored queue and its physical queues; the calls go to the first one, or to that of the given index."""

    def __init__(self, bench: Bench, record: QueueRecord) -> None:
        self.bench = bench
        self.record = record
        self.delay_us = us(int(record.attributes.get("DelaySeconds", "0")))

    def physical(self, index: int = 0) -> Physical:
        return self.bench.store.physical(self.record, self.record.physical[index])

    def draft(
        self,
        body: str,
        group: str | None = None,
        key: str | None = None,
        delay_s: float | None = None,
        age_s: float = 0,
        extra: Extra | None = None,
    ) -> Draft:
        sent_us = self.bench.now_us - us(age_s)
        visible_us = sent_us + (self.delay_us if delay_s is None else us(delay_s))
        return Draft(message(body, sent_us, group, extra), visible_us, key)

    def append(self, drafts: Sequence[Draft], at: int = 0) -> list[Appended]:
        return cast(list[Appended], self.bench.do(self.physical(at).append, drafts))

    def send(self, *bodies: str, at: int = 0, **options: Any) -> list[int]:
        """Send several at once, as far as anybody does that; their ids."""
        drafts = [self.draft(body, **options) for body in bodies]
        pieces = [drafts[first : first + MOST_AT_ONCE] for first in range(0, len(drafts), MOST_AT_ONCE)]
        return [new.id for piece in pieces for new in self.append(piece, at)]

    def want(self, limit: int = 10, timeout_s: float = 30, retention_s: float | None = None, **options: Any) -> Want:
        after_us = 0 if retention_s is None else self.bench.now_us - us(retention_s)
        return Want(limit, us(timeout_s), sent_after_us=after_us, delay_us=self.delay_us, **options)

    def claim(self, limit: int = 10, timeout_s: float = 30, at: int = 0, **options: Any) -> Claimed:
        return cast(Claimed, self.bench.do(self.physical(at).claim, self.want(limit, timeout_s, **options)))

    def take(self, limit: int = 10, timeout_s: float = 30, **options: Any) -> list[Entry]:
        return self.claim(limit, timeout_s, **options).entries

    def read(self, limit: int = 10, timeout_s: float = 30, **options: Any) -> list[str]:
        """The bodies of a claim."""
        return bodies(self.take(limit, timeout_s, **options))

    def move(self, entry: Entry, seconds: float, receive_count: int | None = None) -> bool:
        visible_us = self.bench.now_us + us(seconds)
        return cast(bool, self.bench.do(self._of(entry.id).move, entry.id, visible_us, receive_count))

    def remove(self, id: int, receive_count: int | None = None) -> bool:
        return cast(bool, self.bench.do(self._of(id).remove, id, receive_count))

    def remove_all(self, *ids: int) -> list[bool]:
        return cast(list[bool], self.bench.do(self.physical().remove_all, ids))

    def remove_held(self, entry: Entry) -> bool:
        """Delete by the handle of a FIFO receive."""
        return self.remove(entry.id, entry.receive_count)

    def lease_words(
        self,
        sequence: int,
        limit: int = 1_000,
        shard: int = 0,
        consumer: str = "reader",
        even_empty: bool = True,
        room_bytes: int = 8 * 1024 * 1024,
        **options: Any,
    ) -> tuple[LeaseName, list[Physical], Want, bool]:
        """What is asked for a lease from all physical queues, the first one first."""
        name = LeaseName(self.record.uid, consumer, shard, sequence)
        parts = [self.physical(at) for at in range(len(self.record.physical))]
        return name, parts, self.want(limit, room_bytes=room_bytes, **options), even_empty

    def lease(self, sequence: int, limit: int = 1_000, **options: Any) -> Leased:
        return cast(Leased, self.bench.do(self.bench.leases.lease, *self.lease_words(sequence, limit, **options)))

    def leased(self, sequence: int, limit: int = 1_000, **options: Any) -> list[str]:
        """The bodies of a lease."""
        return bodies(self.lease(sequence, limit, **options).entries)

    def ack(
        self, sequence: int | None = None, shard: int | None = None, consumer: str = "reader"
    ) -> tuple[int, int, list[int]]:
        """Leases and messages that this ended, and their ids."""
        ack = self.bench.leases.ack
        ended = cast(Ended, self.bench.do(ack, self.record.uid, consumer, shard, sequence, True))
        return ended.leases, ended.messages, sorted(ended.ids)

    def give_back(self, consumer: str = "reader", forget: bool = False) -> tuple[int, int]:
        """All leases of a consumer."""
        ended = cast(Ended, self.bench.do(self.bench.leases.release, self.record.uid, consumer, forget))
        return ended.leases, ended.messages

    def release(self, *entries: Entry) -> None:
        self.bench.do(self.physical().release, entries)

    def count(self, at: int = 0) -> tuple[int, int, int]:
        """Visible, in flight, delayed."""
        counts = cast(Counts, self.bench.do(self.physical(at).count))
        assert counts.total == counts.visible + counts.in_flight + counts.delayed
        return counts.visible, counts.in_flight, counts.delayed

    def oldest(self, at: int = 0) -> float | None:
        """How many seconds ago the oldest message was sent."""
        sent_us = cast(int | None, self.bench.do(self.bench.browsing.oldest, self.physical(at)))
        return None if sent_us is None else (self.bench.now_us - sent_us) / SECOND_US

    def find(self, id: int) -> Entry | None:
        return cast(Entry | None, self.bench.do(self._of(id).find, id))

    def peek(self, limit: int = 1_000) -> list[Entry]:
        """As a look does it: first where they stand, then what they are."""
        browsing, physical = self.bench.browsing, self.physical()
        seen = cast(list[Sight], self.bench.do(browsing.sight, physical, limit))
        found = cast(list[Entry], self.bench.do(browsing.read, physical, [sight.id for sight in seen]))
        assert [(entry.visible_us, entry.id) for entry in found] == [(sight.visible_us, sight.id) for sight in seen]
        for entry, sight in zip(found, seen, strict=True):
            body, whole = len(entry.message.body), stored_bytes(entry.message)
            assert body <= sight.bytes <= 2 * whole - body + 200
        return found

    def scan(self, after: int = 0, limit: int = 1_000, room_bytes: int = 1_000_000) -> list[Entry]:
        return self.scanned(Page(after, limit, room_bytes)).entries

    def scanned(self, page: Page) -> Scanned:
        return cast(Scanned, self.bench.do(self.bench.browsing.scan, self.physical(), page))

    def expire(self, retention_s: float) -> int:
        """How many it removed."""
        expire, sent_after_us = self.bench.upkeep.expire, self.bench.now_us - us(retention_s)
        return len(cast(list[int], self.bench.do(expire, self.physical(), sent_after_us)))

    def set_delay(self, seconds: int) -> None:
        """What SetQueueAttributes does with DelaySeconds of a FIFO queue."""
        self.delay_us = us(seconds)
        self.record.attributes["DelaySeconds"] = str(seconds)
        self.bench.put_queue(self.record)
        for at in range(len(self.record.physical)):
            self.bench.do(self.bench.upkeep.retime, self.physical(at), self.delay_us)

    def purge(self) -> None:
        self.record.physical = self.bench.reserve(len(self.record.physical))
        self.bench.put_queue(self.record)

    def drop(self) -> None:
        bench = self.bench
        bench.do(bench.store.records.drop_queue, deepcopy(self.record), bench.now_us, bench.version)

    def hint(self, at: int = 0) -> Hint:
        """What the store believes, made true first."""
        physical = self.physical(at)
        self.bench.do(self.bench.store.refresh, [physical])
        return physical.hint()

    def may_have_visible(self, now_us: int | None = None) -> bool:
        return self.hint().may_have_visible(self.bench.now_us if now_us is None else now_us)

    def is_crowded(self, number: int) -> bool:
        """Whether a claim is refused that allows so many in flight; it claims nothing."""
        return self.claim(limit=0, max_in_flight=number).crowded

    def _of(self, id: int) -> Physical:
        numbers = [record.number for record in self.record.physical]
        return self.physical(numbers.index(ids.physical_of(id)))
