"""Events of Parquet files as columns of numbers, read by Spark's Python workers themselves, without the JVM.

It does what `rockdove.spark.event` says in SQL, for workers that see the files.
"""

from collections.abc import Iterator, Mapping, Sequence
from typing import Any, Final, NamedTuple

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc
import pyarrow.parquet as pq
from numpy.typing import NDArray

from rockdove.capacity.compiled import compiled
from rockdove.spark import row as rows
from rockdove.spark.message_id import Bytes, Offsets, hashed, mixed
from rockdove.spark.order import Ints
from rockdove.spark.row import HASH_BITS, HASH_MASK, LATENCY_SHIFT, MISSING, PURGE, RECEIVE, REST_MASK, REST_SHIFT

# Events that are read at a time.
AT_ONCE: Final = 1 << 19
# Columns with few distinct values, which are read as dictionaries.
_CODED: Final = ("node", "side", "account", "queue", "op", "sender", "receiver")
_TIMES: Final = ("event_time", "sent_at", "enqueued_at", "dequeued_at")
_SURVEYED: Final = ("account", "queue", "op", "sender", "seq", *_TIMES)
_MEASURED: Final = (*_CODED, *_TIMES, "message_id", "seq", "latency_us", "status", "checksum_ok")
_TYPES: Final[dict[str, pa.DataType]] = {
    **dict.fromkeys(_CODED, pa.dictionary(pa.int32(), pa.string())),
    **dict.fromkeys((*_TIMES, "seq", "latency_us", "status"), pa.int64()),
    "message_id": pa.string(),
    "checksum_ok": pa.bool_(),
}
# What is known of one queue of one account, or of none. Times are microseconds since 1970.
SURVEYED: Final = pa.schema(
    [
        ("account", pa.string()),
        ("queue", pa.string()),
        *((name, pa.int64()) for name in ("events", "first", "last")),
        ("numbered", pa.bool_()),
        ("purges", pa.int64()),
    ]
)
# Pairs of a queue and an account that are told apart by counting; more are sorted.
_FEW_PAIRS: Final = 1 << 20

Bools = NDArray[np.bool_]


class Piece(NamedTuple):
    """Some row groups of a file."""

    path: str
    groups: tuple[int, ...]
    events: int


class Words(NamedTuple):
    """What workers cannot import: names of the schema, and the first time that is too late."""

    ops: tuple[str, ...]
    client: str
    end_us: int


class Route(NamedTuple):
    """Where events go. The queue with number n has the parts ``parts[begin[n]:begin[n + 1]]``.

    Each of its messages is in one of them, and so are all events of no message.
    """

    number: "Owners"
    begin: Ints
    parts: Ints


class Owners:
    """Numbers of queues, by account and name. Tasks get columns, which is quicker than a copy of a mapping."""

    def __init__(self, numbers: Mapping[tuple[str | None, str], int]) -> None:
        self._numbers: Mapping[tuple[str | None, str], int] = numbers

    def find(self, pairs: Sequence[tuple[str | None, str]]) -> Ints:
        """-1 for those that there are not."""
        get = self._numbers.get
        return np.array([get(pair, -1) for pair in pairs], np.int64)

    def __getstate__(self) -> list[pa.Array]:
        accounts, queues = zip(*self._numbers, strict=True)
        return [pa.array(accounts, pa.string()), pa.array(queues, pa.string()), pa.array(self._numbers.values())]

    def __setstate__(self, columns: list[pa.Array]) -> None:
        accounts, queues, numbers = (column.to_pylist() for column in columns)
        self._numbers = dict(zip(zip(accounts, queues, strict=True), numbers, strict=True))


class _Coded(NamedTuple):
    """For each row the place of its value, or -1 where there is none."""

    codes: Ints
    values: list[str]


def survey(piece: Piece, words: Words, thorough: bool = False) -> Iterator[pa.RecordBatch]:
    """What a piece says of its queues, as far as it can be read; a queue may come several times.

    ``thorough``: of events of which all columns can be read.
    """
    for batch in _batches(piece, _MEASURED if thorough else _SURVEYED):
        op = _op(batch, words)
        known = _known(batch, op, words)
        pairs, place = _pairs(batch, known)
        numbered = (_coded(batch, "sender").codes >= 0) & (_numbers(batch, "seq") != MISSING)
        figures = _survey(place, len(pairs), _numbers(batch, "event_time")[known], numbered[known], op[known] == PURGE)
        columns: list[pa.Array] = [
            *(pa.array([pair[at] for pair in pairs], pa.string()) for at in range(2)),
            *(pa.array(figures[:, at]) for at in range(3)),
            pa.array(figures[:, 3] != 0),
            pa.array(figures[:, 4]),
        ]
        yield pa.RecordBatch.from_arrays(columns, schema=SURVEYED)


def count(piece: Piece, words: Words) -> tuple[int, int]:
    """How many rows can be read, with all their columns, and how many of them are events."""
    number, known = 0, 0
    for batch in _batches(piece, _MEASURED):
        number += len(batch)
        known += int(np.count_nonzero(_known(batch, _op(batch, words), words)))
    return number, known


def routed(piece: Piece, words: Words, route: Route, numbered: bool) -> Iterator[tuple[int, pa.RecordBatch]]:
    """The events of a piece as `rockdove.spark.row.rows` reads them, but not sorted, with the part that they go to."""
    for batch in _batches(piece, _MEASURED):
        op = _op(batch, words)
        known = _known(batch, op, words)
        ids = batch.column("message_id")
        is_named = ids.is_valid().to_numpy(zero_copy_only=False)
        hashes = np.zeros(len(batch), np.int64)
        _hash(*_text(ids), is_named, hashes)
        part = np.full(len(batch), -1, np.int64)
        number = _queue_numbers(batch, known, route)
        sizes = _route(number, hashes, route.begin, route.parts, part, np.zeros(int(route.parts.max()) + 1, np.int64))
        table = np.empty((len(rows.NUMBERS) + len(rows.NUMBERED), int(sizes.sum())), np.int64)
        order = np.empty(table.shape[1], np.int64)
        flags = np.where(_is(batch, "side", words.client), rows.BY_CLIENT, 0)
        flags |= np.where(_succeeded(batch), rows.SUCCESS, 0) | np.where(_is_broken(batch), rows.BROKEN, 0)
        event_time, sent_at, enqueued_at, dequeued_at = (_numbers(batch, name) for name in _TIMES)
        _fill(
            part, sizes, number, hashes, is_named, op, flags, _numbers(batch, "latency_us"), event_time, sent_at,
            enqueued_at, dequeued_at, _hashes(batch, "node"), _hashes(batch, "receiver"), _hashes(batch, "sender"),
            _numbers(batch, "seq"), table, order,
        )  # fmt: skip
        received = pa.array((op == RECEIVE) & is_named)
        named = pc.if_else(received, ids, "").take(pa.array(order))
        yield from _cut(table, named, sizes, rows.schema(numbered))


def _cut(
    table: NDArray[np.int64], named: pa.Array, sizes: Ints, schema: pa.Schema
) -> Iterator[tuple[int, pa.RecordBatch]]:
    ends = np.cumsum(sizes)
    for part in np.flatnonzero(sizes).tolist():
        begin, end = int(ends[part] - sizes[part]), int(ends[part])
        columns = [pa.array(column[begin:end]) for column in table[: len(schema) - 1]]
        yield part, pa.RecordBatch.from_arrays([*columns, named[begin:end]], schema=schema)


# Columns of a file.


def _batches(piece: Piece, names: Sequence[str]) -> Iterator[pa.RecordBatch]:
    """As far as they can be read, with all of these columns. Numbers have `MISSING` where there is none."""
    try:
        footer = pq.read_metadata(piece.path)
        there = set(footer.schema.names)
        wanted, coded = [name for name in names if name in there], [name for name in _CODED if name in there]
        with pq.ParquetFile(piece.path, metadata=footer, read_dictionary=coded) as file:
            for group in piece.groups:
                for batch in file.iter_batches(AT_ONCE, row_groups=[group], columns=wanted, use_threads=False):
                    columns = [_column(batch, name) for name in names]
                    yield pa.RecordBatch.from_arrays(columns, list(names))
    except (OSError, pa.ArrowException):
        # The footer has told how many there should be, and the user is told of the difference.
        return


def _column(batch: pa.RecordBatch, name: str) -> pa.Array:
    """In the type that is read here, if it was written in another."""
    kind = _TYPES[name]
    if name not in batch.schema.names:
        column = pa.nulls(len(batch), kind)
    else:
        column = batch.column(name)
        if name in _TIMES:
            column = column.cast(pa.timestamp("us", column.type.tz))
        # Unsafe, because text of others may be no text.
        column = column if column.type == kind else column.cast(kind, safe=kind == pa.int64())
    return column.fill_null(MISSING) if kind == pa.int64() and column.null_count else column


def _numbers(batch: pa.RecordBatch, name: str) -> Ints:
    found: Ints = batch.column(name).to_numpy()
    return found


def _coded(batch: pa.RecordBatch, name: str) -> _Coded:
    column = batch.column(name)
    values = column.dictionary.cast(pa.binary()).to_pylist()
    return _Coded(_codes(column), [value.decode(errors="replace") for value in values])


def _codes(column: Any) -> Ints:
    indices = column.indices
    codes: Ints = (indices.fill_null(-1) if indices.null_count else indices).to_numpy()
    return codes


def _hashes(batch: pa.RecordBatch, name: str) -> Ints:
    """0 where there is nothing; hashes are odd."""
    column = batch.column(name)
    found = np.zeros(len(column.dictionary) + 1, np.int64)
    _hash(*_text(column.dictionary), np.ones(len(column.dictionary), np.bool_), found)
    found[:-1] |= 1
    return found[_codes(column)]


def _text(column: pa.Array) -> tuple[Offsets, Bytes]:
    """Where each value begins, and all of them one after the other."""
    _, places, text = column.buffers()
    if places is None or not len(column):
        return np.zeros(len(column) + 1, np.int32), np.zeros(1, np.uint8)
    offsets = np.frombuffer(places, np.int32)[column.offset : column.offset + len(column) + 1]
    return offsets, np.frombuffer(text, np.uint8) if text is not None and text.size else np.zeros(1, np.uint8)


def _is(batch: pa.RecordBatch, name: str, value: str) -> Bools:
    coded = _coded(batch, name)
    found: Bools = np.array([*(each == value for each in coded.values), False])[coded.codes]
    return found


def _succeeded(batch: pa.RecordBatch) -> Bools:
    status = _numbers(batch, "status")
    found: Bools = (status >= 200) & (status <= 299)
    return found


def _is_broken(batch: pa.RecordBatch) -> Bools:
    found: Bools = pc.invert(batch.column("checksum_ok").fill_null(True)).to_numpy(zero_copy_only=False)
    return found


def _op(batch: pa.RecordBatch, words: Words) -> Ints:
    """The place in `words.ops`, or -1."""
    coded = _coded(batch, "op")
    table = np.array([*(words.ops.index(name) if name in words.ops else -1 for name in coded.values), -1])
    return table[coded.codes]


def _known(batch: pa.RecordBatch, op: Ints, words: Words) -> Bools:
    """Which rows are events; the same as `rockdove.spark.known.is_known`."""
    known: Bools = (op >= 0) & (_codes(batch.column("queue")) >= 0) & (_numbers(batch, "event_time") != MISSING)
    for name in _TIMES:
        time = _numbers(batch, name)
        known &= (time == MISSING) | ((time >= 0) & (time < words.end_us))
    return known


def _pairs(batch: pa.RecordBatch, known: Bools) -> tuple[list[tuple[str | None, str]], Ints]:
    """The accounts and queues that events have, and for each event the place of its own."""
    queue, account = _coded(batch, "queue"), _coded(batch, "account")
    number = len(account.values) + 1
    codes = (queue.codes * number + account.codes + 1)[known]
    if len(queue.values) * number <= _FEW_PAIRS:
        used = np.flatnonzero(np.bincount(codes, minlength=1))
        table = np.zeros(int(used[-1]) + 1 if len(used) else 1, np.int64)
        table[used] = np.arange(len(used))
        place = table[codes]
    else:
        used, place = np.unique(codes, return_inverse=True)
    accounts = [None, *account.values]
    return [(accounts[code % number], queue.values[code // number]) for code in used.tolist()], place


def _queue_numbers(batch: pa.RecordBatch, known: Bools, route: Route) -> Ints:
    """-1 where a row is no event, or of a queue that nobody has told of."""
    pairs, place = _pairs(batch, known)
    found = np.full(len(batch), -1, np.int64)
    found[known] = route.number.find(pairs)[place]
    return found


# Loops.


@compiled
def _survey(place: Ints, number: int, time: Ints, numbered: Bools, purge: Bools) -> NDArray[np.int64]:
    """For each place: events, the first and the last time, whether one is numbered, and purges."""
    found = np.zeros((number, 5), np.int64)
    for row in range(len(place)):
        each = found[place[row]]
        if each[0] == 0 or time[row] < each[1]:
            each[1] = time[row]
        if each[0] == 0 or time[row] > each[2]:
            each[2] = time[row]
        each[0] += 1
        each[3] |= numbered[row]
        each[4] += purge[row]
    return found


@compiled
def _hash(offsets: Offsets, text: Bytes, wanted: Bools, found: Ints) -> None:
    for row in range(len(wanted)):
        if wanted[row]:
            found[row] = hashed(offsets, text, row)


@compiled
def _route(number: Ints, hashes: Ints, begin: Ints, parts: Ints, part: Ints, sizes: Ints) -> Ints:
    """Fill in the part of each event; gives how many go to each."""
    for row in range(len(number)):
        if number[row] >= 0:
            first = begin[number[row]]
            # All events of a message have the same hash, and so the same part.
            place = first + (hashes[row] >> 16 & 0xFFFFFF) % (begin[number[row] + 1] - first)
            part[row] = parts[place]
            sizes[part[row]] += 1
    return sizes


@compiled
def _fill(
    part: Ints,
    sizes: Ints,
    number: Ints,
    hashes: Ints,
    is_named: Bools,
    op: Ints,
    flags: Ints,
    latency: Ints,
    event_time: Ints,
    sent_at: Ints,
    enqueued_at: Ints,
    dequeued_at: Ints,
    node: Ints,
    receiver: Ints,
    sender: Ints,
    seq: Ints,
    table: NDArray[np.int64],
    order: Ints,
) -> None:
    """Write the columns of `rows.NUMBERS` and `rows.NUMBERED`, part by part, and which row stands at each place."""
    following = np.cumsum(sizes) - sizes
    for row in range(len(part)):
        if part[row] < 0:
            continue
        place = following[part[row]]
        following[part[row]] += 1
        order[place] = row
        low = hashes[row] & HASH_MASK | 1 if is_named[row] else 0
        table[0, place] = number[row] << HASH_BITS | low
        waited = min(latency[row], rows.SLOWEST_US) if latency[row] >= 0 else -1
        rest = hashes[row] >> HASH_BITS - REST_SHIFT & REST_MASK
        table[1, place] = (waited << LATENCY_SHIFT) + rest + op[row] + flags[row]
        received = op[row] == RECEIVE
        time = dequeued_at[row] if received and dequeued_at[row] != MISSING else event_time[row]
        table[2, place] = time
        table[3, place] = enqueued_at[row]
        table[4, place] = sent_at[row] if sent_at[row] != MISSING else enqueued_at[row]
        request = np.uint64(node[row]) ^ mixed(np.uint64(receiver[row]) ^ mixed(np.uint64(latency[row])))
        table[5, place] = np.int64(mixed(request ^ mixed(np.uint64(time)))) if received else 0
        is_numbered = sender[row] != 0 and seq[row] != MISSING
        table[6, place] = sender[row] if is_numbered else 0
        table[7, place] = seq[row] if seq[row] != MISSING else 0
