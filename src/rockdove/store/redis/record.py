"""Records of the Redis store: on all servers, changed one after another; see `rockdove.store.redis.log`."""

import asyncio
import contextlib
from collections.abc import Awaitable, Callable, Sequence
from itertools import cycle
from random import Random
from typing import Any

import msgspec

from rockdove.core import ids
from rockdove.core.account import Account
from rockdove.core.clock import SECOND_US, Clock
from rockdove.core.errors import StoreError
from rockdove.core.queue import DeletedQueue, MoveTask, PhysicalRecord, QueueRecord, pack, unpack
from rockdove.core.topic import TopicRecord
from rockdove.store.base import (
    MOST_RESERVED,
    AccountDropped,
    AccountPut,
    Change,
    Conflict,
    Done,
    Listener,
    QueueDropped,
    QueuePut,
    Reset,
    StillHolds,
    TaskDropped,
    TaskPut,
    TopicDropped,
    TopicPut,
)
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
from rockdove.store.common.outcome import outcome_of
from rockdove.store.common.tasks import Tasks
from rockdove.store.redis.log import KINDS, ChangeLog, Overtaken, Puts
from rockdove.store.redis.physical import home_key_of, key_of
from rockdove.store.redis.server import Server
from rockdove.store.redis.servers import SLOT_BITS, Servers

# Seconds for which a physical queue may be there that no record names: it is being made.
YOUNG_S = 600
# What the home of a queue does when that is deleted.
_FORGET = ("rd_forget_leases", "rd_forget_publications")
_LARGEST = ids.MAX_PHYSICAL_NUMBER >> SLOT_BITS

_encode = msgspec.msgpack.Encoder().encode
_decode = msgspec.msgpack.Decoder(Change).decode
_task = msgspec.msgpack.Decoder(MoveTask).decode
_account = msgspec.msgpack.Decoder(Account).decode
_topic = msgspec.msgpack.Decoder(TopicRecord).decode
_deleted = msgspec.msgpack.Decoder(DeletedQueue).decode


class RedisRecords:
    """See `rockdove.store.base.Records`."""

    def __init__(self, servers: Servers, ledger: Ledger, clock: Clock, rng: Random, tasks: Tasks) -> None:
        self._servers = servers
        self._ledger = ledger
        self._clock = clock
        self._rng = rng
        self.log = ChangeLog(servers, _puts, self._heard, self._reload)
        self._resets: list[Reset] = []
        self._tasks = tasks

    async def load(self) -> None:
        """Read all records. Raises `StoreError`."""
        await self._load(max(self._servers.up, key=lambda server: server.version))
        await self.log.catch_up()

    async def _load(self, server: Server) -> None:
        version, *kinds = await _all_of(server)
        queues, deleted, tasks, accounts, former, topics = map(_flat, kinds)
        self._ledger.forget_all()
        self._ledger.load(
            map(unpack, queues[1::2]),
            map(_deleted, deleted[1::2]),
            map(_task, tasks[1::2]),
            map(_account, accounts[1::2]),
            (name.decode() for name in former[::2]),
            map(_topic, topics[1::2]),
        )
        self._ledger.version = self.log.version = int(version or 0)
        self._ledger.secret = self._servers.secret

    async def _reload(self, server: Server) -> None:
        await self._load(server)
        snapshot = self._ledger.snapshot()
        for reset in self._resets:
            reset(snapshot)

    def _heard(self, version: int, change: bytes) -> None:
        self._ledger.hear(msgspec.structs.replace(_decode(change), version=version))

    def changed(self, server: Server, version: int) -> None:
        """A server has committed a change."""
        if version > self.log.version:
            self._tasks.run(self.log.hear(server))

    def is_back(self, server: Server) -> None:
        """A server is there, perhaps again."""
        self._tasks.run(self._reconcile(server))

    async def _reconcile(self, server: Server) -> None:
        """Bring a server up to date: records, and physical queues that were dropped while it was away."""
        with contextlib.suppress(StoreError, Overtaken):
            # Else a change of which nobody knows whether it is done would wait for the next one.
            await self.log.settle()
        # Read first: of a queue that is in it, all have heard who are up to date then.
        homed = await server.ask_command("SUNION", "rd:leasing", "rd:publishing")
        places = await server.ask("rd_landing_places", "rd")
        await self.log.catch_up()
        await self.log.bring_up(server)
        old_us = self._clock.now_us() - YOUNG_S * SECOND_US
        numbers = set(map(int, await server.ask_command("SMEMBERS", "rd:physical")))
        reserved = set(map(int, await server.ask_command("ZRANGE", "rd:reserved", 0, -1)))
        for number in numbers - reserved:
            if not self._ledger.has_number(number):
                begun_us = int(await server.ask_command("HGET", key_of(number), "begun_us") or 0)
                # One that is new may be about to be named.
                if begun_us < old_us:
                    await server.ask("rd_drop", key_of(number), number)
        for uid in map(bytes.decode, homed):
            if self._ledger.queue(uid) is None:
                for function in _FORGET:
                    await server.ask(function, home_key_of(uid))
        for at in range(0, len(places), 2):
            queue = self._ledger.queue(places[at].decode())
            # No physical queue goes that counts what has not landed, unless all go: the queue was purged.
            if queue is not None and int(places[at + 1]) not in {part.number for part in queue.physical}:
                await server.ask("rd_forget_landings", home_key_of(queue.uid))
        await sweep(server)

    # The protocol.

    def subscribe(self, listener: Listener, reset: Reset) -> None:
        self._ledger.subscribe(listener, reset)
        self._resets.append(reset)

    def catch_up(self, done: Done[None]) -> None:
        self._tasks.tell(self.log.catch_up(), done)

    def reserve(self, number: int, uid: str, done: Done[list[PhysicalRecord]]) -> None:
        self._tasks.tell(self._reserve(number, uid), done)

    async def _reserve(self, number: int, uid: str) -> list[PhysicalRecord]:
        """Spread over the servers that are there, beginning with the queue's home: most queues need no other."""
        servers = self._servers.up
        if not servers:
            raise StoreError(f"no Redis server can be reached. {self._servers.trouble}")
        self._rng.shuffle(servers)
        home = self._servers.home(uid)
        servers.sort(key=lambda server: server is not home)
        shares = dict.fromkeys(servers, 0)
        for server, _ in zip(cycle(servers), range(number), strict=False):
            shares[server] += 1
        # Larger than those that they replace, as long as there are such: see `rockdove.core.ids.sequence_number`.
        least = (self._ledger.largest_number >> SLOT_BITS) % _LARGEST
        given = await asyncio.gather(
            *(
                server.ask("rd_reserve", "rd", server.slot, SLOT_BITS, share, least, MOST_RESERVED, _LARGEST)
                for server, share in shares.items()
                if share
            )
        )
        turns = [list(map(int, numbers)) for numbers in given]
        numbers = [turn[at] for at in range(len(turns[0])) for turn in turns if at < len(turn)]
        return [PhysicalRecord(each, ids.new_prefix()) for each in numbers]

    def put_queue(self, queue: QueueRecord, quota: int, seen: int, done: Done[int]) -> None:
        self._tasks.tell(self._put_queue(queue, quota, seen), done)

    async def _put_queue(self, queue: QueueRecord, quota: int, seen: int) -> int:
        before: list[PhysicalRecord] = []

        async def decide() -> Change:
            known = self._ledger.queue(queue.uid)
            before[:] = [] if known is None else known.physical
            if self._ledger.exceeds(queue, quota):
                raise over_quota()
            kept = {part.number for part in queue.physical}
            there = {part.number for part in before}
            going = [number for number in there if number not in kept]
            await self._begin(queue, [part for part in queue.physical if part.number not in there])
            if going and len(going) < len(there):
                await self._close_all(queue, going)
            return QueuePut(0, queue)

        version = await self._write(queue_scope(queue.account, queue.name), seen, decide)
        kept = {part.number: part for part in queue.physical}
        leaving = [part for part in before if part.number in kept and kept[part.number].leaves != part.leaves]
        await self._set_states([kept[part.number] for part in leaving], version)
        going = [part for part in before if part.number not in kept]
        await self._drop(going)
        if before and len(going) == len(before):
            # Purged: forget the deduplication keys, so that the same messages can be sent again.
            await self._forget("rd_forget_keys", queue.uid)
            with contextlib.suppress(StoreError):
                await self._go(queue.uid, [part.number for part in before])
            await self._forget("rd_forget_landings", queue.uid)
        return version

    def drop_queue(self, queue: QueueRecord, deleted_us: int, seen: int, done: Done[int]) -> None:
        self._tasks.tell(self._drop_queue(queue, deleted_us, seen), done)

    async def _drop_queue(self, queue: QueueRecord, deleted_us: int, seen: int) -> int:
        before: list[PhysicalRecord] = []

        async def decide() -> Change:
            known = self._ledger.queue(queue.uid)
            before[:] = [] if known is None else known.physical
            return QueueDropped(0, queue.uid, DeletedQueue(queue.account, queue.name, deleted_us))

        version = await self._write(queue_scope(queue.account, queue.name), seen, decide)
        await self._drop(before)
        for function in ("rd_forget_keys", *_FORGET):
            await self._forget(function, queue.uid)
        return version

    async def _forget(self, function: str, uid: str) -> None:
        """At a queue's home. If that is away, it does so when it is back; keys end by themselves in five minutes."""
        with contextlib.suppress(StoreError):
            await self._servers.home(uid).ask(function, home_key_of(uid))

    async def _go(self, uid: str, numbers: Sequence[int]) -> list[int]:
        """Tell a queue's home that these physical queues go. Those that count what has not landed."""
        words = (self._clock.now_us(), *numbers)
        return list(map(int, await self._servers.home(uid).ask("rd_go", home_key_of(uid), *words)))

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
        async def decided(version: int) -> bytes:
            if self._ledger.has_changed(scope, seen):
                raise conflict()
            return _encode(await decide())

        return await self.log.write(decided)

    # Physical queues.

    async def _begin(self, queue: QueueRecord, parts: Sequence[PhysicalRecord]) -> None:
        now_us = self._clock.now_us()
        begun = await asyncio.gather(
            *(
                self._ask(part.number, "rd_begin", part.number, queue.uid, int(queue.fifo), part.prefix, now_us)
                for part in parts
            )
        )
        if not all(begun):
            raise Conflict("a physical queue was reserved for too long, and is another's")

    async def _close_all(self, queue: QueueRecord, numbers: Sequence[int]) -> None:
        """They take no more messages, being empty; if one is not, all go on."""
        if await self._go(queue.uid, numbers):
            raise StillHolds("messages are about to come to a physical queue that was to go")
        version = self.log.version
        closed = await asyncio.gather(*(self._ask(number, "rd_close", version) for number in numbers))
        if not all(closed):
            known = self._ledger.queue(queue.uid)
            parts = [] if known is None else known.physical
            await self._set_states([part for part in parts if part.number in numbers], version)
            raise StillHolds("a physical queue that was to go holds messages")

    async def _drop(self, parts: Sequence[PhysicalRecord]) -> None:
        await self._of_all("rd_drop", [(part, (part.number,)) for part in parts])
        for server in {self._servers.of_physical(part.number) for part in parts}:
            self._tasks.run(sweep(server))

    async def _set_states(self, parts: Sequence[PhysicalRecord], version: int) -> None:
        """A server that is away hears it later, from whoever sends."""
        await self._of_all("rd_set_state", [(part, (_state(part), version)) for part in parts])

    async def _of_all(self, function: str, words: Sequence[tuple[PhysicalRecord, tuple[str | int, ...]]]) -> None:
        """What was dropped while a server is away is dropped when it is back; see `_reconcile`."""
        asked = [self._ask(part.number, function, *word) for part, word in words]
        await asyncio.gather(*asked, return_exceptions=True)

    async def _ask(self, number: int, function: str, *words: Any) -> Any:
        return await self._servers.of_physical(number).ask(function, key_of(number), *words)


async def sweep(server: Server) -> None:
    """Empty what was dropped."""
    while await server.ask("rd_sweep", "rd"):
        pass


def _state(part: PhysicalRecord) -> str:
    return "leaving" if part.leaves else "up"


def _puts(change: bytes) -> Puts:
    match _decode(change):
        case QueuePut(queue=queue):
            return [("queue", queue.uid, pack(queue)), ("deleted", f"{queue.account} {queue.name}", None)]
        case QueueDropped(uid=uid, deleted=gone):
            return [("queue", uid, None), ("deleted", f"{gone.account} {gone.name}", _encode(gone))]
        case TaskPut(task=task):
            return [("task", task.task_id, _encode(task))]
        case TaskDropped(task_id=task_id):
            return [("task", task_id, None)]
        case TopicPut(topic=topic):
            return [("topic", topic.uid, _encode(topic))]
        case TopicDropped(uid=uid):
            return [("topic", uid, None)]
        case AccountPut(account=account):
            return [("account", account.id, _encode(account))]
        case AccountDropped(id=id):
            return [("account", id, None), ("former", id, b"1")]
    raise AssertionError


async def _all_of(server: Server) -> list[Any]:
    """Version and records of a server, as of one moment."""

    def ignore(outcome: Any) -> None:
        pass

    def ask(done: Callable[[Any], None]) -> None:
        # One after another without a break: nothing else gets in between.
        server.command(ignore, "MULTI")
        server.command(ignore, "GET", "rd:version")
        for kind in KINDS:
            server.command(ignore, "HGETALL", f"rd:records:{kind}")
        server.command(done, "EXEC")

    return list(await outcome_of(ask))


def _flat(fields: Any) -> list[Any]:
    """A map in RESP3 is a dictionary, or a flat list."""
    return fields if isinstance(fields, list) else [each for pair in fields.items() for each in pair]
