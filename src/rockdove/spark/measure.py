"""From sorted events to figures: what Spark's tasks run on Arrow batches."""

from collections.abc import Callable, Iterable, Iterator
from itertools import chain
from typing import Any, Final

import numpy as np
import pyarrow as pa

from rockdove.spark import share
from rockdove.spark.fold import LATENCY_BITS, LONGEST_US
from rockdove.spark.line import sum_by
from rockdove.spark.order import Ints
from rockdove.spark.queue import BY_SENDER, LEVELS, MOMENTS, PERCENTILES, SUMS, WHOLE, Latencies, Queues
from rockdove.spark.row import HASH_BITS, HASH_MASK, MISSING, rows
from rockdove.spark.window import Windows

# The number of no queue: rows that are of all queues of a task.
EVERY: Final = -1
# The kind of rows that are sums; those of other kinds are buckets of latencies.
TOTAL: Final = "total"
# Figures of queues whose sums are those of all queues.
ADDED: Final = (*SUMS, *LEVELS)
FIGURES: Final = (*ADDED, *PERCENTILES, *BY_SENDER, *MOMENTS)

SCHEMA: Final = pa.schema(
    [
        ("number", pa.int64()),
        ("window", pa.int64()),
        *((name, pa.int64()) for name in FIGURES),
        ("kind", pa.string()),
        ("bucket", pa.list_(pa.int64())),
        ("times", pa.list_(pa.int64())),
        # What one of several tasks knows of a queue that they have divided; for `joiner`.
        ("book", pa.binary()),
    ]
)
# Buckets that wait to be added up, at most.
_PENDING: Final = 1 << 21


Batches = Iterable[pa.RecordBatch]


def measurer(windows: Windows, divided: frozenset[int] = frozenset()) -> Callable[[Batches], Iterator[pa.RecordBatch]]:
    """The function for `DataFrame.mapInArrow`. Of queues with a number in `divided` it gives books, else figures."""

    def measure(batches: Batches) -> Iterator[pa.RecordBatch]:
        buckets, totals = Buckets.of_kinds(), Totals(windows)
        for number, queues in _blocks(batches, windows, divided):
            if number in divided:
                yield _batch(None, {"number": [number], "window": [WHOLE], "book": [queues.book()]})
            else:
                yield from _rows(queues, buckets, totals)
        yield from _sums(buckets, totals)

    return measure


def joiner(windows: Windows) -> Callable[[Batches], Iterator[pa.RecordBatch]]:
    """The same for books of divided queues, in any order; those of a queue are in one task."""

    def join(batches: Batches) -> Iterator[pa.RecordBatch]:
        books: dict[int, list[bytes]] = {}
        for batch in batches:
            for number, book in zip(batch.column("number").to_pylist(), batch.column("book").to_pylist(), strict=True):
                books.setdefault(number, []).append(book)
        buckets, totals = Buckets.of_kinds(), Totals(windows)
        for number in list(books):
            yield from _rows(Queues.joined(windows, books.pop(number)), buckets, totals)
        yield from _sums(buckets, totals)

    return join


def _rows(queues: Queues, buckets: "dict[str, Buckets]", totals: "Totals") -> Iterator[pa.RecordBatch]:
    found = queues.figures()
    for kind, packed in found.latencies._asdict().items():
        buckets[kind].add(packed)
    for columns in chain([found.queues], found.windows):
        totals.add(columns)
        yield _batch(None, columns)


def _sums(buckets: "dict[str, Buckets]", totals: "Totals") -> Iterator[pa.RecordBatch]:
    yield totals.batch()
    for kind, counted in buckets.items():
        yield counted.batch(kind)


def _blocks(batches: Batches, windows: Windows, divided: frozenset[int]) -> Iterator[tuple[int, Queues]]:
    """Some queues at a time, once all their events are in them, and the number of the last.

    The events of a task are sorted by their keys. A divided queue is by itself.
    """
    queues, number = Queues(windows), None
    for batch in _whole_messages(batches):
        events, row = rows(batch), 0
        while row < len(batch):
            following = int(events.key[row]) >> HASH_BITS
            if number is not None and number != following and (number in divided or following in divided):
                yield number, queues
                queues = Queues(windows)
            number, end = following, _end(events.key, row, divided)
            row = queues.add(events, row, end)
            if row < end:
                yield number, queues
                queues, number = Queues(windows), None
    if number is not None:
        yield number, queues


def _end(key: Ints, row: int, divided: frozenset[int]) -> int:
    """Up to where events may be in one block with that of a row."""
    if not divided:
        return len(key)
    number = int(key[row]) >> HASH_BITS
    if number in divided:
        return int(np.searchsorted(key, (number + 1) << HASH_BITS))
    ends = [int(np.searchsorted(key, each << HASH_BITS)) for each in divided if each > number]
    return min(ends, default=len(key))


def _whole_messages(batches: Iterable[pa.RecordBatch]) -> Iterator[pa.RecordBatch]:
    """The same events, cut so that no message is in two batches. Raises `ValueError` if they are not sorted."""
    rest: pa.RecordBatch | None = None
    before = np.int64(0)
    for batch in batches:
        if batch.num_rows == 0:
            continue
        whole = batch if rest is None else pa.concat_batches([rest, batch])
        keys = whole.column("key").to_numpy()
        if keys[0] < before or np.any(keys[1:] < keys[:-1]):
            raise ValueError("events must be sorted by their keys")
        before = keys[-1]
        last = int(keys[-1])
        cut = int(np.searchsorted(keys, last)) if last & HASH_MASK else len(keys)
        rest = whole.slice(cut) if cut < len(keys) else None
        if cut:
            yield whole.slice(0, cut)
    if rest is not None:
        yield rest


def _batch(kind: str | None, columns: dict[str, Any]) -> pa.RecordBatch:
    """Rows of that kind; they are of all queues if there are no numbers."""
    length = len(columns["window"])
    made = {"number": np.full(length, EVERY), "kind": pa.array([kind] * length, pa.string()), **columns}
    arrays = [
        _array(made[field.name], field.type) if field.name in made else pa.nulls(length, field.type) for field in SCHEMA
    ]
    return pa.RecordBatch.from_arrays(arrays, schema=SCHEMA)


def _array(values: Any, kind: pa.DataType) -> pa.Array:
    if not isinstance(values, np.ndarray):
        return pa.array(values, kind)
    missing = values == MISSING
    return pa.array(values, kind, mask=missing if missing.any() else None)


class Totals:
    """Sums over all queues of a task, for each window that a queue has a row for."""

    def __init__(self, windows: Windows) -> None:
        self._sums = np.zeros((len(ADDED), windows.number + 1), np.int64)
        self._seen = np.zeros(windows.number + 1, np.bool_)

    def add(self, figures: dict[str, Ints]) -> None:
        # The whole time is window -1, which is the last place.
        places = figures["window"] % len(self._seen)
        self._seen[places] = True
        for sums, name in zip(self._sums, ADDED, strict=True):
            sums += sum_by(places, figures[name], len(sums))

    def batch(self) -> pa.RecordBatch:
        places = np.flatnonzero(self._seen)
        windows = np.where(places == len(self._seen) - 1, WHOLE, places)
        sums = {name: row[places] for name, row in zip(ADDED, self._sums, strict=True)}
        return _batch(TOTAL, {"window": windows, **sums})


class Buckets:
    """Latencies of all queues of a task: fine buckets for the whole time, coarse ones for each window."""

    @classmethod
    def of_kinds(cls) -> "dict[str, Buckets]":
        return {kind: cls() for kind in Latencies._fields}

    def __init__(self) -> None:
        self._fine = DeliveryCounts()
        self._coarse = DeliveryCounts()

    def add(self, packed: Ints) -> None:
        values = packed & LONGEST_US
        self._fine.add(share.bucket(values, share.FINE))
        self._coarse.add((packed - values) | share.bucket(values, share.COARSE))

    def batch(self, kind: str) -> pa.RecordBatch:
        fine, fine_times = self._fine.result()
        coarse, coarse_times = self._coarse.result()
        windows = coarse >> LATENCY_BITS
        begins = np.flatnonzero(np.r_[True, windows[1:] != windows[:-1]]) if len(windows) else np.zeros(0, np.int64)
        spans = list(zip(begins, [*begins[1:], len(windows)], strict=True)) if len(windows) else []
        columns = {
            "window": np.r_[WHOLE, windows[begins]],
            "bucket": [fine, *(coarse[begin:end] & LONGEST_US for begin, end in spans)],
            "times": [fine_times, *(coarse_times[begin:end] for begin, end in spans)],
        }
        return _batch(kind, columns)


class DeliveryCounts:
    """How often each number was seen."""

    def __init__(self) -> None:
        self._values = np.zeros(0, np.int64)
        self._times = np.zeros(0, np.int64)
        self._pending: list[tuple[Ints, Ints]] = []
        self._size = 0

    def add(self, values: Ints) -> None:
        found, times = np.unique(values, return_counts=True)
        self._pending.append((found, times))
        self._size += len(found)
        if self._size > _PENDING:
            self.result()

    def result(self) -> tuple[Ints, Ints]:
        """The numbers, in order, and their counts."""
        values = np.concatenate([self._values, *(found for found, _ in self._pending)])
        times = np.concatenate([self._times, *(number for _, number in self._pending)])
        self._pending, self._size = [], 0
        self._values, places = np.unique(values, return_inverse=True)
        self._times = np.zeros(len(self._values), np.int64)
        np.add.at(self._times, places, times)
        return self._values, self._times
