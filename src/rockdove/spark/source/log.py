"""The stream of a queue of any other service that speaks SQS: through a journal.

`latestOffset` receives, writes to the journal what it has not written before, and then deletes from the queue. A crash
in between leads to a message that is received again, and found in the journal. All after that reads files that never
change. So each message id comes out once, for as long as the journal lives, and ids are kept for as long as the queue
may give a message again.
"""

import time
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any, Final

import pyarrow as pa
from pyspark.sql.datasource import DataSourceStreamReader, InputPartition
from pyspark.sql.streaming.datasource import ReadLimit, ReadMaxRows, SupportsTriggerAvailableNow

from rockdove.client import Client
from rockdove.core.errors import Fault
from rockdove.core.limits import MAX_RETENTION_S
from rockdove.spark.service.place import QueuePlace
from rockdove.spark.service.trouble import Refused, same_queue, told
from rockdove.spark.source import column
from rockdove.spark.source.gather import Received, gather
from rockdove.spark.source.journal import Journal, Segment
from rockdove.spark.source.option import StreamOptions
from rockdove.spark.source.schema import Table

# All of a batch is in the driver's memory for a moment.
PER_TRIGGER: Final = 10_000
_PARTITIONS: Final = 4
# Ids are kept for so long after their messages have expired: clocks differ.
_MARGIN_S: Final = 86_400


class Part(InputPartition):
    """What one task reads."""

    def __init__(self, segment: Segment) -> None:
        super().__init__(None)
        self.segment = segment


class JournalStream(DataSourceStreamReader, SupportsTriggerAvailableNow):
    """One instance plans, and has the journal open; others read, in the executors."""

    def __init__(
        self,
        place: QueuePlace,
        table: Table,
        options: StreamOptions,
        folder: Path,
        clock: Callable[[], float] = time.time,
    ) -> None:
        self._place = place
        self._table = table
        self._options = options
        self._folder = folder
        self._clock = clock
        self._journal: Journal | None = None
        self._client: Client | None = None
        self._keep_ms = 0
        # A run over what is there ends with messages that were sent after it began; None: no such run.
        self._until_ms: int | None = None
        self._ended = False

    def getDefaultReadLimit(self) -> ReadLimit:  # noqa: N802
        return ReadMaxRows(self._options.per_trigger or PER_TRIGGER)

    def initialOffset(self) -> dict[str, Any]:  # noqa: N802
        return self._offset(self._open().cut)

    def prepareForTriggerAvailableNow(self) -> None:  # noqa: N802
        self._until_ms = int(self._clock() * 1000)

    def latestOffset(self, start: dict[str, Any], limit: ReadLimit) -> dict[str, Any]:  # noqa: N802
        begin = self._sequence(start)
        journal = self._open()
        journal.truncate(begin, int(self._clock() * 1000))
        most = limit.max_rows if isinstance(limit, ReadMaxRows) else None
        # Messages that are known already are no end: others may stand behind them.
        while journal.last == begin and not self._ended and self._take(most):
            pass
        return start if journal.last == begin else self._offset(journal.last)

    def partitions(self, start: dict[str, Any], end: dict[str, Any]) -> list[Part]:
        number = self._options.partitions or _PARTITIONS
        segments = self._open().segments(self._sequence(start), self._sequence(end), number)
        return [Part(segment) for segment in segments]

    def read(self, partition: Part) -> Iterator[pa.RecordBatch]:  # type: ignore[override]
        for batch in partition.segment.read():
            yield self._table.of_columns(batch)

    def commit(self, end: dict[str, Any]) -> None:
        self._open().truncate(self._sequence(end), int(self._clock() * 1000))

    def stop(self) -> None:
        if self._client is not None:
            self._client.close()
        if self._journal is not None:
            self._journal.close()

    def _take(self, most: int | None) -> bool:
        """Into the journal first, and only then away from the queue. What was known already is deleted again.

        Gives whether there was anything.
        """
        client, journal = self._service(), self._open()
        with told(self._place):
            found = gather(client, self._place.queue, most or 2**31, self._options.wait_s, self._options.visibility_s)
            fresh = _first_of_each(found, journal.unseen([message.message_id for message in found]))
            if fresh:
                journal.append(column.table(fresh), [_sent_ms(message) + self._keep_ms for message in fresh])
            if found:
                # What cannot be deleted comes again, is known, and is deleted then.
                client.delete_batch(self._place.queue, [message.receipt_handle for message in found])
        until_ms = self._until_ms
        self._ended = until_ms is not None and all(_sent_ms(message) > until_ms for message in found)
        return bool(found)

    def _open(self) -> Journal:
        if self._journal is None:
            self._journal = Journal(self._folder, self._place.queue_name)
        return self._journal

    def _service(self) -> Client:
        if self._client is None:
            self._client = self._place.client()
            self._keep_ms = (_retention_s(self._client, self._place.queue) + _MARGIN_S) * 1000
        return self._client

    def _offset(self, sequence: int) -> dict[str, Any]:
        return {"journal": self._open().id, "sequence": sequence, "queue": self._place.queue_name}

    def _sequence(self, offset: dict[str, Any]) -> int:
        if "journal" not in offset:
            raise Refused(
                "the checkpoint is that of a queue in Rockdove, read by leases: begin a new checkpoint, or set the "
                "option service"
            )
        # There was none in checkpoints before.
        same_queue(self._place, offset.get("queue", ""))
        journal = self._open()
        sequence = int(offset["sequence"])
        if offset["journal"] != journal.id or sequence > journal.last:
            raise Refused(
                f"{self._folder} is not the journal that belongs to the checkpoint: they must be kept, copied and "
                "removed together"
            )
        return sequence


def _first_of_each(messages: list[Received], wanted: set[str]) -> list[Received]:
    """A message may have come twice at a time."""
    by_id = {message.message_id: message for message in reversed(messages) if message.message_id in wanted}
    return [message for message in messages if by_id.get(message.message_id) is message]


def _sent_ms(message: Received) -> int:
    return int(message.attributes.get("SentTimestamp", "0"))


def _retention_s(client: Client, queue: str) -> int:
    try:
        return int(client.attributes(queue, ["MessageRetentionPeriod"])["MessageRetentionPeriod"])
    except (Fault, KeyError, ValueError):
        # Who may not ask keeps ids for as long as any queue may keep messages.
        return MAX_RETENTION_S
