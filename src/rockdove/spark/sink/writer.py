"""What Spark calls to write: once for each task, and once when all are done."""

import uuid
import warnings
from collections.abc import Iterator
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import pyarrow as pa
from pyspark import TaskContext
from pyspark.sql.datasource import DataSourceArrowWriter, DataSourceStreamArrowWriter, WriterCommitMessage

from rockdove.spark.service.place import QueuePlace
from rockdove.spark.sink.chunk import deduplicated, plain
from rockdove.spark.sink.option import SinkOptions
from rockdove.spark.sink.publish import Publication
from rockdove.spark.sink.reject import Origin
from rockdove.spark.sink.row import rows
from rockdove.spark.sink.send import Sending

if TYPE_CHECKING:
    from collections.abc import Sequence


@dataclass
class Written(WriterCommitMessage):
    """What one task did."""

    partition: int
    rows: int
    rejects: int


class AtLeastOnce(UserWarning):
    """Rows may be sent twice."""


class _Task:
    """Writes the rows of a task, wherever the queue is."""

    def __init__(self, place: QueuePlace, options: SinkOptions, once: bool) -> None:
        self._place = place
        self._options = options
        self._once = once

    def run(self, origin: Origin, batches: Iterator[pa.RecordBatch]) -> Written:
        found = rows(batches)
        found = deduplicated(found, origin) if self._place.queue.endswith(".fifo") else plain(found)
        rejects_path = self._options.rejects
        with self._place.client() as client:
            if self._once:
                # Attempts of a query that was started again must not be taken for those from before.
                attempt = uuid.uuid4().hex
                done = Publication(client, self._place, origin, attempt, rejects_path).write(found)
            else:
                done = Sending(client, self._place, origin, rejects_path).write(found)
        return Written(origin.partition, *done)

    def warn(self) -> None:
        if not self._once:
            warnings.warn(
                f"{self._place.name} is not Rockdove: a task that is run again may send its rows twice. On FIFO queues "
                "deduplication ids prevent that for five minutes",
                AtLeastOnce,
                stacklevel=2,
            )


class BatchWriter(DataSourceArrowWriter):
    """``df.write``. The application and batch are made up if nobody gave them: then only retried tasks write once."""

    def __init__(self, place: QueuePlace, options: SinkOptions, once: bool) -> None:
        self._task = _Task(place, options, once)
        self._application = options.application or f"write-{uuid.uuid4().hex}"
        self._batch = options.batch or 0

    def write(self, iterator: Iterator[pa.RecordBatch]) -> Written:
        return self._task.run(Origin(self._application, self._batch, _context().partitionId()), iterator)

    def commit(self, messages: "Sequence[Any]") -> None:
        self._task.warn()


class StreamWriter(DataSourceStreamArrowWriter):
    """``df.writeStream``. The application is the query, which is the same for as long as its checkpoint is."""

    def __init__(self, place: QueuePlace, options: SinkOptions, once: bool) -> None:
        self._task = _Task(place, options, once)
        self._application = options.application

    def write(self, iterator: Iterator[pa.RecordBatch]) -> Written:
        context = _context()
        application = self._application or context.getLocalProperty("sql.streaming.queryId")
        batch = context.getLocalProperty("streaming.sql.batchId")
        assert application is not None
        assert batch is not None
        return self._task.run(Origin(application, int(batch), context.partitionId()), iterator)

    def commit(self, messages: "Sequence[Any]", batchId: int) -> None:  # noqa: N803
        if batchId == 0:
            self._task.warn()


def _context() -> TaskContext:
    context = TaskContext.get()
    assert context is not None
    return context
