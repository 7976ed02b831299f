"""All records of a store in memory, with the version of each change: who may write, and who is told."""

from collections import Counter, OrderedDict, deque
from collections.abc import Callable, Hashable, Iterable
from functools import partial
from typing import TypeAlias

from rockdove.core.account import Account
from rockdove.core.arn import parse_arn
from rockdove.core.clock import SECOND_US, Clock
from rockdove.core.errors import StoreError
from rockdove.core.limits import COOL_DOWN_S
from rockdove.core.queue import DeletedQueue, MoveTask, QueueRecord, pack, unpack
from rockdove.core.recent import remember
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

# Scopes whose last change is remembered. Whoever has not heard of changes from before that is refused.
MOST_SCOPES = 10_000

# What counts as the same thing: two writes of one scope must not cross.
Scope: TypeAlias = tuple[Hashable, ...]
# Makes a change durable.
Commit: TypeAlias = Callable[[Done[None]], None]

ACCOUNTS: Scope = ("accounts",)


def queue_scope(account: str, name: str) -> Scope:
    return "queue", account, name


def topic_scope(account: str, name: str) -> Scope:
    return "topic", account, name


def task_scope(task: MoveTask) -> Scope:
    return "task", parse_arn(task.source_arn) or task.source_arn


def conflict() -> Conflict:
    return Conflict("somebody else has changed it meanwhile")


def over_quota() -> OverQuota:
    return OverQuota("the account has as many physical queues as it may")


class Ledger:
    """For the event loop's thread. Records in it are never changed, only replaced."""

    def __init__(self, clock: Clock) -> None:
        self._clock = clock
        # Of the last change. It goes on from the time of the start: no two starts share versions.
        self.version = clock.now_us()
        self.secret = b""
        # Packed, by uid; and which of them has a physical queue.
        self._queues: dict[str, bytes] = {}
        self._by_number: dict[int, str] = {}
        # Of all physical queues that there were.
        self.largest_number = 0
        self._deleted: dict[tuple[str, str], DeletedQueue] = {}
        self._tasks: dict[str, MoveTask] = {}
        self._topics: dict[str, TopicRecord] = {}
        self._accounts: dict[str, Account] = {}
        self._former: dict[str, None] = {}
        self._listeners: list[Listener] = []
        # When each scope was changed last, the most recent last, and the version of the newest that is forgotten.
        self._changed: OrderedDict[Scope, int] = OrderedDict()
        self._forgotten = 0
        # Physical queues of each account, those included whose records are on their way.
        self._physical: Counter[str] = Counter()
        # Scopes that are being written, and who wants to write them next.
        self._writing: dict[Scope, deque[Callable[[], None]]] = {}

    def load(
        self,
        queues: Iterable[QueueRecord],
        deleted: Iterable[DeletedQueue],
        tasks: Iterable[MoveTask],
        accounts: Iterable[Account],
        former: Iterable[str],
        topics: Iterable[TopicRecord],
    ) -> None:
        for queue in queues:
            self._put(queue)
            self._physical[queue.account] += len(queue.physical)
        self._deleted = {(gone.account, gone.name): gone for gone in deleted}
        self._tasks = {task.task_id: task for task in tasks}
        self._accounts = {account.id: account for account in accounts}
        self._former = dict.fromkeys(former)
        self._topics = {topic.uid: topic for topic in topics}

    def forget_all(self) -> None:
        """Before all is loaded anew."""
        self._queues.clear()
        self._by_number.clear()
        self._physical.clear()

    def snapshot(self) -> Snapshot:
        return Snapshot(
            self.version,
            list(self._queues.values()),
            list(self._deleted.values()),
            list(self._tasks.values()),
            self.secret,
            list(self._accounts.values()),
            list(self._former),
            list(self._topics.values()),
        )

    def queue(self, uid: str) -> QueueRecord | None:
        packed = self._queues.get(uid)
        return None if packed is None else unpack(packed)

    def queue_with(self, number: int) -> QueueRecord | None:
        """Which queue has the physical queue of that number."""
        return self.queue(self._by_number.get(number, ""))

    def has_number(self, number: int) -> bool:
        """Whether a queue has the physical queue of that number."""
        return number in self._by_number

    def keys(self, numbers: Iterable[int]) -> list[tuple[str, str]]:
        """Accounts and names of the queues that have these physical ones."""
        found = {self._by_number[number]: None for number in numbers if number in self._by_number}
        queues = [unpack(self._queues[uid]) for uid in found]
        return [(queue.account, queue.name) for queue in queues]

    def _put(self, queue: QueueRecord) -> None:
        self._forget_numbers(self.queue(queue.uid))
        self._queues[queue.uid] = pack(queue)
        for part in queue.physical:
            self._by_number[part.number] = queue.uid
            self.largest_number = max(self.largest_number, part.number)

    def _forget_numbers(self, queue: QueueRecord | None) -> None:
        for part in () if queue is None else queue.physical:
            self._by_number.pop(part.number, None)

    def subscribe(self, listener: Listener, reset: Reset) -> None:
        """Nothing is missed in the process that has the ledger: ``reset`` is never called."""
        self._listeners.append(listener)

    def unsubscribe(self, listener: Listener) -> None:
        self._listeners.remove(listener)

    def write(self, scope: Scope, seen: int, commit: Commit, change: Callable[[int], Change], done: Done[int]) -> None:
        """Commit a change, and tell of it, unless its scope was changed after the version ``seen``."""
        waiting = self._writing.get(scope)
        if waiting is not None:
            waiting.append(lambda: self.write(scope, seen, commit, change, done))
            return
        if self.has_changed(scope, seen):
            done(conflict())
            return
        self._writing[scope] = deque()

        def committed(outcome: StoreError | None) -> None:
            waiting = self._writing.pop(scope)
            try:
                if outcome is None:
                    self._publish(scope, change(self.version + 1))
            finally:
                # Whatever a listener does: it is committed, and others wait.
                try:
                    done(self.version if outcome is None else outcome)
                finally:
                    for again in waiting:
                        again()

        commit(committed)

    def has_changed(self, scope: Scope, seen: int) -> bool:
        """Since that version, as far as is known."""
        return self._changed.get(scope, self._forgotten) > seen

    def more_physical(self, queue: QueueRecord) -> int:
        """How many physical queues its account has more with this record."""
        before = self.queue(queue.uid)
        return len(queue.physical) - (0 if before is None else len(before.physical))

    def exceeds(self, queue: QueueRecord, quota: int) -> bool:
        """Whether its account would have more physical queues with this record, and more than it may."""
        more = self.more_physical(queue)
        return more > 0 and self._physical[queue.account] + more > quota

    def hear(self, change: Change) -> None:
        """Somebody else has made a change."""
        if isinstance(change, QueuePut):
            self._physical[change.queue.account] += self.more_physical(change.queue)
        self._publish(self._scope_of(change), change)

    def _scope_of(self, change: Change) -> Scope:
        match change:
            case QueuePut(queue=queue):
                return queue_scope(queue.account, queue.name)
            case QueueDropped(deleted=gone):
                return queue_scope(gone.account, gone.name)
            case TaskPut(task=task):
                return task_scope(task)
            case TopicPut(topic=topic):
                return topic_scope(topic.account, topic.name)
            case TopicDropped(account=account, name=name):
                return topic_scope(account, name)
            case TaskDropped(task_id=task_id):
                known = self._tasks.get(task_id)
                return ("task", task_id) if known is None else task_scope(known)
            case _:
                return ACCOUNTS

    def put_queue(self, queue: QueueRecord, quota: int, seen: int, commit: Commit, done: Done[int]) -> None:
        account = queue.account

        def commit_within(committed: Done[None]) -> None:
            if self.exceeds(queue, quota):
                committed(over_quota())
                return
            more = self.more_physical(queue)
            self._physical[account] += more

            def told(outcome: StoreError | None) -> None:
                if outcome is not None:
                    self._physical[account] -= more
                committed(outcome)

            commit(told)

        scope = queue_scope(account, queue.name)
        self.write(scope, seen, commit_within, lambda version: QueuePut(version, queue), done)

    def drop_queue(self, queue: QueueRecord, deleted_us: int, seen: int, commit: Commit, done: Done[int]) -> None:
        gone = DeletedQueue(queue.account, queue.name, deleted_us)
        scope = queue_scope(queue.account, queue.name)
        self.write(scope, seen, commit, lambda version: QueueDropped(version, queue.uid, gone), done)

    def put_task(self, task: MoveTask, seen: int, commit: Commit, done: Done[int]) -> None:
        self.write(task_scope(task), seen, commit, lambda version: TaskPut(version, task), done)

    def drop_task(self, task: MoveTask, seen: int, commit: Commit, done: Done[int]) -> None:
        self.write(task_scope(task), seen, commit, lambda version: TaskDropped(version, task.task_id), done)

    def put_topic(self, topic: TopicRecord, seen: int, commit: Commit, done: Done[int]) -> None:
        scope = topic_scope(topic.account, topic.name)
        self.write(scope, seen, commit, lambda version: TopicPut(version, topic), done)

    def drop_topic(self, topic: TopicRecord, seen: int, commit: Commit, done: Done[int]) -> None:
        scope = topic_scope(topic.account, topic.name)
        gone = partial(TopicDropped, uid=topic.uid, account=topic.account, name=topic.name)
        self.write(scope, seen, commit, gone, done)

    def put_account(self, account: Account, seen: int, commit: Commit, done: Done[int]) -> None:
        self.write(ACCOUNTS, seen, commit, lambda version: AccountPut(version, account), done)

    def drop_account(self, id: str, seen: int, commit: Commit, done: Done[int]) -> None:
        self.write(ACCOUNTS, seen, commit, lambda version: AccountDropped(version, id), done)

    def _publish(self, scope: Scope, change: Change) -> None:
        self.version = change.version
        self._changed[scope] = change.version
        self._changed.move_to_end(scope)
        if len(self._changed) > MOST_SCOPES:
            _, self._forgotten = self._changed.popitem(last=False)
        self._keep(change)
        for listener in list(self._listeners):
            listener(change)

    def _rest(self, gone: DeletedQueue) -> None:
        recent_us = self._clock.now_us() - COOL_DOWN_S * SECOND_US
        remember(self._deleted, (gone.account, gone.name), gone, lambda each: each.deleted_us <= recent_us)

    def _keep(self, change: Change) -> None:
        match change:
            case QueuePut(queue=queue):
                self._put(queue)
                self._deleted.pop((queue.account, queue.name), None)
            case QueueDropped(uid=uid, deleted=gone):
                before = self.queue(uid)
                if before is not None:
                    del self._queues[uid]
                    self._forget_numbers(before)
                    self._physical[before.account] -= len(before.physical)
                self._rest(gone)
            case TaskPut(task=task):
                self._tasks[task.task_id] = task
            case TaskDropped(task_id=task_id):
                self._tasks.pop(task_id, None)
            case TopicPut(topic=topic):
                self._topics[topic.uid] = topic
            case TopicDropped(uid=uid):
                self._topics.pop(uid, None)
            case AccountPut(account=account):
                self._accounts[account.id] = account
            case AccountDropped(id=id):
                self._accounts.pop(id, None)
                self._former[id] = None
