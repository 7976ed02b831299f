"""Which queues there are: by account and name, and how long a deleted name rests."""

import secrets
import sys
from collections import Counter
from collections.abc import Iterator

from rockdove.broker.queue import Queue
from rockdove.core import attribute, limits
from rockdove.core.arn import parse_arn
from rockdove.core.clock import SECOND_US, Clock
from rockdove.core.errors import InvalidAddress, OverLimit, QueueDeletedRecently, QueueDoesNotExist
from rockdove.core.queue import DeletedQueue, QueueRecord
from rockdove.store.base import Store

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
        self._max_per_account = max_per_account
        self._per_account: Counter[str] = Counter()
        self._deleted: dict[tuple[str, str], int] = {}
        self._by_url: dict[str, Queue] = {}

    def load(self, records: list[QueueRecord], deleted: list[DeletedQueue]) -> None:
        for record in records:
            self.add(record)
        self._deleted = {(gone.account, gone.name): gone.deleted_us for gone in deleted}

    def __iter__(self) -> Iterator[Queue]:
        return iter(list(self._queues.values()))

    def add(self, record: QueueRecord) -> Queue:
        queue = Queue(record, self._region, self._store, self._clock)
        self._queues[queue.key] = queue
        self._per_account[record.account] += queue.size
        return queue

    def remove(self, queue: Queue, now_us: int) -> None:
        if self._queues.pop(queue.key, None) is not None:
            self._per_account[queue.record.account] -= queue.size
        self._by_url = {url: known for url, known in self._by_url.items() if known is not queue}
        recent = {key: at for key, at in self._deleted.items() if self.rests(at, now_us)}
        self._deleted = {**recent, queue.key: now_us}
        queue.close()

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
                self._by_url[url] = queue
        return queue

    def by_arn(self, arn: str) -> Queue | None:
        key = parse_arn(arn)
        return None if key is None else self._queues.get(key)

    def of_account(self, account: str, prefix: str) -> list[Queue]:
        names = sorted(name for owner, name in self._queues if owner == account and name.startswith(prefix))
        return [self._queues[account, name] for name in names]

    def names_of(self, account: str) -> list[str]:
        """The names of an account's queues."""
        return sorted(name for owner, name in self._queues if owner == account)

    def check_rested(self, account: str, name: str, now_us: int) -> None:
        deleted_us = self._deleted.get((account, name))
        if deleted_us is not None and self.rests(deleted_us, now_us):
            raise QueueDeletedRecently()
        self._deleted.pop((account, name), None)

    def check_room(self, record: QueueRecord) -> None:
        if self._per_account[record.account] + len(record.physical) > self._max_per_account:
            raise OverLimit(
                f"An account may have {self._max_per_account} queues, each counted as often as it has physical queues; "
                "delete some first."
            )

    def rests(self, since_us: int, now_us: int) -> bool:
        """Whether 60 seconds have not passed yet (never without the cool-down, or if the clock was set back)."""
        return 0 <= now_us - since_us < self._cool_down_us

    def new_record(
        self, account: str, name: str, attributes: dict[str, str], tags: dict[str, str], now_us: int
    ) -> QueueRecord:
        parts = int(attributes.get("RockdovePhysicalQueues", "1"))
        return QueueRecord(
            uid=secrets.token_hex(8),
            account=account,
            name=name,
            fifo=name.endswith(".fifo"),
            created_us=now_us,
            modified_us=now_us,
            physical=[self._store.new_physical() for _ in range(parts)],
            attributes=attribute.merge({}, attributes),
            tags=tags,
        )
