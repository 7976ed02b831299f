"""Which queues there are: by account and name, and how long a deleted name rests."""

import sys
from bisect import bisect_left, bisect_right
from collections import Counter
from collections.abc import Container, Iterator, Mapping
from itertools import takewhile
from weakref import WeakValueDictionary

from rockdove.broker.event import Events
from rockdove.broker.part import MARK, part_of
from rockdove.broker.queue import Queue
from rockdove.core import limits
from rockdove.core.arn import parse_arn
from rockdove.core.attribute import redrive
from rockdove.core.clock import SECOND_US, Clock
from rockdove.core.errors import (
    InvalidAddress,
    OverLimit,
    QueueDeletedRecently,
    QueueDoesNotExist,
    UnsupportedOperation,
)
from rockdove.core.queue import Glance, QueueRecord, glance, pack, unpack
from rockdove.core.recent import remember
from rockdove.store.base import Change, QueueDropped, QueuePut, Snapshot, Store

# URLs remembered at most; clients may write one queue's URL in many ways.
MOST_URLS = 10_000
LONGEST_URL = 512
# Queues that are kept at work without being used, at most twice as many; and for how long, at least.
MOST_AWAKE = 10_000
PAGE_US = 60 * SECOND_US


class Directory:
    """The queues of this service. Those that nobody uses are records only, which take little memory."""

    def __init__(
        self, store: Store, clock: Clock, region: str, cool_down: bool, max_per_account: int = sys.maxsize
    ) -> None:
        """``max_per_account`` bounds an account's physical queues: they are what takes memory."""
        self._store = store
        self._clock = clock
        self._region = region
        self._cool_down_us = limits.COOL_DOWN_S * SECOND_US if cool_down else 0
        # All records, by account and name; see `rockdove.core.queue.pack`.
        self._packed: dict[str, dict[str, bytes]] = {}
        # Those at work. Whoever uses a queue has it; besides, those are kept that were asked for since the page was
        # turned, and on the page before.
        self._queues: WeakValueDictionary[tuple[str, str], Queue] = WeakValueDictionary()
        self._page: dict[tuple[str, str], Queue] = {}
        self._page_before: dict[tuple[str, str], Queue] = {}
        self._page_us = 0
        # What happened, by uid.
        self._events: dict[str, Events] = {}
        self.max_per_account = max_per_account
        self._per_account: Counter[str] = Counter()
        self._deleted: dict[tuple[str, str], int] = {}
        self._by_url: dict[str, Queue] = {}
        # The names of each account's queues, and whose names are out of order until somebody needs them.
        self._names: dict[str, list[str]] = {}
        self._unsorted: set[str] = set()
        # The names of the queues that send their dead letters to one.
        self._sources: dict[tuple[str, str], set[str]] = {}
        # Accounts and names of those with physical queues that leave.
        self.changing: set[tuple[str, str]] = set()
        # Those at work, by the numbers of their physical queues.
        self._by_number: WeakValueDictionary[int, Queue] = WeakValueDictionary()

    # Records, see `rockdove.broker.feed.RecordFollower`.

    def load(self, snapshot: Snapshot) -> None:
        if self._packed:
            self._reload(snapshot)
        else:
            for packed in snapshot.packed_queues:
                self._add(glance(packed), packed)
        self._deleted = {(gone.account, gone.name): gone.deleted_us for gone in snapshot.deleted}

    def _reload(self, snapshot: Snapshot) -> None:
        there: set[tuple[str, str]] = set()
        for packed in snapshot.packed_queues:
            record = unpack(packed)
            there.add((record.account, record.name))
            self._put(record, packed)
        for key in [key for key in self.keys() if key not in there]:
            self._remove(key)

    def apply(self, change: Change) -> None:
        match change:
            case QueuePut(queue=record):
                self._put(record, pack(record))
            case QueueDropped(uid=uid, deleted=gone):
                key = (gone.account, gone.name)
                there = self.record(*key)
                if there is not None and there.uid == uid:
                    self._remove(key)
                self._rest(key, gone.deleted_us)

    def _rest(self, key: tuple[str, str], deleted_us: int) -> None:
        now_us = self._clock.now_us()
        remember(self._deleted, key, deleted_us, lambda at_us: not self.rests(at_us, now_us))

    def _put(self, record: QueueRecord, packed: bytes) -> None:
        key = account, name = record.account, record.name
        before = self.record(account, name)
        if before is not None and before.uid != record.uid:
            self._remove(key)
            before = None
        if before is not None:
            self._forget(before)
        self._add(glance(packed), packed)
        self._deleted.pop(key, None)
        queue = self._queues.get(key)
        if queue is not None:
            parts = len(queue.parts)
            queue.update(record)
            self._number(queue)
            if len(queue.parts) < parts:
                # One of them has left.
                self._by_url.clear()

    def _add(self, seen: Glance, packed: bytes) -> None:
        account, name = seen.account, seen.name
        queues = self._packed.setdefault(account, {})
        if name not in queues:
            names = self._names.setdefault(account, [])
            if names and name < names[-1]:
                self._unsorted.add(account)
            names.append(name)
        queues[name] = packed
        self._per_account[account] += seen.physical
        if seen.leaves_any:
            self.changing.add((account, name))
        target = _dead_letter_target(seen.attributes)
        if target is not None:
            self._sources.setdefault(target, set()).add(name)

    def _forget(self, record: QueueRecord) -> None:
        """What is found by what a queue's record says."""
        self.changing.discard((record.account, record.name))
        self._per_account[record.account] -= len(record.physical)
        for part in record.physical:
            self._by_number.pop(part.number, None)
        target = _dead_letter_target(record.attributes)
        if target is not None:
            self._sources[target].discard(record.name)
            if not self._sources[target]:
                del self._sources[target]

    def _remove(self, key: tuple[str, str]) -> None:
        account, name = key
        record = unpack(self._packed[account].pop(name))
        names = self._sorted(account)
        del names[bisect_left(names, name)]
        if not names:
            del self._names[account], self._packed[account]
        self._forget(record)
        self._events.pop(record.uid, None)
        queue = self._queues.pop(key, None)
        if queue is not None:
            self._page.pop(key, None)
            self._page_before.pop(key, None)
            # It may have been asked for by many.
            self._by_url.clear()
            queue.close()

    # Queues at work.

    def get(self, account: str, name: str) -> Queue | None:
        key = (account, name)
        return self._page.get(key) or self._find(key)

    def _find(self, key: tuple[str, str]) -> Queue | None:
        queue = self._page_before.get(key) or self._queues.get(key) or self._wake(key)
        if queue is not None:
            now_us = self._clock.now_us()
            if len(self._page) >= MOST_AWAKE or not 0 <= now_us - self._page_us < PAGE_US:
                self._turn_page()
                self._page_us = now_us
            self._page[key] = queue
        return queue

    def _wake(self, key: tuple[str, str]) -> Queue | None:
        record = self.record(*key)
        if record is None:
            return None
        events = self._events.setdefault(record.uid, Events())
        queue = self._queues[key] = Queue(record, self._region, self._store, self._clock, events)
        self._number(queue)
        return queue

    def _number(self, queue: Queue) -> None:
        for part in queue.record.physical:
            self._by_number[part.number] = queue

    def _turn_page(self) -> None:
        """Let go of those that nobody has asked for since the last time, unless somebody uses them."""
        self._page, self._page_before = {}, self._page
        self._by_url.clear()
        awake = {queue.record.uid for queue in self}
        self._events = {uid: each for uid, each in self._events.items() if uid in awake or any(each.numbers)}

    def events(self) -> dict[str, list[int]]:
        """What happened in queues since the process began, by their uids; those are left out where nothing has."""
        found = {uid: each.numbers for uid, each in self._events.items()}
        return {uid: numbers for uid, numbers in found.items() if any(numbers)}

    def deliveries(self) -> dict[str, list[int]]:
        """How long messages took to their first delivery, by the queues' uids; see `rockdove.broker.event.Events`."""
        return {uid: list(each.delivery) for uid, each in self._events.items() if each.delivery is not None}

    def __iter__(self) -> Iterator[Queue]:
        """Those at work."""
        return iter(list(self._queues.values()))

    def __len__(self) -> int:
        """How many there are, at work or not."""
        return sum(map(len, self._packed.values()))

    def keys(self) -> Iterator[tuple[str, str]]:
        """Accounts and names of all. Stop, or take a list, before anything changes."""
        return ((account, name) for account, queues in self._packed.items() for name in queues)

    def record(self, account: str, name: str) -> QueueRecord | None:
        """For who needs no more than that."""
        packed = self._packed.get(account, {}).get(name)
        return None if packed is None else unpack(packed)

    def with_uids(self, uids: Container[str]) -> dict[str, Queue]:
        """It looks at all of them: not for every request."""
        found: dict[str, Queue] = {}
        for key in list(self.keys()):
            record = self.record(*key)
            if record is not None and record.uid in uids and (queue := self.get(*key)) is not None:
                found[record.uid] = queue
        return found

    def arrived(self, number: int, visible: int, next_us: int | None) -> None:
        """The store tells of messages in a physical queue."""
        queue = self._by_number.get(number)
        if queue is not None:
            queue.told(number, visible, next_us)

    def named(self, account: str, name: str) -> Queue:
        queue = self.find(account, name)
        if queue is None:
            raise QueueDoesNotExist()
        return queue

    def find(self, account: str, name: str) -> Queue | None:
        """A queue, or one physical queue of it: ``name~i``."""
        if MARK not in name:
            return self.get(account, name)
        name, _, index = name.partition(MARK)
        whole = self.get(account, name)
        return None if whole is None else part_of(whole, index)

    def by_url(self, url: str, account: str) -> Queue:
        """The queue of a URL. Raises `UnsupportedOperation` for one physical queue of it."""
        queue = self.at_url(url, account)
        if queue.is_part:
            raise UnsupportedOperation(
                f"{url} is one physical queue of {queue.record.name}, for messages only. For anything else use the URL "
                f"of {queue.record.name}."
            )
        return queue

    def at_url(self, url: str, account: str) -> Queue:
        """The queue of a URL, whatever its host, of a path ``/account/name``, or of the caller's with that name.

        Or one physical queue of it: ``name~i``.
        """
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
                self._by_url[url] = queue
        return queue

    def by_arn(self, arn: str) -> Queue | None:
        key = parse_arn(arn)
        return None if key is None else self.get(*key)

    # Names.

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

    def sources(self, target: Queue) -> list[str]:
        """The names of the queues that send their dead letters there, in order; they are of the same account."""
        return sorted(self._sources.get(target.key, ()))

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


def _dead_letter_target(attributes: Mapping[str, str]) -> tuple[str, str] | None:
    policy = attributes.get("RedrivePolicy")
    return redrive(policy).target if policy else None
