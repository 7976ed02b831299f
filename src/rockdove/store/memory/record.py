"""Records of the memory store."""

from collections import OrderedDict
from collections.abc import Callable
from typing import TypeAlias

from rockdove.core import ids
from rockdove.core.account import Account
from rockdove.core.errors import StoreError
from rockdove.core.queue import MoveTask, PhysicalRecord, QueueRecord
from rockdove.core.topic import TopicRecord
from rockdove.store.base import MOST_RESERVED, Done, Listener, Reset
from rockdove.store.common.ledger import Commit, Ledger
from rockdove.store.memory.tell import tell_soon

# Makes and ends physical queues of a queue, or tells why not.
Change: TypeAlias = Callable[[QueueRecord], StoreError | None]


class MemoryRecords:
    """See `rockdove.store.base.Records`. ``put`` and ``drop`` make and end the physical queues of a queue."""

    def __init__(self, ledger: Ledger, put: Change, drop: Change) -> None:
        self._ledger = ledger
        self._put = put
        self._drop = drop
        self._last_number = 0
        # Numbers that were given out and are not yet in a queue's record.
        self.reserved: OrderedDict[int, None] = OrderedDict()

    def subscribe(self, listener: Listener, reset: Reset) -> None:
        self._ledger.subscribe(listener, reset)

    def catch_up(self, done: Done[None]) -> None:
        done(None)

    def reserve(self, number: int, uid: str, done: Done[list[PhysicalRecord]]) -> None:
        first = self._last_number + 1
        self._last_number += number
        numbers = range(first, self._last_number + 1)
        self.reserved.update(dict.fromkeys(numbers))
        while len(self.reserved) > MOST_RESERVED:
            self.reserved.popitem(last=False)
        tell_soon(done, [PhysicalRecord(each, ids.new_prefix()) for each in numbers])

    def put_queue(self, queue: QueueRecord, quota: int, seen: int, done: Done[int]) -> None:
        self._ledger.put_queue(queue, quota, seen, _now(lambda: self._put(queue)), done)

    def drop_queue(self, queue: QueueRecord, deleted_us: int, seen: int, done: Done[int]) -> None:
        self._ledger.drop_queue(queue, deleted_us, seen, _now(lambda: self._drop(queue)), done)

    def put_task(self, task: MoveTask, seen: int, done: Done[int]) -> None:
        self._ledger.put_task(task, seen, _now(), done)

    def drop_task(self, task: MoveTask, seen: int, done: Done[int]) -> None:
        self._ledger.drop_task(task, seen, _now(), done)

    def put_topic(self, topic: TopicRecord, seen: int, done: Done[int]) -> None:
        self._ledger.put_topic(topic, seen, _now(), done)

    def drop_topic(self, topic: TopicRecord, seen: int, done: Done[int]) -> None:
        self._ledger.drop_topic(topic, seen, _now(), done)

    def put_account(self, account: Account, seen: int, done: Done[int]) -> None:
        self._ledger.put_account(account, seen, _now(), done)

    def drop_account(self, id: str, seen: int, done: Done[int]) -> None:
        self._ledger.drop_account(id, seen, _now(), done)


def _now(act: Callable[[], StoreError | None] = lambda: None) -> Commit:
    """A change that is made at once; it is told soon."""

    def commit(done: Done[None]) -> None:
        tell_soon(done, act())

    return commit
