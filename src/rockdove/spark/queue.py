"""One queue's figures: its events go in batch by batch, its rows come out."""

from itertools import pairwise
from typing import Any, Final, NamedTuple

import numpy as np

from rockdove.spark import fold as book
from rockdove.spark import share
from rockdove.spark.fold import COUNTS, FACTS, LATENCY_BITS, LONGEST_US, Book
from rockdove.spark.order import Ints, displaced, longest, longest_of_blocks, ranks_as_received, ranks_by_sender
from rockdove.spark.row import MISSING, Rows
from rockdove.spark.spell import merge, spread
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
    book.MESSAGES: ("sent", "high", "low", "received", "sender", "seq"),
    book.RESPONSES: ("responses",),
    book.DELIVERIES: ("deliveries",),
    book.REQUESTS: ("asked", "request"),
    book.SPELLS: ("work_begin", "work_end"),
}


class Latencies(NamedTuple):
    """Packed with their windows, sorted."""

    response: Ints
    delivery: Ints


class Queue:
    """Holds about 80 bytes for a message and 8 for an event, and nothing of bodies or ids."""

    def __init__(self, windows: Windows) -> None:
        facts = np.zeros(FACTS, np.int64)
        facts[[book.LAST_SEND, book.LAST_RECEIVE, book.LAST_MISS, book.LAST_PURGE, book.LAST]] = MISSING
        facts[book.FIRST] = -(MISSING + 1)
        counts = np.zeros((COUNTS, windows.number), np.int64)
        lists = [np.empty(0, np.int64) for names in _FIELDS.values() for _ in names]
        self._windows = windows
        self._book = Book(windows.begin, windows.width, counts, facts, *lists)

    def add(self, rows: Rows, begin: int, end: int) -> None:
        """All events of a message must be in one call."""
        self._make_room(end - begin)
        book.fold(rows, begin, end, self._book)

    def _make_room(self, number: int) -> None:
        grown: dict[str, Any] = {}
        for fact, names in _FIELDS.items():
            need = int(self._book.facts[fact]) + number
            for name in names:
                old = getattr(self._book, name)
                if len(old) < need:
                    # Memory that is never written to is never taken.
                    grown[name] = np.empty(max(need, 2 * len(old)), np.int64)
                    grown[name][: len(old)] = old
        if grown:
            self._book = self._book._replace(**grown)

    def _list(self, name: str) -> Ints:
        fact = next(fact for fact, names in _FIELDS.items() if name in names)
        found: Ints = getattr(self._book, name)[: self._book.facts[fact]]
        return found

    def latencies(self) -> Latencies:
        return Latencies(np.sort(self._list("responses")), np.sort(self._list("deliveries")))

    def figures(self, latencies: Latencies) -> dict[str, list[Any]]:
        """Columns: the row of the whole time first, then one for each window from the first event to the last."""
        facts = self._book.facts
        by_window = {name: self._book.counts[place] for name, place in COUNTED.items()}
        client = bool(facts[book.CLIENT_ASKED])
        by_window["misses"] = self._book.counts[book.MISSES_BY_CLIENT if client else book.MISSES]
        failed = self._book.counts[book.FAILED_BY_CLIENT]
        by_window["failed"] = failed if failed.any() else self._book.counts[book.FAILED]
        by_window["hits"] = self._hits()
        by_window["busy_us"] = spread(*merge(self._list("work_begin"), self._list("work_end")), self._windows)
        whole = {name: [int(values.sum())] for name, values in by_window.items()}
        order, order_whole = self._order()
        by_window |= order
        whole |= {name: [value] for name, value in order_whole.items()}
        by_window |= self._levels()
        whole |= {name: [int(by_window[name][-1])] for name in LEVELS}

        first = (facts[book.FIRST] - self._windows.begin) // self._windows.width
        last = (facts[book.LAST] - self._windows.begin) // self._windows.width
        if whole["waiting"] != [0] or whole["in_flight"] != [0]:
            # What is left in the queue stays to the end.
            last = self._windows.number - 1
        shown = slice(max(int(first), 0), int(last) + 1)
        number = len(range(*shown.indices(self._windows.number)))
        columns = {name: whole[name] + by_window[name][shown].tolist() for name in (*SUMS, *LEVELS)}
        columns["window"] = [WHOLE, *range(*shown.indices(self._windows.number))]
        columns |= self._percentiles(latencies, columns["window"])
        for name, value in (self._by_sender() | self._moments()).items():
            columns[name] = [value] + [None] * number
        return columns

    def _hits(self) -> Ints:
        """Requests that gave messages: receives with the same hash were answered by one request."""
        times, requests = self._list("asked"), self._list("request")
        _, first = np.unique(requests, return_index=True)
        return self._per_window(times[first])

    def _per_window(self, times: Ints) -> Ints:
        places = np.clip((times - self._windows.begin) // self._windows.width, 0, self._windows.number - 1)
        return np.bincount(places, minlength=self._windows.number).astype(np.int64, copy=False)

    def _order(self) -> tuple[dict[str, Ints], dict[str, int]]:
        received = self._list("received")
        ranks = ranks_as_received(self._list("sent"), self._list("high"), self._list("low"), received)
        ordered = self._per_window(received)
        begins = np.r_[0, np.cumsum(ordered)[:-1]].astype(np.int64, copy=False)
        ends = np.r_[begins[1:], len(ranks)]
        wrong = np.zeros(len(ordered), np.int64)
        used = np.flatnonzero(ordered)
        wrong[used] = ordered[used] - longest_of_blocks(ranks, begins[used])
        far = np.zeros(len(ordered), np.int64)
        for window in used:
            far[window] = displaced(ranks[begins[window] : ends[window]], begins[window])
        windows = {"ordered": ordered, "out_of_order": wrong, "displaced": far}
        whole = {"ordered": len(ranks), "out_of_order": len(ranks) - longest(ranks), "displaced": int(far.sum())}
        return windows, whole

    def _by_sender(self) -> dict[str, int | None]:
        sender = self._list("sender")
        known = sender != 0
        if not known.any():
            return dict.fromkeys(BY_SENDER)
        ranks, begins = ranks_by_sender(sender[known], self._list("seq")[known], self._list("received")[known])
        wrong = len(ranks) - int(longest_of_blocks(ranks, begins).sum())
        return dict(zip(BY_SENDER, (len(ranks), wrong, displaced(ranks, 0)), strict=True))

    def _levels(self) -> dict[str, Ints]:
        counts = self._book.counts
        waiting = np.cumsum(counts[book.ENTERED] - counts[book.STARTED])
        return {"waiting": waiting, "in_flight": np.cumsum(counts[book.STARTED] - counts[book.LEFT])}

    def _percentiles(self, latencies: Latencies, windows: list[int]) -> dict[str, list[int | None]]:
        columns: dict[str, list[int | None]] = {}
        bounds = np.array([*windows[1:], windows[-1] + 1], np.int64) << LATENCY_BITS
        for kind, packed in latencies._asdict().items():
            ends = np.searchsorted(packed, bounds).tolist()
            values = packed & LONGEST_US
            whole = np.sort(values)
            for at in share.SHARES:
                found = [_at(whole, 0, len(whole), at)]
                found += [_at(values, begin, end, at) for begin, end in pairwise(ends)]
                columns[f"{kind}_p{round(at * 100)}_us"] = found
        return columns

    def _moments(self) -> dict[str, int]:
        facts = self._book.facts
        moved = max(facts[book.LAST_SEND], facts[book.LAST_RECEIVE])
        drained = facts[book.LAST_MISS] != MISSING and facts[book.LAST_MISS] >= moved
        values = (facts[book.EVENTS], facts[book.FIRST], facts[book.LAST], drained)
        return dict(zip(MOMENTS, map(int, values), strict=True))


def _at(values: Ints, begin: int, end: int, at: float) -> int | None:
    return int(values[begin + share.rank(end - begin, at)]) if end > begin else None
