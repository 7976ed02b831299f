"""One queue's figures: its events go in batch by batch, its rows come out."""

from typing import Any, Final, NamedTuple

import numpy as np

from rockdove.spark import copy, share
from rockdove.spark import fold as book
from rockdove.spark.fold import COUNTS, FACTS, LATENCY_BITS, LONGEST_US, Book
from rockdove.spark.order import (
    Ints,
    displaced,
    displaced_in_blocks,
    longest,
    longest_of_blocks,
    ranks_as_received,
    ranks_by_sender,
)
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
    book.NUMBERED: ("who", "which", "went", "came", "fate"),
    book.PURGES: ("purges",),
}


class Latencies(NamedTuple):
    """Packed with their windows, sorted."""

    response: Ints
    delivery: Ints


class Queue:
    """Holds about 80 bytes for a message, 40 more if its sender is known, and 8 for an event; no bodies, no ids."""

    def __init__(self, windows: Windows) -> None:
        facts = np.zeros(FACTS, np.int64)
        facts[[book.LAST_SEND, book.LAST_RECEIVE, book.LAST_MISS, book.LAST]] = MISSING
        facts[book.FIRST] = book.LATEST
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

    def figures(self, latencies: Latencies) -> dict[str, Ints]:
        """Columns: the row of the whole time first, then one for each window from the first event to the last.

        What is not known is `MISSING`.
        """
        facts = self._book.facts
        self._take_back_copies()
        by_window = {name: self._book.counts[place] for name, place in COUNTED.items()}
        client = bool(facts[book.CLIENT_ASKED])
        by_window["misses"] = self._book.counts[book.MISSES_BY_CLIENT if client else book.MISSES]
        failed = self._book.counts[book.FAILED_BY_CLIENT]
        by_window["failed"] = failed if failed.any() else self._book.counts[book.FAILED]
        by_window["hits"] = self._hits()
        by_window["busy_us"] = spread(*merge(self._list("work_begin"), self._list("work_end")), self._windows)
        whole = {name: int(values.sum()) for name, values in by_window.items()}
        messages = self._messages()
        order, order_whole = self._order(*messages[:4])
        by_window |= order | self._levels()
        whole |= order_whole | {name: int(by_window[name][-1]) for name in LEVELS}

        shown = self._shown(remains=whole["waiting"] != 0 or whole["in_flight"] != 0)
        columns = {name: np.r_[whole[name], by_window[name][shown]] for name in (*SUMS, *LEVELS)}
        columns["window"] = np.r_[WHOLE, shown]
        columns |= self._percentiles(latencies, shown)
        for name, value in (self._by_sender(*messages[3:]) | self._moments()).items():
            columns[name] = np.full(1 + len(shown), MISSING)
            columns[name][0] = value
        return columns

    def _shown(self, remains: bool) -> Ints:
        """The windows from the first event to the last, or to the end if something is left in the queue."""
        facts, windows = self._book.facts, self._windows
        first = (facts[book.FIRST] - windows.begin) // windows.width
        last = windows.number - 1 if remains else (facts[book.LAST] - windows.begin) // windows.width
        return np.arange(max(first, 0), min(last + 1, windows.number), dtype=np.int64)

    def _take_back_copies(self) -> None:
        """Several messages with one sender and number count as one."""
        surplus = copy.extra(copy.Numbered(*map(self._list, _FIELDS[book.NUMBERED])))
        if surplus is not None:
            for place, times in zip((book.SENT, book.RECEIVED, book.LOST, book.DAMAGED), surplus, strict=True):
                self._book.counts[place] -= self._per_window(times)
            self._book.facts[book.NUMBERED] = 0

    def _messages(self) -> list[Ints]:
        """Those received, in the columns of `book.MESSAGES`, without copies."""
        columns = [self._list(name) for name in _FIELDS[book.MESSAGES]]
        keep = copy.first_of_each(*columns)
        return columns if keep is None else [column[keep] for column in columns]

    def _hits(self) -> Ints:
        """Requests that gave messages: receives with the same hash were answered by one request."""
        times, requests = self._list("asked"), self._list("request")
        _, first = np.unique(requests, return_index=True)
        return self._per_window(times[first])

    def _per_window(self, times: Ints) -> Ints:
        places = np.clip((times - self._windows.begin) // self._windows.width, 0, self._windows.number - 1)
        return np.bincount(places, minlength=self._windows.number).astype(np.int64, copy=False)

    def _order(self, sent: Ints, high: Ints, low: Ints, received: Ints) -> tuple[dict[str, Ints], dict[str, int]]:
        ranks = ranks_as_received(sent, high, low, received)
        ordered = self._per_window(received)
        begins = np.r_[0, np.cumsum(ordered)[:-1]].astype(np.int64, copy=False)
        wrong = np.zeros(len(ordered), np.int64)
        used = np.flatnonzero(ordered)
        wrong[used] = ordered[used] - longest_of_blocks(ranks, begins[used])
        far = np.zeros(len(ordered), np.int64)
        far[used] = displaced_in_blocks(ranks, begins[used])
        windows = {"ordered": ordered, "out_of_order": wrong, "displaced": far}
        whole = {"ordered": len(ranks), "out_of_order": len(ranks) - longest(ranks), "displaced": int(far.sum())}
        return windows, whole

    def _by_sender(self, received: Ints, sender: Ints, seq: Ints) -> dict[str, int]:
        known = sender != 0
        if not known.any():
            return dict.fromkeys(BY_SENDER, MISSING)
        ranks, begins = ranks_by_sender(sender[known], seq[known], received[known])
        wrong = len(ranks) - int(longest_of_blocks(ranks, begins).sum())
        return dict(zip(BY_SENDER, (len(ranks), wrong, displaced(ranks, 0)), strict=True))

    def _levels(self) -> dict[str, Ints]:
        counts = self._book.counts
        waiting = np.cumsum(counts[book.ENTERED] - counts[book.STARTED])
        return {"waiting": waiting, "in_flight": np.cumsum(counts[book.STARTED] - counts[book.LEFT])}

    def _percentiles(self, latencies: Latencies, shown: Ints) -> dict[str, Ints]:
        columns: dict[str, Ints] = {}
        bounds = np.arange(shown[0], shown[-1] + 2) << LATENCY_BITS if len(shown) else np.zeros(1, np.int64)
        for kind, packed in latencies._asdict().items():
            ends = np.searchsorted(packed, bounds)
            values = packed & LONGEST_US
            whole = np.sort(values)
            for at in share.SHARES:
                of_all = _at(whole, np.zeros(1, np.int64), np.array([len(whole)]), at)
                columns[f"{kind}_p{round(at * 100)}_us"] = np.r_[of_all, _at(values, ends[:-1], ends[1:], at)]
        return columns

    def _moments(self) -> dict[str, int]:
        facts = self._book.facts
        moved = max(facts[book.LAST_SEND], facts[book.LAST_RECEIVE])
        drained = facts[book.LAST_MISS] != MISSING and facts[book.LAST_MISS] >= moved
        values = (facts[book.EVENTS], facts[book.FIRST], facts[book.LAST], drained)
        return dict(zip(MOMENTS, map(int, values), strict=True))


def _at(values: Ints, begins: Ints, ends: Ints, at: float) -> Ints:
    """The percentile of each stretch of sorted values."""
    found = np.full(len(begins), MISSING)
    known = ends > begins
    found[known] = values[begins[known] + share.rank(ends[known] - begins[known], at)]
    return found
