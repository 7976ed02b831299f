"""The store that keeps everything in memory, for tests and throw-away queues; it lasts as long as its object.

Each call takes effect before it returns, and the running loop calls ``done`` soon after, in the order of the calls. So
an exception in ``done`` goes to the loop's handler, and never meets a change half made.
"""

import secrets
from collections.abc import Sequence
from copy import deepcopy
from random import Random

from rockdove.core import ids
from rockdove.core.account import Account
from rockdove.core.clock import SECOND_US, Clock
from rockdove.core.errors import StoreError
from rockdove.core.limits import COOL_DOWN_S
from rockdove.core.message import Entry
from rockdove.core.queue import DeletedQueue, MoveTask, PhysicalRecord, QueueRecord
from rockdove.store.base import Appended, Claimed, Counts, Done, Draft, Effort, Physical, Sight, Snapshot, Want
from rockdove.store.memory_lease import MemoryLeases
from rockdove.store.memory_pile import Past, Pile
from rockdove.store.memory_publish import MemoryPublications
from rockdove.store.memory_tell import tell_soon


class MemoryPhysical:
    """A physical queue in memory; without a pile it was dropped, holds nothing and takes nothing."""

    def __init__(self, record: PhysicalRecord, pile: Pile | None) -> None:
        self._record = record
        self.pile = pile

    @property
    def record(self) -> PhysicalRecord:
        return self._record

    def drop(self) -> None:
        self.pile = None

    def append(self, drafts: Sequence[Draft], done: Done[list[Appended]]) -> None:
        tell_soon(done, self.pile.append(drafts) if self.pile else _gone())

    def claim(self, want: Want, done: Done[Claimed]) -> None:
        tell_soon(done, self.pile.claim(want) if self.pile else Claimed([], []))

    def has_noisy(self) -> bool:
        return self.pile is not None and self.pile.has_noisy()

    def move(self, id: int, visible_us: int, receive_count: int | None, done: Done[bool]) -> None:
        tell_soon(done, self.pile is not None and self.pile.move(id, visible_us, receive_count))

    def remove(self, id: int, receive_count: int | None, done: Done[bool]) -> None:
        tell_soon(done, self.pile is not None and self.pile.remove(id, receive_count))

    def remove_all(self, ids: Sequence[int], done: Done[int]) -> None:
        pile = self.pile
        tell_soon(done, sum(pile.remove(id, None) for id in ids) if pile is not None else 0)

    def release(self, entries: Sequence[Entry], done: Done[None]) -> None:
        if self.pile:
            self.pile.release(entries)
        tell_soon(done, None)

    def count(self, done: Done[Counts]) -> None:
        tell_soon(done, self.pile.count() if self.pile else Counts(0, 0, 0))

    def oldest(self, done: Done[int | None]) -> None:
        tell_soon(done, self.pile.oldest() if self.pile else None)

    def sight(self, limit: int, done: Done[list[Sight]]) -> None:
        tell_soon(done, self.pile.sight(limit) if self.pile else [])

    def read(self, ids: Sequence[int], done: Done[list[Entry]]) -> None:
        pile = self.pile
        found = [pile.find(id) for id in ids] if pile is not None else []
        tell_soon(done, [entry for entry in found if entry is not None])

    def scan(self, after: int, limit: int, room_bytes: int, done: Done[list[Entry]]) -> None:
        tell_soon(done, self.pile.scan(after, limit, room_bytes) if self.pile else [])

    def expire(self, sent_after_us: int, done: Done[list[int]]) -> None:
        tell_soon(done, self.pile.expire(sent_after_us) if self.pile else [])

    def retime(self, delay_us: int, done: Done[None]) -> None:
        if self.pile:
            self.pile.retime(delay_us)
        tell_soon(done, None)

    def find(self, id: int, done: Done[Entry | None]) -> None:
        tell_soon(done, self.pile.find(id) if self.pile else None)

    def in_flight_at_most(self) -> int:
        return self.pile.in_flight_at_most() if self.pile else 0

    def next_visible_us(self) -> int | None:
        return self.pile.next_visible_us() if self.pile else None

    def may_have_visible(self, now_us: int) -> bool:
        next_us = self.next_visible_us()
        return next_us is not None and next_us <= now_us

    def transfer(self, ids: Sequence[int], target: "MemoryPhysical", drafts: Sequence[Draft]) -> list[Appended]:
        """Move messages; raises `StoreError`, with nothing moved, if there is nowhere to put them."""
        if target.pile is None:
            raise _gone()
        here = self.pile
        pairs = list(zip(ids, drafts, strict=True))
        return target.pile.append([draft for id, draft in pairs if here is not None and here.remove(id, None)])


def _gone() -> StoreError:
    return StoreError("the queue was purged or deleted meanwhile")


class MemoryStore:
    """See `rockdove.store.base.Store`. Closed and opened again, the same object still has everything."""

    # Memory has no faults that a program survives.
    trouble: str | None = None
    full: str | None = None
    effort = Effort()

    def __init__(self, clock: Clock, rng: Random) -> None:
        self._clock = clock
        self._rng = rng
        self._secret = secrets.token_bytes(32)
        self._queues: dict[str, QueueRecord] = {}
        self._deleted: dict[tuple[str, str], DeletedQueue] = {}
        self._tasks: dict[str, MoveTask] = {}
        # None for one that was removed.
        self._accounts: dict[str, Account | None] = {}
        self._pasts: dict[str, Past] = {}
        self._physical: dict[int, MemoryPhysical] = {}
        # Numbers that were given out and are not yet in a queue's record.
        self._reserved: set[int] = set()
        self._last_number = 0
        self.leases = MemoryLeases(clock, self._pile)
        self.publications = MemoryPublications(clock, self._pile)

    def _pile(self, number: int) -> Pile | None:
        physical = self._physical.get(number)
        return None if physical is None else physical.pile

    def open(self) -> Snapshot:
        kept = Snapshot(
            queues=[*self._queues.values()],
            deleted=[*self._deleted.values()],
            tasks=[*self._tasks.values()],
            secret=self._secret,
            accounts=[account for account in self._accounts.values() if account is not None],
            former_accounts=[id for id, account in self._accounts.items() if account is None],
        )
        return deepcopy(kept)

    def close(self) -> None:
        """Nothing is under way between two calls, and nothing is held outside."""

    def physical(self, queue: QueueRecord, record: PhysicalRecord) -> MemoryPhysical:
        found = self._physical.get(record.number)
        if found is not None and found.record == record:
            return found
        if record.number in self._reserved:
            return self._begin(queue, record)
        return MemoryPhysical(record, None)

    def new_physical(self) -> PhysicalRecord:
        self._last_number += 1
        self._reserved.add(self._last_number)
        return PhysicalRecord(self._last_number, ids.new_prefix())

    def put_queue(self, queue: QueueRecord, done: Done[None]) -> None:
        self._end(queue, keep=queue.physical)
        for record in queue.physical:
            self._reserved.discard(record.number)
            if record.number not in self._physical:
                self._begin(queue, record)
        self._queues[queue.uid] = deepcopy(queue)
        self._deleted.pop((queue.account, queue.name), None)
        tell_soon(done, None)

    def drop_queue(self, queue: QueueRecord, deleted_us: int, done: Done[None]) -> None:
        self._end(queue, keep=[])
        self._queues.pop(queue.uid, None)
        self.leases.drop_queue(queue.uid)
        self.publications.drop_queue(queue.uid)
        self._pasts.pop(queue.uid, None)
        self._forget_deleted()
        self._deleted[queue.account, queue.name] = DeletedQueue(queue.account, queue.name, deleted_us)
        tell_soon(done, None)

    def put_task(self, task: MoveTask, done: Done[None]) -> None:
        self._tasks[task.task_id] = deepcopy(task)
        tell_soon(done, None)

    def drop_task(self, task_id: str, done: Done[None]) -> None:
        self._tasks.pop(task_id, None)
        tell_soon(done, None)

    def put_account(self, account: Account, done: Done[None]) -> None:
        self._accounts[account.id] = deepcopy(account)
        tell_soon(done, None)

    def drop_account(self, id: str, done: Done[None]) -> None:
        self._accounts[id] = None
        tell_soon(done, None)

    def transfer(
        self,
        source: Physical,
        ids: Sequence[int],
        target: Physical,
        drafts: Sequence[Draft],
        done: Done[list[Appended]],
    ) -> None:
        assert isinstance(source, MemoryPhysical)
        assert isinstance(target, MemoryPhysical)
        try:
            moved: list[Appended] | StoreError = source.transfer(ids, target, drafts)
        except StoreError as error:
            moved = error
        tell_soon(done, moved)

    def _begin(self, queue: QueueRecord, record: PhysicalRecord) -> MemoryPhysical:
        past = self._pasts.setdefault(queue.uid, Past())
        pile = Pile(record, queue.fifo, past, self._clock, self._rng)
        physical = self._physical[record.number] = MemoryPhysical(record, pile)
        return physical

    def _end(self, queue: QueueRecord, keep: Sequence[PhysicalRecord]) -> None:
        """Drop the physical queues that a queue has, but those to keep."""
        before = self._queues.get(queue.uid)
        if before is None:
            return
        for record in before.physical:
            if record not in keep:
                self._physical.pop(record.number).drop()
        if not any(record in keep for record in before.physical):
            # Purged: what is gone must not keep its like from being sent again.
            self._pasts.pop(queue.uid, None)

    def _forget_deleted(self) -> None:
        recent_us = self._clock.now_us() - COOL_DOWN_S * SECOND_US
        self._deleted = {name: queue for name, queue in self._deleted.items() if queue.deleted_us > recent_us}
