"""Turns events into files: by the hour of the event, rolled by size and age, and the oldest removed."""

from collections import defaultdict
from collections.abc import Sequence
from itertools import count
from pathlib import Path
from typing import Any, TypeAlias

from msgspec import Struct

from rockdove.core.clock import SECOND_US, Clock
from rockdove.trace.extra import pyarrow
from rockdove.trace.file import TraceFile
from rockdove.trace.folder import HOUR_US, SUFFIX, clean, partition, tidy
from rockdove.trace.keep import Keep
from rockdove.trace.schema import RECORDERS, Event, schema

# The fields of an `Event`, which need not be one.
Row: TypeAlias = tuple[Any, ...]

_TIME = Event._fields.index("event_time")
# Seconds for which nothing is tried after the disk or the folder has failed.
RETRY_S = 1.0
# Seconds between two looks for files that are old.
TIDY_S = 30.0


class Plan(Struct, frozen=True, kw_only=True):
    """What to write, where, and when to begin another file."""

    folder: str
    side: str
    node: str = ""
    # Begins the names of files: no other writer has it.
    name: str = ""
    keep: Keep = Keep()
    roll_bytes: int = 64_000_000
    roll_s: float = 10.0


class Writer:
    """Writes what it is given; counts what has become visible, and what was lost and why."""

    def __init__(self, plan: Plan, clock: Clock) -> None:
        self._plan = plan
        self._clock = clock
        self._folder = Path(plan.folder)
        self._schema = schema()
        self._names = (f"{plan.name}-{number:06}{SUFFIX}" for number in count())
        self._open: dict[int, TraceFile] = {}
        self._retry_us = 0
        self._tidy_us = 0
        self.written = 0
        self.dropped = 0
        self._failure: str | None = None
        self._untidy: str | None = None

    @property
    def trouble(self) -> str | None:
        """Why events are being dropped, or old ones not removed; None once that has worked again."""
        return self._failure or self._untidy

    def clean(self) -> None:
        clean(self._folder)

    def write(self, rows: Sequence[Row]) -> None:
        if self._clock.now_us() < self._retry_us:
            self.dropped += len(rows)
            return
        try:
            batches = self._batches(rows)
        except (ValueError, TypeError, OverflowError) as error:
            if len(rows) > 1:
                for row in rows:
                    self.write([row])
                return
            self._lose(1, f"an event does not fit the schema: {error}")
            return
        for hour, batch in batches:
            self._add(hour, batch)

    def tick(self) -> None:
        """What time brings about; to be called often."""
        now = self._clock.now_us()
        old = now - int(self._plan.roll_s * SECOND_US)
        for hour in [hour for hour, file in self._open.items() if file.opened_us <= old]:
            self._finish(hour)
        if now >= self._tidy_us:
            self._tidy_us = now + int(TIDY_S * SECOND_US)
            self._tidy(now)

    def next_us(self) -> int:
        """When to call `tick` at the latest."""
        roll_us = int(self._plan.roll_s * SECOND_US)
        return min([self._tidy_us, *(file.opened_us + roll_us for file in self._open.values())])

    def close(self) -> None:
        for hour in list(self._open):
            self._finish(hour)

    def _batches(self, rows: Sequence[Row]) -> list[tuple[int, Any]]:
        """A record batch for each hour; mostly there is only one."""
        columns = list(zip(*rows, strict=True))
        times = columns[_TIME]
        hour = min(times) // HOUR_US
        if max(times) // HOUR_US == hour:
            return [(hour, self._batch(columns))]
        parts: defaultdict[int, list[Row]] = defaultdict(list)
        for row in rows:
            parts[row[_TIME] // HOUR_US].append(row)
        return [(hour, self._batch(list(zip(*part, strict=True)))) for hour, part in parts.items()]

    def _batch(self, columns: Sequence[Row]) -> Any:
        pa, number = pyarrow(), len(columns[_TIME])
        values = dict(zip(Event._fields, columns, strict=True))
        for name in RECORDERS:
            values[name] = (getattr(self._plan, name),) * number
        return pa.record_batch([_array(pa, values[field.name], field.type) for field in self._schema], self._schema)

    def _add(self, hour: int, batch: Any) -> None:
        try:
            if hour not in self._open:
                path = partition(self._folder, hour) / next(self._names)
                self._open[hour] = TraceFile(path, self._clock.now_us())
            file = self._open[hour]
        except OSError as error:
            self._fail(batch.num_rows, error)
            return
        try:
            file.add(batch)
        except OSError as error:
            self._give_up(hour, error)
            return
        if file.bytes >= self._plan.roll_bytes:
            self._finish(hour)

    def _finish(self, hour: int) -> None:
        file = self._open[hour]
        try:
            file.finish()
        except OSError as error:
            self._give_up(hour, error)
            return
        del self._open[hour]
        self.written += file.rows
        self._failure = None

    def _give_up(self, hour: int, error: OSError) -> None:
        file = self._open.pop(hour)
        file.abandon()
        self._fail(file.rows, error)

    def _fail(self, rows: int, error: OSError) -> None:
        self._retry_us = self._clock.now_us() + int(RETRY_S * SECOND_US)
        self._lose(rows, error.strerror or str(error))

    def _lose(self, rows: int, reason: str) -> None:
        self.dropped += rows
        self._failure = reason

    def _tidy(self, now_us: int) -> None:
        if self._plan.keep == Keep():
            return
        try:
            tidy(self._folder, self._plan.keep, now_us)
            self._untidy = None
        except OSError as error:
            self._untidy = f"old traces cannot be removed: {error.strerror or error}"


def _array(pa: Any, values: Row, kind: Any) -> Any:
    """A column. Most have one value throughout, or none, which need not be looked at one by one."""
    first = values[0]
    if values[-1] == first and values.count(first) == len(values):
        return pa.repeat(pa.scalar(first, kind), len(values))
    if pa.types.is_timestamp(kind):
        # Half the time of telling it what they are at once.
        return pa.array(values, pa.int64()).view(kind)
    return pa.array(values, kind)
