"""Batches of a queue of Rockdove: a look that disturbs nothing, or a drain under a lease that can be read again."""

from collections.abc import Iterator
from typing import Final

import pyarrow as pa
from pyspark.sql.datasource import DataSourceReader, InputPartition

from rockdove.core.limits import MAX_LEASE, MAX_PEEK_PAGE
from rockdove.spark.service.place import Place
from rockdove.spark.service.trouble import told
from rockdove.spark.source.schema import Table

# A drain has so many shards whatever the number of tasks is: the same lease id must mean the same leases.
SHARDS: Final = 16
# Fewer than may be in flight before a service refuses receives.
MOST: Final = 100_000
_PARTITIONS: Final = 4


class Shards(InputPartition):
    """What one task drains."""

    def __init__(self, shards: list[int]) -> None:
        super().__init__(None)
        self.shards = shards


class Peek(DataSourceReader):
    """What is in the queue, in any state, when an action looks."""

    def __init__(self, place: Place, table: Table, most: int | None) -> None:
        self._place = place
        self._table = table
        self._most = most

    def partitions(self) -> list[InputPartition]:
        return [InputPartition(None)]

    def read(self, partition: InputPartition) -> Iterator[pa.RecordBatch]:
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
                    )
                if page.messages:
                    yield self._table.of_messages(page.messages)
                token = page.next_token
                if token is None:
                    return
                left = None if left is None else left - len(page.messages)


class Drain(DataSourceReader):
    """Takes messages under a lease id; they are deleted by ``rockdove lease ack``, and not before."""

    def __init__(self, place: Place, table: Table, lease_id: str, most: int | None, partitions: int | None) -> None:
        self._place = place
        self._table = table
        self._lease_id = lease_id
        self._each = -(-(most or MOST) // SHARDS)
        self._partitions = min(partitions or _PARTITIONS, SHARDS)

    def partitions(self) -> list[Shards]:
        return [Shards(list(range(first, SHARDS, self._partitions))) for first in range(self._partitions)]

    def read(self, partition: Shards) -> Iterator[pa.RecordBatch]:  # type: ignore[override]
        for shard in partition.shards:
            yield from self._drain(shard)

    def _drain(self, shard: int) -> Iterator[pa.RecordBatch]:
        """Ends with an empty lease or with enough messages: both are the same when they are read again."""
        left, sequence = self._each, 0
        with self._place.client() as client:
            while left:
                with told(self._place):
                    lease = client.lease_batch(
                        self._place.queue,
                        self._lease_id,
                        shard,
                        sequence,
                        limit=min(left, MAX_LEASE),
                        system_attributes=self._table.system_attributes,
                        message_attributes=self._table.message_attributes,
                    )
                if not lease.messages:
                    return
                yield self._table.of_messages(lease.messages)
                left -= len(lease.messages)
                sequence += 1
