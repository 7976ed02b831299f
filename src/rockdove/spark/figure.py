"""From counts to figures: the columns of the tables, the same for a queue, for a window and for everything."""

from collections.abc import Iterable, Sequence
from typing import Any, Final, overload

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

from rockdove.spark.order import Ints
from rockdove.spark.queue import PERCENTILES

# The columns of the tables, in order; reference: docs/reference/analysis.md.
NAMES: Final = ("name", "account", "queue")
COUNTED: Final = (
    "sent",
    "received",
    "deleted",
    "expired",
    "dead_lettered",
    "redriven",
    "purged",
    "duplicates",
    "lost",
    "damaged",
    "failed",
    "misses",
    "hits",
    "waiting",
    "in_flight",
)
RATES: Final = (
    "duplication_rate",
    "loss_rate",
    "out_of_order_rate",
    "displacement",
    "send_rate",
    "receive_delete_rate",
    *(name.replace("_us", "_ms") for name in PERCENTILES),
    "miss_ratio",
    "messages_per_hit",
    "utilisation",
)
TIME: Final = pa.timestamp("us", "UTC")
WINDOWS: Final = pa.schema(
    [
        *((name, pa.string()) for name in NAMES),
        ("window_start", TIME),
        *((name, pa.int64()) for name in COUNTED),
        *((name, pa.float64()) for name in RATES),
    ]
)
_BY_SENDER: Final = ("sender_out_of_order_rate", "sender_displacement")
_MOMENTS: Final = ("first", "last")


class QueueNames:
    """What people call queues, and whose they are, by the queues' numbers: in columns, because tasks get a copy."""

    def __init__(self, numbers: Ints, columns: Sequence[pa.Array]) -> None:
        """``numbers`` are in order, and ``columns`` have those of `NAMES` for each."""
        self.numbers = numbers
        self._columns = columns

    @classmethod
    def of(cls, queues: Iterable[tuple[int, str, str | None, str]]) -> "QueueNames":
        """A number, a name, an account and a queue of each."""
        number, *columns = zip(*sorted(queues), strict=True)
        return cls(np.array(number, np.int64), [pa.array(column, pa.string()) for column in columns])

    def only(self, names: Iterable[str]) -> "QueueNames":
        chosen = pc.is_in(self._columns[0], pa.array(list(names), pa.string()))
        numbers = self.numbers[chosen.to_numpy(zero_copy_only=False)]
        return QueueNames(numbers, [column.filter(chosen) for column in self._columns])

    def take(self, numbers: pa.ChunkedArray) -> list[pa.Array]:
        """The columns of queues with these numbers."""
        places = pa.array(np.searchsorted(self.numbers, numbers.to_numpy()))
        return [column.take(places) for column in self._columns]


def windows(rows: pa.Table, names: QueueNames | None, begin: int, width: int, queues: int) -> pa.Table:
    """The table of windows: those of each queue, by its number, or of all together if there are no names."""
    start = pc.add(pc.multiply(rows["window"], width), begin).cast(TIME)
    return pa.table([*_names(rows, names), start, *_figures(rows, width, queues)], WINDOWS)


def of_queues(rows: pa.Table, names: QueueNames, length_us: int) -> pa.Table:
    """The table of queues; `length_us` is the time of the trace."""
    columns = dict(zip(NAMES, _names(rows, names), strict=True))
    columns |= dict(zip((*COUNTED, *RATES), _figures(rows, length_us, 1), strict=True))
    for name, part in zip(_BY_SENDER, ("sender_out_of_order", "sender_displaced"), strict=True):
        columns[name] = ratio(rows[part], rows["sender_ordered"])
    columns["events"] = rows["events"]
    columns |= {name: rows[f"{name}_us"].cast(TIME) for name in _MOMENTS}
    columns["drained"] = pc.equal(rows["drained"], 1)
    return pa.table(columns)


def of_all(rows: pa.Table, length_us: int, queues: int) -> dict[str, Any]:
    """The figures of one row that is the sum of so many queues."""
    figures = zip((*COUNTED, *RATES), _figures(rows, length_us, queues), strict=True)
    return {name: column.to_pylist()[0] for name, column in figures}


class TableRows(Sequence[dict[str, Any]]):
    """The rows of a table. Each is made when it is asked for: of very many queues only a few are looked at closely."""

    def __init__(self, table: pa.Table) -> None:
        self._table = table
        self._columns: dict[str, list[Any]] = {}

    def __len__(self) -> int:
        return len(self._table)

    @overload
    def __getitem__(self, index: int) -> dict[str, Any]: ...

    @overload
    def __getitem__(self, index: slice) -> list[dict[str, Any]]: ...

    def __getitem__(self, index: int | slice) -> dict[str, Any] | list[dict[str, Any]]:
        if isinstance(index, slice):
            return [self[at] for at in range(*index.indices(len(self)))]
        return {name: self.column(name)[index] for name in self._table.column_names}

    def column(self, name: str) -> list[Any]:
        if name not in self._columns:
            self._columns[name] = _values(self._table[name])
        return self._columns[name]


def _values(column: pa.ChunkedArray) -> list[Any]:
    if not (pa.types.is_integer(column.type) or pa.types.is_floating(column.type)):
        return column.to_pylist()  # type: ignore[no-any-return]
    if not column.null_count:
        return column.to_numpy().tolist()  # type: ignore[no-any-return]
    values = column.fill_null(0).to_numpy().astype(object)
    values[column.is_null().to_numpy()] = None
    return values.tolist()  # type: ignore[no-any-return]


def ratio(part: pa.ChunkedArray, whole: pa.ChunkedArray | float) -> pa.ChunkedArray:
    """Nothing divided by nothing is null."""
    divisor = pc.cast(whole, pa.float64()) if isinstance(whole, pa.ChunkedArray) else pa.scalar(float(whole))
    return pc.divide(pc.cast(part, pa.float64()), pc.if_else(pc.equal(divisor, 0.0), None, divisor))


def _names(rows: pa.Table, names: QueueNames | None) -> list[pa.Array]:
    return [pa.nulls(len(rows), pa.string()) for _ in NAMES] if names is None else names.take(rows["number"])


def _figures(rows: pa.Table, length_us: int, queues: int) -> list[pa.ChunkedArray]:
    """From the sums that `rockdove.spark.queue` makes.

    `length_us` is the time that they cover, `queues` the number of queues that they are of.
    """
    duplicates = pc.subtract(rows["receives"], rows["received"])
    length_s = length_us / 1e6
    made = {
        "duplicates": duplicates,
        "duplication_rate": ratio(duplicates, rows["sent"]),
        "loss_rate": ratio(pc.add(rows["lost"], rows["damaged"]), rows["sent"]),
        "out_of_order_rate": ratio(rows["out_of_order"], rows["ordered"]),
        "displacement": ratio(rows["displaced"], rows["ordered"]),
        "send_rate": ratio(rows["sent"], length_s),
        "receive_delete_rate": ratio(rows["deleted"], length_s),
        "miss_ratio": ratio(rows["misses"], pc.add(rows["misses"], rows["hits"])),
        "messages_per_hit": ratio(rows["receives"], rows["hits"]),
        "utilisation": ratio(rows["busy_us"], length_us * queues),
        **{name.replace("_us", "_ms"): ratio(rows[name], 1e3) for name in PERCENTILES},
    }
    return [made[name] if name in made else rows[name] for name in (*COUNTED, *RATES)]
