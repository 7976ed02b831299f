"""Batches of a queue of Rockdove: a look that disturbs nothing, or a drain under a lease that can be read again."""

from collections import Counter
from collections.abc import Iterator
from typing import Final, NamedTuple

import pyarrow as pa
from pyspark.sql.datasource import DataSourceReader, InputPartition

from rockdove.core.limits import MAX_LEASE, MAX_PEEK_PAGE
from rockdove.spark.service.place import QueuePlace
from rockdove.spark.service.trouble import Refused, told
from rockdove.spark.source import option
from rockdove.spark.source.option import EVERYTHING, Chosen
from rockdove.spark.source.schema import Table

# A drain has so many shards whatever the number of tasks is: the same lease id must mean the same leases. One of a FIFO
# queue has one shard.
SHARDS: Final = 16
# Fewer than may be in flight before a service refuses receives.
MOST: Final = 100_000
_PARTITIONS: Final = 4
_PHYSICAL: Final = "RockdovePhysicalQueues"


class Share(NamedTuple):
    """What a drain takes with one shard: ``most`` messages, and at least the leases that it has made already."""

    shard: int
    most: int
    leases: int


class Shares(InputPartition):
    """What one task drains."""

    def __init__(self, shares: list[Share]) -> None:
        super().__init__(None)
        self.shares = shares


class Part(InputPartition):
    """The physical queues that one task looks at; None: all."""

    def __init__(self, physical: list[int | None]) -> None:
        super().__init__(None)
        self.physical = physical


class Peek(DataSourceReader):
    """What is in the queue, in any state, when an action looks.

    Spark could hand filters over, but keeps them for whatever is read from the same table later (seen with 4.3.0).
    """

    def __init__(
        self, place: QueuePlace, table: Table, most: int | None, partitions: int | None, chosen: Chosen = EVERYTHING
    ) -> None:
        self._place = place
        self._table = table
        self._most = most
        self._partitions = partitions or _PARTITIONS
        self._chosen = chosen

    def partitions(self) -> list[Part]:
        """One for each physical queue, but not more than are wanted; one in all if there is a limit."""
        if self._most is not None:
            return [Part([None])]
        with self._place.client() as client, told(self._place):
            number = int(client.attributes(self._place.queue, [_PHYSICAL]).get(_PHYSICAL, 1))
        tasks = min(self._partitions, number)
        return [Part(list(range(first, number, tasks))) for first in range(tasks)]

    def read(self, partition: Part) -> Iterator[pa.RecordBatch]:  # type: ignore[override]
        for physical in partition.physical:
            yield from self._read(physical)

    def _read(self, physical: int | None) -> Iterator[pa.RecordBatch]:
        left, token = self._most, None
        with self._place.client() as client:
            while left is None or left > 0:
                with told(self._place):
                    page = client.peek_page(
                        self._place.queue,
                        limit=MAX_PEEK_PAGE if left is None else min(left, MAX_PEEK_PAGE),
                        token=token,
                        system_attributes=self._table.system_attributes,
                        message_attributes=self._table.message_attributes,
                        physical_queue=physical,
                        sent_from=self._chosen.sent_from,
                        sent_until=self._chosen.sent_until,
                        group_id=self._chosen.group_id,
                    )
                if page.messages:
                    yield self._table.of_messages(page.messages)
                token = page.next_token
                if token is None:
                    return
                left = None if left is None else left - len(page.messages)


class Drain(DataSourceReader):
    """Takes messages under a lease id; they are deleted by ``rockdove lease ack``, and not before."""

    def __init__(
        self, place: QueuePlace, table: Table, lease_id: str, most: int | None, partitions: int | None
    ) -> None:
        self._place = place
        self._table = table
        self._lease_id = lease_id
        self._most = most or MOST
        self._partitions = min(partitions or _PARTITIONS, SHARDS)

    def partitions(self) -> list[Shares]:
        """Raises `Refused` if the id holds more than is wanted: what is not read would be deleted with the rest."""
        with self._place.client() as client, told(self._place):
            held = client.list_leases(self._place.queue, self._lease_id).leases
        messages = sum(lease.messages for lease in held)
        if messages > self._most:
            raise Refused(
                f"the lease id {self._lease_id} holds {messages:,} messages of {self._place.name} already: the option "
                f"{option.MOST} must be what it was then, and not {self._most:,}; or take another {option.LEASE}"
            )
        shares = self._shares(Counter(lease.shard for lease in held))
        tasks = min(self._partitions, len(shares))
        return [Shares(shares[first::tasks]) for first in range(tasks)]

    def _shares(self, made: Counter[int]) -> list[Share]:
        """``made`` has the number of leases by shard."""
        if self._place.queue.endswith(".fifo"):
            # Where a shard has its share a group is cut, and nobody gets the rest of it as long as it is leased.
            return [Share(0, self._most, made[0]), *(Share(shard, 0, made[shard]) for shard in sorted(made) if shard)]
        each, more = divmod(self._most, SHARDS)
        return [Share(shard, each + (shard < more), made[shard]) for shard in range(SHARDS)]

    def read(self, partition: Shares) -> Iterator[pa.RecordBatch]:  # type: ignore[override]
        for share in partition.shares:
            yield from self._drain(share)

    def _drain(self, share: Share) -> Iterator[pa.RecordBatch]:
        """Ends with an empty lease or with enough messages: both are the same when they are read again.

        Messages that were deleted meanwhile count: without them it would take others in their place.
        """
        left, sequence = share.most, 0
        ended = (
            f"the lease id {self._lease_id} has ended: what it held of {self._place.name} was acknowledged or "
            f"released. Take another {option.LEASE}"
        )
        with self._place.client() as client:
            while left > 0 or sequence < share.leases:
                with told(self._place, ended):
                    lease = client.lease_batch(
                        self._place.queue,
                        self._lease_id,
                        share.shard,
                        sequence,
                        limit=max(1, min(left, MAX_LEASE)),
                        system_attributes=self._table.system_attributes,
                        message_attributes=self._table.message_attributes,
                    )
                if lease.messages:
                    yield self._table.of_messages(lease.messages)
                elif not lease.deleted:
                    return
                left -= len(lease.messages) + lease.deleted
                sequence += 1
