"""The stream of a queue of Rockdove: executors lease, and what Spark has committed is acknowledged.

Offsets are sequences of leases. A batch is logged before anything is leased for it, a lease gives the same messages for
ever, and the offset that Spark begins the next batch at is one that it has committed: so each message comes out once.
"""

import time
import uuid
from collections.abc import Callable, Iterator
from typing import Any, Final

import pyarrow as pa
from msgspec import Struct
from msgspec.structs import asdict, replace
from pyspark.sql.datasource import DataSourceStreamReader, InputPartition
from pyspark.sql.streaming.datasource import ReadLimit, ReadMaxRows, SupportsTriggerAvailableNow

from rockdove.client import Client
from rockdove.core.errors import RockdoveError
from rockdove.core.limits import MAX_CONSUMER_LENGTH
from rockdove.spark.service.place import QueuePlace
from rockdove.spark.service.trouble import Refused, same_queue, told
from rockdove.spark.source.option import CONSUMER, StreamOptions
from rockdove.spark.source.schema import Table

# Fewer than may be in flight before a service refuses receives: others may want to receive beside a query.
PER_TRIGGER: Final = 100_000
# What a query's progress shows, and the attributes that tell it.
_BACKLOG: Final = {
    "visible": "ApproximateNumberOfMessages",
    "inFlight": "ApproximateNumberOfMessagesNotVisible",
    "delayed": "ApproximateNumberOfMessagesDelayed",
}
_PHYSICAL: Final = "RockdovePhysicalQueues"
_CREATED: Final = "CreatedTimestamp"
# Messages of one lease: few enough for its bytes to seldom end it early, and for others to be served between two.
LEASE: Final = 2_000
# What consumers are called if nothing was told.
_CONSUMER: Final = "spark"
# Seconds between two looks at a queue that is empty.
_LOOK_S: Final = (0.05, 0.5)
# A queue whose messages others hold gives empty batches; they come so slowly.
_REST_S: Final = 1.0


class Offset(Struct, frozen=True, kw_only=True):
    """Sequences up to this one were read. What led to it is kept with it, so that a replay is cut the same way."""

    consumer: str
    sequence: int
    shards: int = 0
    # Messages of one lease, at most.
    size: int = 0
    # Its name; empty in offsets of checkpoints that began before there was one.
    queue: str = ""
    # When it was made, in seconds since 1970; 0 where that was not written down.
    created: int = 0

    def json(self) -> dict[str, Any]:
        return asdict(self)


class Shard(InputPartition):
    """The leases of one task: sequences after ``begin`` up to ``end``."""

    def __init__(self, consumer: str, shard: int, begin: int, end: int, size: int) -> None:
        super().__init__(None)
        self.consumer = consumer
        self.shard = shard
        self.begin = begin
        self.end = end
        self.size = size


class LeaseStream(DataSourceStreamReader, SupportsTriggerAvailableNow):
    """One instance plans, in one process; others read, in the executors."""

    def __init__(
        self, place: QueuePlace, table: Table, options: StreamOptions, sleep: Callable[[float], None] = time.sleep
    ) -> None:
        self._place = place
        self._table = table
        self._options = options
        self._sleep = sleep
        self._client: Client | None = None
        self._first: Offset | None = None
        self._acknowledged: Offset | None = None
        # Messages of the last batch; None if it was not ours.
        self._last: int | None = None
        self._planned: Offset | None = None
        # When the queue was made, as the last look has found.
        self._created = 0
        self._checked = False
        # Messages that a run over what is there has still to take; None: no such run.
        self._left: int | None = None
        self._backlog: dict[str, Any] | None = None
        # When the last batch was planned.
        self._planned_s: float | None = None

    def reportLatestOffset(self) -> dict[str, Any] | None:  # noqa: N802
        """What is in the queue: Spark shows it as the latest offset in a query's progress, and uses it for nothing."""
        return self._backlog

    def getDefaultReadLimit(self) -> ReadLimit:  # noqa: N802
        return ReadMaxRows(self._options.per_trigger or PER_TRIGGER)

    def initialOffset(self) -> dict[str, Any]:  # noqa: N802
        """Spark may ask for it again when it replays the first batch: then only the sequence counts."""
        if self._first is None:
            consumer = mint(self._options.consumer or _CONSUMER)
            self._first = Offset(consumer=consumer, sequence=0, queue=self._place.queue_name)
        return self._first.json()

    def prepareForTriggerAvailableNow(self) -> None:  # noqa: N802
        self._left = self._look()[0]

    def latestOffset(self, start: dict[str, Any], limit: ReadLimit) -> dict[str, Any]:  # noqa: N802
        """Leases nothing: that waits until the offset is logged."""
        begin = self._parse(start)
        self._acknowledge(begin)
        if not self._checked:
            self._check(begin)
        visible, physical = self._await(begin)
        if not visible:
            # What was not there to be read is not made up for later.
            self._planned_s = time.monotonic()
            return start
        most = limit.max_rows if isinstance(limit, ReadMaxRows) else visible
        if self._options.per_second is not None:
            most = min(most, self._allowance(self._options.per_second))
        begin = replace(begin, queue=self._place.queue_name, created=self._created)
        end = plan(begin, visible, most, self._options.partitions or physical)
        self._planned = end
        return end.json()

    def partitions(self, start: dict[str, Any], end: dict[str, Any]) -> list[Shard]:
        begin, last = self._parse(start), self._parse(end)
        if last != self._planned:
            self._check_replay(last)
        # The consumer of the start may be one that was minted for a replay, and never logged.
        return [
            Shard(last.consumer, shard, begin.sequence, last.sequence, last.size)
            for shard in range(last.shards)
            if begin.sequence < last.sequence
        ]

    def read(self, partition: Shard) -> Iterator[pa.RecordBatch]:  # type: ignore[override]
        with self._place.client() as client:
            for sequence in range(partition.begin + 1, partition.end + 1):
                with told(self._place):
                    lease = client.lease_batch(
                        self._place.queue,
                        partition.consumer,
                        partition.shard,
                        sequence,
                        limit=partition.size,
                        system_attributes=self._table.system_attributes,
                        message_attributes=self._table.message_attributes,
                    )
                if lease.messages:
                    yield self._table.of_messages(lease.messages)
                elif not lease.deleted:
                    # It was made empty and stays so: a replay stops here, too. Behind one whose messages were deleted
                    # since there may be more.
                    return

    def commit(self, end: dict[str, Any]) -> None:
        self._acknowledge(self._parse(end))

    def stop(self) -> None:
        if self._client is not None:
            self._client.close()

    def _parse(self, offset: dict[str, Any]) -> Offset:
        found = parse(offset)
        same_queue(self._place, found.queue)
        return found

    def _acknowledge(self, offset: Offset) -> None:
        """Spark has written that it is done with all up to here."""
        if offset.sequence == 0 or offset == self._acknowledged:
            return
        with told(self._place):
            done = self._service().ack_through(self._place.queue, offset.consumer, offset.sequence)
        self._acknowledged = offset
        self._last = done.messages if offset == self._planned else None
        if self._left is not None and self._last is not None:
            # An empty batch: others have the rest. That is the end of a run over what is there.
            self._left = max(0, self._left - self._last) if self._last else 0

    def _check(self, begin: Offset) -> None:
        """Nothing is leased beyond a batch that is committed, before the next one is logged.

        If something is, a newer checkpoint has logged it. A sink that skips batches which it has would not run the
        tasks that are refused then, and what the newer one has leased would be acknowledged unread.
        """
        if begin.sequence:
            with told(self._place):
                leases = self._service().list_leases(self._place.queue, begin.consumer).leases
            if any(lease.sequence > begin.sequence for lease in leases):
                raise Refused(
                    f"the checkpoint is an old copy: consumer {begin.consumer} of {self._place.name} is further than "
                    f"its sequence {begin.sequence}. Go on with the newer checkpoint, or begin a new one"
                )
        self._checked = True

    def _check_replay(self, end: Offset) -> None:
        """A batch is read again. A queue that was made again meanwhile would give other messages for it.

        A sink that has it already would not take them: they would be acknowledged, and nobody would have them.
        """
        self._look()
        if end.created and end.created != self._created:
            raise Refused(
                f"{self._place.name} was deleted and made again since this query has read from it, and a batch that it "
                "had begun cannot be finished: begin a new checkpoint"
            )

    def _await(self, begin: Offset) -> tuple[int, int]:
        """How many messages are visible, zero if none came in time, and the number of physical queues."""
        visible, physical = self._look()
        if self._left is not None:
            return min(visible, self._left), physical
        if visible and self._last == 0:
            self._sleep(_REST_S)
            return visible, physical
        pause_s, waited_s = _LOOK_S[0], 0.0
        while not visible and waited_s < self._options.wait_s:
            self._sleep(pause_s)
            waited_s += pause_s
            pause_s = min(2 * pause_s, _LOOK_S[1])
            visible, physical = self._look()
        return visible, physical

    def _allowance(self, per_second: int) -> int:
        """How many messages a batch may have that is planned now. It waits until a second has passed since the last."""
        elapsed_s = 1.0
        if self._planned_s is not None:
            elapsed_s = time.monotonic() - self._planned_s
            if elapsed_s < 1:
                self._sleep(1 - elapsed_s)
                elapsed_s = 1.0
        self._planned_s = time.monotonic()
        return int(per_second * elapsed_s)

    def _look(self) -> tuple[int, int]:
        with told(self._place):
            found = self._service().attributes(self._place.queue, [*_BACKLOG.values(), _PHYSICAL, _CREATED])
        self._created = int(found.get(_CREATED, 0))
        counts = {name: int(found[attribute]) for name, attribute in _BACKLOG.items()}
        self._backlog = {"queue": self._place.queue_name, **counts, **self._lag()}
        return counts["visible"], int(found.get(_PHYSICAL, 1))

    def _lag(self) -> dict[str, int]:
        """For how long the message has waited that comes next; nothing, if that may not be looked at."""
        try:
            found = self._service().peek(self._place.queue, limit=1, system_attributes=["SentTimestamp"])
        except RockdoveError:
            return {}
        sent_ms = [int(message.attributes["SentTimestamp"]) for message in found if message.state == "visible"]
        return {"lagSeconds": max(0, round(time.time() - sent_ms[0] / 1_000)) if sent_ms else 0}

    def _service(self) -> Client:
        if self._client is None:
            self._client = self._place.client()
        return self._client


def parse(offset: dict[str, Any]) -> Offset:
    """Raises `Refused` if a stream of another kind has made it."""
    try:
        return Offset(**offset)
    except TypeError:
        raise Refused(
            "the checkpoint is that of a queue in another service than Rockdove, read through a journal: "
            f"begin a new checkpoint, or set the option service; an offset here has a {CONSUMER}"
        ) from None


def mint(prefix: str) -> str:
    """A name for the consumer of a new checkpoint: no two may have the same, whatever they are told."""
    own = uuid.uuid4().hex
    return f"{prefix[: MAX_CONSUMER_LENGTH - len(own) - 1]}-{own}"


def plan(begin: Offset, visible: int, most: int, partitions: int) -> Offset:
    """Leases for what is visible, or for as much of it as one batch may have."""
    shards = min(partitions, visible, most)
    each = min(-(-visible // shards), max(1, most // shards))
    steps = -(-each // LEASE)
    size = -(-each // steps)
    if shards * steps * size > most:
        size = each // steps
    return replace(begin, sequence=begin.sequence + steps, shards=shards, size=size)
