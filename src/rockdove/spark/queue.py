"""The figures of some queues: their events go in batch by batch, their rows come out."""

import pickle
from collections.abc import Iterator, Sequence
from typing import Final, NamedTuple

import numpy as np
from numpy.typing import NDArray

from rockdove.spark import copy, share
from rockdove.spark import fold as book
from rockdove.spark.fold import COUNTS, FACTS, LATENCY_BITS, LONGEST_US, SIZES, Book, Cells
from rockdove.spark.line import Shown, Walk, sum_by
from rockdove.spark.order import (
    Ints,
    begins_of,
    displaced_in_blocks,
    longest_of_blocks,
    ranks_as_received,
    ranks_by_sender,
)
from rockdove.spark.row import HASH_BITS, MISSING, Rows
from rockdove.spark.spell import Spells, merge
from rockdove.spark.window import Windows

# The window of the row for all of a queue's time.
WHOLE: Final = -1

COUNTED: Final = {
    "sent": book.SENT,
    "received": book.RECEIVED,
    "receives": book.RECEIVES,
    "deleted": book.DELETED,
    "expired": book.EXPIRED,
    "dead_lettered": book.DEAD_LETTERED,
    "redriven": book.REDRIVEN,
    "purged": book.PURGED,
    "lost": book.LOST,
    "damaged": book.DAMAGED,
}
SUMS: Final = (*COUNTED, "failed", "misses", "hits", "busy_us", "ordered", "out_of_order", "displaced")
# These stand for a moment, not for a window; the moment is its end.
LEVELS: Final = ("waiting", "in_flight")
PERCENTILES: Final = tuple(f"{kind}_p{round(at * 100)}_us" for kind in ("response", "delivery") for at in share.SHARES)
BY_SENDER: Final = ("sender_ordered", "sender_out_of_order", "sender_displaced")
MOMENTS: Final = ("events", "first_us", "last_us", "drained")

_FIELDS: Final = {
    book.MESSAGES: ("sent", "high", "low", "received", "sender", "seq", "cell"),
    book.RESPONSES: ("responses",),
    book.DELIVERIES: ("deliveries",),
    book.REQUESTS: ("asked", "request"),
    book.SPELLS: ("work_begin", "work_end"),
    book.NUMBERED: ("who", "which", "went", "came", "fate", "went_cell", "came_cell"),
    book.PURGES: ("purges",),
}
# Lists of cells.
_CELLS: Final = ("cell", "asked", "went_cell", "came_cell")
# Queues are measured together until they have so many cells or events.
FULL_CELLS: Final = 1 << 17
FULL_EVENTS: Final = 1 << 20

Columns = dict[str, Ints]


class Latencies(NamedTuple):
    """(window << LATENCY_BITS) | microseconds, of all queues."""

    response: Ints
    delivery: Ints


class Figures(NamedTuple):
    """What is not known is `MISSING`.

    ``queues`` has a row for each queue, ``windows`` one for each queue and window that is not empty, some at a time.
    """

    queues: Columns
    windows: Iterator[Columns]
    latencies: Latencies


class _Order(NamedTuple):
    """Messages as they were received: the places at which they were sent, and the cells and queues of the receives.

    Those of a cell are side by side, and those of a queue.
    """

    ranks: Ints
    cell: Ints
    queue: Ints

    def by_cell(self, number: int) -> Columns:
        begins = begins_of(self.cell)
        used = self.cell[begins]
        made = {name: np.zeros(number, np.int64) for name in ("ordered", "out_of_order", "displaced")}
        made["ordered"][used] = np.diff(np.r_[begins, len(self.cell)])
        made["out_of_order"][used] = made["ordered"][used] - longest_of_blocks(self.ranks, begins)
        made["displaced"][used] = displaced_in_blocks(self.ranks, begins)
        return made

    def longest(self, number: int) -> Ints:
        """How many of each queue are in order."""
        begins = begins_of(self.queue)
        made = np.zeros(number, np.int64)
        made[self.queue[begins]] = longest_of_blocks(self.ranks, begins)
        return made


class _State(NamedTuple):
    """A book of one queue, without the room for more."""

    facts: Ints
    window: Ints
    counts: NDArray[np.int64]
    lists: Columns


class Queues:
    """Holds about 90 bytes for a message, 56 more if its sender is known, and 8 for an event; no bodies, no ids."""

    def __init__(self, windows: Windows) -> None:
        self._windows = windows
        sizes = np.zeros(SIZES, np.int64)
        sizes[book.NUMBER] = -1
        sizes[book.MOST_CELLS], sizes[book.MOST_EVENTS] = FULL_CELLS, FULL_EVENTS
        none = np.empty(0, np.int64)
        slots = np.full(windows.number, -1, np.int64)
        cells = Cells(windows.begin, windows.width, slots, none, none, np.empty((0, COUNTS), np.int64))
        lists = [none for names in _FIELDS.values() for _ in names]
        self._book = Book(cells, sizes, np.empty((0, FACTS), np.int64), *lists)

    def add(self, rows: Rows, begin: int, end: int) -> int:
        """Take events from `begin` on, all of a message in one call; gives the row before which it stopped.

        That is `end`, or where a queue begins: then this one is full.
        """
        numbers = rows.key[begin:end] >> HASH_BITS
        self._make_room(end - begin, 1 + int(np.count_nonzero(numbers[1:] != numbers[:-1])))
        return book.fold(rows, begin, end, self._book)

    def book(self) -> bytes:
        """What is known of a queue that is here alone, for `joined`."""
        cells = self._book.cells
        lists = {name: self._list(name) for names in _FIELDS.values() for name in names}
        state = _State(self._book.facts[0], cells.window[: self._cells], cells.counts[: self._cells], lists)
        return pickle.dumps(state)

    @classmethod
    def joined(cls, windows: Windows, books: Sequence[bytes]) -> "Queues":
        """One queue, of which each book has some messages. None of them may have purged the others'."""
        states: list[_State] = [pickle.loads(each) for each in books]
        used = np.unique(np.concatenate([state.window for state in states]))
        counts = np.zeros((len(used), COUNTS), np.int64)
        gathered: dict[str, list[Ints]] = {name: [] for names in _FIELDS.values() for name in names}
        for state in states:
            place = np.searchsorted(used, state.window)
            # A state has each window once.
            counts[place] += state.counts
            for name, values in state.lists.items():
                gathered[name].append(_moved(name, values, place))
        lists = {name: np.concatenate(values) for name, values in gathered.items()}
        joined = cls(windows)
        sizes = joined._book.sizes
        sizes[book.QUEUES], sizes[book.CELLS] = 1, len(used)
        for size, names in _FIELDS.items():
            sizes[size] = len(lists[names[0]])
        cells = joined._book.cells._replace(window=used, queue=np.zeros(len(used), np.int64), counts=counts)
        facts = book.facts_of_all(np.stack([state.facts for state in states]))
        joined._book = joined._book._replace(cells=cells, facts=facts, **lists)
        return joined

    def figures(self) -> Figures:
        self._take_back_copies()
        latencies = {"response": self._list("responses"), "delivery": self._list("deliveries")}
        messages, spells = self._messages(), self._spells()
        order = self._order(messages)
        cells = self._by_cell(order, latencies)
        queues = self._by_queue(messages, order, latencies, cells, spells)
        window = self._book.cells.window
        by_window = [
            window[packed >> LATENCY_BITS] << LATENCY_BITS | packed & LONGEST_US for packed in latencies.values()
        ]
        return Figures(queues, self._rows(queues, cells, spells), Latencies(*by_window))

    # The book.

    def _make_room(self, events: int, queues: int) -> None:
        sizes, cells = self._book.sizes, self._book.cells
        lists = {
            name: _grown(getattr(self._book, name), int(sizes[size]), events)
            for size, names in _FIELDS.items()
            for name in names
        }
        used, more = int(sizes[book.CELLS]), min(book.CELLS_AN_EVENT * events, queues * self._windows.number)
        cells = cells._replace(
            window=_grown(cells.window, used, more),
            queue=_grown(cells.queue, used, more),
            counts=_grown(cells.counts, used, more),
        )
        facts = _grown(self._book.facts, int(sizes[book.QUEUES]), queues)
        self._book = self._book._replace(cells=cells, facts=facts, **lists)

    def _list(self, name: str) -> Ints:
        size = next(size for size, names in _FIELDS.items() if name in names)
        found: Ints = getattr(self._book, name)[: self._book.sizes[size]]
        return found

    def _fact(self, fact: int) -> Ints:
        return np.ascontiguousarray(self._book.facts[: self._number, fact])

    @property
    def _number(self) -> int:
        return int(self._book.sizes[book.QUEUES])

    @property
    def _cells(self) -> int:
        return int(self._book.sizes[book.CELLS])

    def _of(self, first: int, length: int) -> Ints:
        """The queue of each entry of a list; `first` is the fact that tells the first of a queue."""
        ends = np.r_[self._fact(first)[1:], length]
        return np.repeat(np.arange(self._number), ends - self._fact(first))

    # What is counted.

    def _take_back_copies(self) -> None:
        """Several messages with one sender and number count as one."""
        *columns, went_cell, came_cell = map(self._list, _FIELDS[book.NUMBERED])
        surplus = copy.extra(copy.Numbered(*columns))
        if surplus is None:
            return
        counts = self._book.cells.counts
        for count, places, cell in (
            (book.SENT, surplus.sent, went_cell),
            (book.RECEIVED, surplus.received, came_cell),
            (book.LOST, surplus.lost, went_cell),
            (book.DAMAGED, surplus.damaged, went_cell),
        ):
            np.subtract.at(counts[:, count], cell[places], 1)

    def _messages(self) -> Columns:
        """Those received, in the columns of `book.MESSAGES`, without copies, and their queues."""
        names = _FIELDS[book.MESSAGES]
        columns = {name: self._list(name) for name in names}
        columns["queue"] = self._of(book.FIRST_MESSAGE, len(columns["sent"]))
        keep = copy.first_of_each(*(columns[name] for name in names[:6]))
        return columns if keep is None else {name: column[keep] for name, column in columns.items()}

    def _spells(self) -> Spells:
        """When each queue was worked for."""
        begins = self._list("work_begin")
        queue = self._of(book.FIRST_SPELL, len(begins))
        return merge(Spells(queue, begins, self._list("work_end")), self._windows)

    def _order(self, messages: Columns) -> _Order:
        sent, high, low, received = (messages[name] for name in ("sent", "high", "low", "received"))
        ranks, places = ranks_as_received(sent, high, low, received, messages["queue"] if self._number > 1 else None)
        return _Order(ranks, messages["cell"][places], messages["queue"])

    def _by_cell(self, order: _Order, latencies: Columns) -> Columns:
        """A figure for each cell, and last what there is where there is no cell."""
        number = self._cells
        counts, queue = self._book.cells.counts[:number], self._book.cells.queue[:number]
        columns = {name: counts[:, place] for name, place in COUNTED.items()}
        for name, fact, of_client, of_server in (
            ("failed", book.CLIENT_FAILED, book.FAILED_BY_CLIENT, book.FAILED),
            ("misses", book.CLIENT_ASKED, book.MISSES_BY_CLIENT, book.MISSES),
        ):
            by_client = self._fact(fact)[queue] != 0
            columns[name] = np.where(by_client, counts[:, of_client], counts[:, of_server])
        # Receives with the same hash were answered by one request.
        _, first = np.unique(self._list("request"), return_index=True)
        columns["hits"] = np.bincount(self._list("asked")[first], minlength=number)
        columns |= order.by_cell(number)
        columns["waiting"] = counts[:, book.ENTERED] - counts[:, book.STARTED]
        columns["in_flight"] = counts[:, book.STARTED] - counts[:, book.LEFT]
        made = {name: np.r_[column, 0] for name, column in columns.items()}
        for kind, packed in latencies.items():
            made |= {name: np.r_[column, MISSING] for name, column in _percentiles(kind, packed, number).items()}
        return made

    def _by_queue(
        self, messages: Columns, order: _Order, latencies: Columns, cells: Columns, spells: Spells
    ) -> Columns:
        """A figure for each queue."""
        number, queue = self._number, self._book.cells.queue[: self._cells]
        summed = [name for name in (*SUMS, *LEVELS) if name in cells]
        columns = {name: sum_by(queue, cells[name], number) for name in summed}
        columns["busy_us"] = sum_by(spells.queue, spells.end - spells.begin, number)
        # Which is not the sum of what was out of order within each window.
        columns["out_of_order"] = columns["ordered"] - order.longest(number)
        for kind, packed in latencies.items():
            columns |= _percentiles(kind, _packed_for(queue, packed), number)
        moved = np.maximum(self._fact(book.LAST_SEND), self._fact(book.LAST_RECEIVE))
        missed = self._fact(book.LAST_MISS)
        drained = (missed != MISSING) & (missed >= moved)
        moments = (self._fact(book.SEEN), self._fact(book.FIRST), self._fact(book.LAST), drained.astype(np.int64))
        return {
            "number": self._fact(book.NAMED),
            "window": np.full(number, WHOLE),
            **columns,
            **_by_sender(messages, number),
            **dict(zip(MOMENTS, moments, strict=True)),
        }

    def _rows(self, queues: Columns, cells: Columns, spells: Spells) -> Iterator[Columns]:
        """For each queue the windows from its first event to its last, or to the end if something is left in it."""
        windows, remains = self._windows, (queues["waiting"] != 0) | (queues["in_flight"] != 0)
        first = np.maximum((queues["first_us"] - windows.begin) // windows.width, 0)
        last = np.minimum((queues["last_us"] - windows.begin) // windows.width, windows.number - 1)
        walk = Walk(
            windows,
            Shown(self._fact(book.FIRST_CELL), first, np.where(remains, windows.number - 1, last)),
            self._book.cells.window[: self._cells],
            cells["waiting"],
            cells["in_flight"],
            spells,
        )
        of_cell = [name for name in (*SUMS, *PERCENTILES) if name in cells]
        for lines in walk:
            columns = {name: cells[name][lines.cell] for name in of_cell}
            columns |= {"busy_us": lines.busy, "waiting": lines.waiting, "in_flight": lines.in_flight}
            columns |= {"number": queues["number"][lines.queue], "window": lines.window}
            known = [columns[name] != 0 for name in (*SUMS, *LEVELS)]
            known += [columns[name] != MISSING for name in PERCENTILES]
            kept = np.logical_or.reduce(known)
            yield columns if kept.all() else {name: column[kept] for name, column in columns.items()}


def _moved(name: str, values: Ints, place: Ints) -> Ints:
    """A list of a book whose cells have got other places."""
    if name in _CELLS:
        return place[values]
    return _packed_for(place, values) if name in ("responses", "deliveries") else values


def _grown(old: NDArray[np.int64], used: int, more: int) -> NDArray[np.int64]:
    """The same with room for so many more."""
    if len(old) >= used + more:
        return old
    # Memory that is never written to is never taken.
    grown = np.empty((max(used + more, 2 * len(old)), *old.shape[1:]), np.int64)
    grown[:used] = old[:used]
    return grown


def _by_sender(messages: Columns, number: int) -> Columns:
    """How far the messages of each sender are out of order, for queues with such that have one."""
    known = messages["sender"] != 0
    if not known.any():
        return {name: np.full(number, MISSING) for name in BY_SENDER}
    queue, sender, seq, received = (messages[name][known] for name in ("queue", "sender", "seq", "received"))
    ranks, begins, ones = ranks_by_sender(sender, seq, received)
    ordered = np.bincount(queue, minlength=number)
    longest, far = longest_of_blocks(ranks, begins), displaced_in_blocks(ranks, begins)
    wrong = ordered - sum_by(queue[ones], longest, number)
    columns = (ordered, wrong, sum_by(queue[ones], far, number))
    return {name: np.where(ordered, column, MISSING) for name, column in zip(BY_SENDER, columns, strict=True)}


def _packed_for(place: Ints, packed: Ints) -> Ints:
    """Latencies that are packed with their cells, packed with the places of these."""
    made: Ints = place[packed >> LATENCY_BITS] << LATENCY_BITS | packed & LONGEST_US
    return made


def _percentiles(kind: str, packed: Ints, number: int) -> Columns:
    """Of values that are packed with the place that they are for; a figure for each of so many places."""
    ordered = np.sort(packed)
    ends = np.searchsorted(ordered, np.arange(1, number + 1) << LATENCY_BITS)
    begins = np.r_[0, ends[:-1]]
    known = np.flatnonzero(ends > begins)
    made = {}
    for at in share.SHARES:
        found = np.full(number, MISSING)
        found[known] = ordered[begins[known] + share.rank(ends[known] - begins[known], at)] & LONGEST_US
        made[f"{kind}_p{round(at * 100)}_us"] = found
    return made
