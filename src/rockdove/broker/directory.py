"""Which queues there are: by account and name, and how long a deleted name rests."""

import sys
from bisect import bisect_left, bisect_right
from collections import Counter
from collections.abc import Iterator
from itertools import takewhile

from rockdove.broker.queue import Queue
from rockdove.core import limits
from rockdove.core.arn import parse_arn
from rockdove.core.clock import SECOND_US, Clock
from rockdove.core.errors import InvalidAddress, OverLimit, QueueDeletedRecently, QueueDoesNotExist
from rockdove.core.queue import QueueRecord
from rockdove.core.recent import remember
from rockdove.store.base import Change, QueueDropped, QueuePut, Snapshot, Store

# URLs remembered at most; clients may write one queue's URL in many ways.
MOST_URLS = 10_000
LONGEST_URL = 512


class Directory:
    """The queues of this service."""

    def __init__(
        self, store: Store, clock: Clock, region: str, cool_down: bool, max_per_account: int = sys.maxsize
    ) -> None:
        """``max_per_account`` bounds an account's physical queues: they are what takes memory."""
        self._store = store
        self._clock = clock
        self._region = region
        self._cool_down_us = limits.COOL_DOWN_S * SECOND_US if cool_down else 0
        self._queues: dict[tuple[str, str], Queue] = {}
        self.max_per_account = max_per_account
        self._per_account: Counter[str] = Counter()
        self._deleted: dict[tuple[str, str], int] = {}
        self._by_url: dict[str, Queue] = {}
        # And which of them are a queue's.
        self._urls: dict[Queue, list[str]] = {}
        # The names of each account's queues, and whose names are out of order until somebody needs them.
        self._names: dict[str, list[str]] = {}
        self._unsorted: set[str] = set()
        # Which queues send their dead letters to one.
        self._sources: dict[tuple[str, str], set[Queue]] = {}
        # By the numbers of their physical queues.
        self._by_number: dict[int, Queue] = {}

    # Records, see `rockdove.broker.feed.RecordFollower`.

    def load(self, snapshot: Snapshot) -> None:
        there = {record.uid for record in snapshot.queues}
        for queue in [queue for queue in self._queues.values() if queue.record.uid not in there]:
            self._remove(queue)
        for record in snapshot.queues:
            self._put(record)
        self._deleted = {(gone.account, gone.name): gone.deleted_us for gone in snapshot.deleted}

    def apply(self, change: Change) -> None:
        match change:
            case QueuePut(queue=record):
                self._put(record)
            case QueueDropped(uid=uid, deleted=gone):
                key = (gone.account, gone.name)
                queue = self._queues.get(key)
                if queue is not None and queue.record.uid == uid:
                    self._remove(queue)
                self._rest(key, gone.deleted_us)

    def _rest(self, key: tuple[str, str], deleted_us: int) -> None:
        now_us = self._clock.now_us()
        remember(self._deleted, key, deleted_us, lambda at_us: not self.rests(at_us, now_us))

    def _put(self, record: QueueRecord) -> None:
        queue = self._queues.get((record.account, record.name))
        if queue is not None and queue.record.uid != record.uid:
            self._remove(queue)
            queue = None
        if queue is None:
            queue = Queue(record, self._region, self._store, self._clock)
            self._queues[queue.key] = queue
            names = self._names.setdefault(record.account, [])
            if names and record.name < names[-1]:
                self._unsorted.add(record.account)
            names.append(record.name)
            self._deleted.pop(queue.key, None)
        else:
            self._forget_record(queue)
            queue.update(record)
        self._keep_record(queue)

    def _keep_record(self, queue: Queue) -> None:
        """What is found by what a queue's record says."""
        self._per_account[queue.record.account] += queue.size
        for part in queue.record.physical:
            self._by_number[part.number] = queue
        if queue.settings.redrive is not None:
            self._sources.setdefault(queue.settings.redrive.target, set()).add(queue)

    def _forget_record(self, queue: Queue) -> None:
        self._per_account[queue.record.account] -= queue.size
        for part in queue.record.physical:
            self._by_number.pop(part.number, None)
        if queue.settings.redrive is not None:
            target = queue.settings.redrive.target
            self._sources[target].discard(queue)
            if not self._sources[target]:
                del self._sources[target]

    def _remove(self, queue: Queue) -> None:
        account, name = queue.key
        del self._queues[queue.key]
        names = self._sorted(account)
        del names[bisect_left(names, name)]
        if not names:
            del self._names[account]
        self._forget_record(queue)
        for url in self._urls.pop(queue, ()):
            del self._by_url[url]
        queue.close()

    def __iter__(self) -> Iterator[Queue]:
        return iter(list(self._queues.values()))

    def arrived(self, number: int, visible: int, next_us: int | None) -> None:
        """The store tells of messages in a physical queue."""
        queue = self._by_number.get(number)
        if queue is not None:
            queue.arrived(visible, next_us)

    def get(self, account: str, name: str) -> Queue | None:
        return self._queues.get((account, name))

    def named(self, account: str, name: str) -> Queue:
        queue = self._queues.get((account, name))
        if queue is None:
            raise QueueDoesNotExist()
        return queue

    def by_url(self, url: str, account: str) -> Queue:
        """The queue of a URL, whatever its host, of a path ``/account/name``, or of the caller's with that name."""
        queue = self._by_url.get(url)
        if queue is None:
            if "/" not in url:
                return self.named(account, url)
            parts = url.rsplit("/", 2)
            if len(parts) != 3:
                raise InvalidAddress(f"The address {url} is not valid for this endpoint.")
            queue = self.named(parts[1], parts[2])
            if len(url) <= LONGEST_URL:
                if len(self._by_url) >= MOST_URLS:
                    self._by_url.clear()
                    self._urls.clear()
                self._by_url[url] = queue
                self._urls.setdefault(queue, []).append(url)
        return queue

    def by_arn(self, arn: str) -> Queue | None:
        key = parse_arn(arn)
        return None if key is None else self._queues.get(key)

    def page(self, account: str, prefix: str, after: str, most: int) -> list[str]:
        """Names of an account's queues in order: so many of those that begin so, and come after that one."""
        names = self._sorted(account)
        first = max(bisect_left(names, prefix), bisect_right(names, after))
        return list(takewhile(lambda name: name.startswith(prefix), names[first : first + most]))

    def names_of(self, account: str) -> list[str]:
        """The names of an account's queues, in order."""
        return list(self._sorted(account))

    def _sorted(self, account: str) -> list[str]:
        names = self._names.get(account, [])
        if account in self._unsorted:
            # Quick, because most of them are in order.
            self._unsorted.discard(account)
            names.sort()
        return names

    def sources(self, target: Queue) -> list[Queue]:
        """The queues that send their dead letters there, in the order of their names."""
        return sorted(self._sources.get(target.key, ()), key=lambda queue: queue.key)

    def check_rested(self, account: str, name: str, now_us: int) -> None:
        deleted_us = self._deleted.get((account, name))
        if deleted_us is not None and self.rests(deleted_us, now_us):
            raise QueueDeletedRecently()

    def check_room(self, account: str, physical: int) -> None:
        if self._per_account[account] + physical > self.max_per_account:
            raise self.no_room()

    def no_room(self) -> OverLimit:
        return OverLimit(
            f"An account may have {self.max_per_account} queues, each counted as often as it has physical queues; "
            "delete some first."
        )

    def rests(self, since_us: int, now_us: int) -> bool:
        """Whether 60 seconds have not passed yet (never without the cool-down, or if the clock was set back)."""
        return 0 <= now_us - since_us < self._cool_down_us
