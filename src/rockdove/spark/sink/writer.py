"""What Spark calls to write: once for each task, and once when all are done."""

import uuid
import warnings
from collections.abc import Iterator
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import pyarrow as pa
from pyspark import TaskContext
from pyspark.sql.datasource import DataSourceArrowWriter, DataSourceStreamArrowWriter, WriterCommitMessage

from rockdove.spark.service.option import BadOption
from rockdove.spark.service.place import QueuePlace
from rockdove.spark.sink.chunk import deduplicated, plain
from rockdove.spark.sink.commit import Batch, Part
from rockdove.spark.sink.option import SinkOptions
from rockdove.spark.sink.reject import Origin
from rockdove.spark.sink.row import rows
from rockdove.spark.sink.send import Sending
from rockdove.spark.sink.stage import Staging

if TYPE_CHECKING:
    from collections.abc import Sequence


@dataclass
class Written(WriterCommitMessage):
    """What one task did. ``part`` is what it has staged, where that is possible."""

    application: str
    batch: int
    rows: int
    rejects: int
    part: Part | None


class AtLeastOnce(UserWarning):
    """Rows may be sent twice."""


class _Writer:
    """Writes batches, wherever the queue is."""

    def __init__(self, place: QueuePlace, options: SinkOptions, once: bool) -> None:
        self._place = place
        self._options = options
        self._once = once
        # Attempts of a query that was started again must not be taken for those from before.
        self._run = f"{uuid.uuid4().hex}/"

    def run(self, origin: Origin, batches: Iterator[pa.RecordBatch]) -> Written:
        """In a task."""
        found = rows(batches)
        found = deduplicated(found, origin) if self._place.queue.endswith(".fifo") else plain(found)
        rejects_path, part = self._options.rejects, None
        with self._place.client() as client:
            if self._once:
                attempt = f"{self._run}{origin.partition}-{uuid.uuid4().hex}"
                staged = Staging(client, self._place, origin, attempt, rejects_path).write(found)
                part, done = Part(origin.partition, attempt, staged), (staged.rows, staged.rejects)
            else:
                done = Sending(client, self._place, origin, rejects_path).write(found)
        return Written(origin.application, origin.batch, *done, part)

    def commit(self, written: "Sequence[Written | None]") -> None:
        """In the driver."""
        for batch, parts in self._batches(written):
            batch.publish(parts, self._options.partly)

    def abort(self, written: "Sequence[Written | None]", name: tuple[str, int] | None = None) -> None:
        """``name``: of the application and batch, where that is known. All tasks may have failed."""
        for batch, parts in self._batches(written, name):
            batch.abort(parts)

    def _batches(
        self, written: "Sequence[Written | None]", name: tuple[str, int] | None = None
    ) -> Iterator[tuple[Batch, list[Part]]]:
        """One, if its name is known; of tasks that have failed, nothing is."""
        done = [each for each in written if each is not None]
        if done:
            name = (done[0].application, done[0].batch)
        if name is not None and self._once:
            with self._place.client() as client:
                batch = Batch(client, self._place, *name, self._run, self._options.rejects)
                yield batch, [each.part for each in done if each.part is not None]

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
        self._writer = _Writer(place, options, once)
        self._application = options.application or f"write-{uuid.uuid4().hex}"
        self._batch = options.batch or 0

    def write(self, iterator: Iterator[pa.RecordBatch]) -> Written:
        return self._writer.run(Origin(self._application, self._batch, _context().partitionId()), iterator)

    def commit(self, messages: "Sequence[Any]") -> None:
        self._writer.commit(messages)
        self._writer.warn()

    def abort(self, messages: "Sequence[Any]") -> None:
        self._writer.abort(messages, (self._application, self._batch))


class StreamWriter(DataSourceStreamArrowWriter):
    """``df.writeStream``. The application is the query, which is the same for as long as its checkpoint is."""

    def __init__(self, place: QueuePlace, options: SinkOptions, once: bool) -> None:
        self._writer = _Writer(place, options, once)
        self._application = options.application

    def write(self, iterator: Iterator[pa.RecordBatch]) -> Written:
        context = _context()
        application = self._application or context.getLocalProperty("sql.streaming.queryId")
        batch = context.getLocalProperty("streaming.sql.batchId")
        assert application is not None
        assert batch is not None
        return self._writer.run(Origin(application, int(batch), context.partitionId()), iterator)

    def commit(self, messages: "Sequence[Any]", batchId: int) -> None:  # noqa: N803
        if None in messages:
            # Continuous processing never calls `write`. Spark logs this, and commits no offsets: nothing is lost.
            raise BadOption("the sink does not support Trigger.Continuous: use a trigger with a processing time")
        self._writer.commit(messages)
        if batchId == 0:
            self._writer.warn()

    def abort(self, messages: "Sequence[Any]", batchId: int) -> None:  # noqa: N803
        # The driver does not know the name of its query here.
        self._writer.abort(messages, None if self._application is None else (self._application, batchId))


def _context() -> TaskContext:
    context = TaskContext.get()
    assert context is not None
    return context
