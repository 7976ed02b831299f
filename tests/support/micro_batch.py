"""What Spark's micro-batch engine does with a source, in the order in which it does it, without Spark.

As observed with Spark 4.3: the end of a batch is logged before anything is read; reads happen in other processes, and
more than once; a batch is committed after its rows are written; a source is told so while the next batch is made, and
only if there is one; a batch that was logged and not committed is replayed from the log, without asking for offsets.
"""

import json
import random
from collections.abc import Callable
from typing import Any

from pyspark import cloudpickle
from pyspark.sql.datasource import DataSourceStreamReader
from pyspark.sql.streaming.datasource import SupportsTriggerAvailableNow

Row = dict[str, Any]


class Killed(Exception):
    """The driver was killed here."""


class Engine:
    """A query with its checkpoint and its table; both outlive the driver. Each batch's rows replace themselves."""

    def __init__(
        self,
        make: Callable[[], DataSourceStreamReader],
        executor: DataSourceStreamReader,
        rng: random.Random,
        risk: float = 0.0,
    ) -> None:
        self._make = make
        # Executors have a reader of their own, which never planned anything.
        self._executor = cloudpickle.dumps(executor)
        self._rng = rng
        # How likely the driver is to be killed at each step.
        self.risk = risk
        self.offsets: list[str] = []
        self.committed = 0
        self.table: dict[int, list[Row]] = {}
        self.kills = 0

    @property
    def rows(self) -> list[Row]:
        return [row for batch in sorted(self.table) for row in self.table[batch]]

    def run_to_the_end(self) -> None:
        """Trigger.AvailableNow, started again for as long as the driver is killed."""
        while True:
            try:
                self.run()
            except Killed:
                self.kills += 1
            else:
                return

    def run(self) -> None:
        """One life of a driver, with Trigger.AvailableNow."""
        reader = self._make()
        try:
            self._live(reader)
        finally:
            # Only what the end of the process does, too.
            reader.stop()

    def _live(self, reader: DataSourceStreamReader) -> None:
        assert isinstance(reader, SupportsTriggerAvailableNow)
        reader.prepareForTriggerAvailableNow()
        if self.committed < len(self.offsets):
            self._batch(reader, len(self.offsets) - 1)
        while True:
            number = len(self.offsets)
            start = self._start(reader, number)
            self.step()
            end = json.dumps(reader.latestOffset(start, reader.getDefaultReadLimit()))
            self.step()
            if json.loads(end) == start:
                return
            self.offsets.append(end)
            self.step()
            if number:
                reader.commit(json.loads(self.offsets[number - 1]))
            self._batch(reader, number)

    def _start(self, reader: DataSourceStreamReader, number: int) -> dict[str, Any]:
        found: dict[str, Any] = (
            json.loads(self.offsets[number - 1]) if number else json.loads(json.dumps(reader.initialOffset()))
        )
        return found

    def _batch(self, reader: DataSourceStreamReader, number: int) -> None:
        end = json.loads(self.offsets[number])
        partitions = list(reader.partitions(self._start(reader, number), end))
        executor = cloudpickle.loads(self._executor)
        rows: list[Row] = []
        for partition in cloudpickle.loads(cloudpickle.dumps(partitions)):
            first = self._read(executor, partition)
            if self._rng.random() < 0.3:
                # A retried or a speculative task, or a second action on the batch.
                assert self._read(executor, partition) == first
            rows += first
        self.table[number] = rows
        self.step()
        self.committed = number + 1
        self.step()

    def _read(self, executor: DataSourceStreamReader, partition: Any) -> list[Row]:
        rows: list[Row] = []
        for batch in executor.read(partition):
            self.step()
            rows += batch.to_pylist()  # type: ignore[union-attr]
        return rows

    def step(self) -> None:
        if self._rng.random() < self.risk:
            raise Killed
