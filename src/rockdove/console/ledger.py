"""What is known of an account's queues: their newest figures, and their histories."""

from array import array
from typing import Any

from msgspec import Struct

from rockdove.client import GetFiguresResult, QueueFigures
from rockdove.console.event import event, number
from rockdove.console.history import BAR_S, COLUMNS, KEPT, History, still

# Queues that have a history: those that have changed last.
MOST_HISTORIES = 2_000


class Row(Struct, omit_defaults=True):
    """A queue in the list, as the page gets it."""

    name: str
    created: int
    fifo: bool = False
    visible: int | None = 0
    in_flight: int | None = 0
    delayed: int | None = 0
    oldest: float | None = None
    leased: int = 0
    physical: int = 1
    dead_letter: str | None = None
    max_receives: int | None = None
    # Messages a second, sent and received.
    rate_in: float = 0.0
    rate_out: float = 0.0
    # The same, since the look before: for sparklines.
    new_in: float = 0.0
    new_out: float = 0.0
    # Of a sparkline, in the first answer alone.
    bars: tuple[list[float], list[float]] | None = None


class Ledger:
    """Counts looks as ticks."""

    def __init__(self) -> None:
        self._figures: dict[str, QueueFigures] = {}
        # In the order of their last change.
        self._histories: dict[str, History] = {}
        self._rates: dict[str, tuple[float, float]] = {}
        self._times = array("d", [0.0]) * KEPT
        self._tick = 0
        self._time_s = 0.0
        # Since the look before.
        self._seconds = 1.0
        self._changed: set[str] = set()
        self._gone: list[str] = []
        self._arriving = False
        # Whether pages are to forget what they knew.
        self.is_whole = False

    def take(self, answer: GetFiguresResult) -> None:
        if not self._arriving:
            self._begin(answer)
        for now in answer.queues:
            self._learn(now, answer.time)
        for name in answer.gone:
            self._forget(name)
        self._arriving = answer.more

    def _begin(self, answer: GetFiguresResult) -> None:
        self._tick += 1
        self._seconds = max(answer.time - self._time_s, 0.05) if self._time_s else 1.0
        self._time_s = answer.time
        self._times[self._tick % KEPT] = answer.time
        self._changed, self._gone, self.is_whole = set(), [], answer.whole
        if answer.whole:
            self._figures = {}

    def _learn(self, now: QueueFigures, time_s: float) -> None:
        name = now.queue_name
        self._figures[name] = now
        self._changed.add(name)
        history = self._histories.pop(name, None)
        if history is None:
            history = History(now, time_s)
            if len(self._histories) >= MOST_HISTORIES:
                self._drop(next(iter(self._histories)))
        else:
            history.add(self._tick, self._seconds, now, time_s)
        self._histories[name] = history

    def _forget(self, name: str) -> None:
        if self._figures.pop(name, None) is not None:
            self._gone.append(name)
        self._drop(name)

    def _drop(self, name: str) -> None:
        self._histories.pop(name, None)
        self._rates.pop(name, None)

    # What pages are sent.

    def changes(self) -> bytes:
        """Of the last look; empty if there are none. To be called once after each."""
        for name in self._changed | self._rates.keys():
            history = self._histories.get(name)
            rates = history.rates(self._time_s) if history else (0.0, 0.0)
            if rates != self._rates.get(name, (0.0, 0.0)):
                self._changed.add(name)
            if any(rates):
                self._rates[name] = rates
            else:
                self._rates.pop(name, None)
        rows = [self._row(name) for name in self._changed if name in self._figures]
        if not rows and not self._gone:
            return b""
        return event("rows", {"time": self._time_s, "seconds": self._seconds, "rows": rows, "gone": self._gone})

    def snapshot(self) -> bytes:
        rows = [self._row(name, with_bars=True) for name in self._figures]
        return event("rows", {"time": self._time_s, "whole": True, "bar_s": BAR_S, "rows": rows})

    def _row(self, name: str, with_bars: bool = False) -> Row:
        now = self._figures[name]
        rates = self._rates.get(name, (0.0, 0.0))
        history = self._histories.get(name)
        lately = history.point(self._tick) if history and not with_bars else None
        return Row(
            name=name,
            created=now.created_timestamp,
            fifo=now.fifo,
            visible=now.visible,
            in_flight=now.in_flight,
            delayed=now.delayed,
            oldest=now.oldest_timestamp,
            leased=now.leased,
            physical=now.physical_queues,
            dead_letter=now.dead_letter_queue,
            max_receives=now.max_receive_count,
            rate_in=round(rates[0], 1),
            rate_out=round(rates[1], 1),
            new_in=round(lately[0], 2) if lately else 0.0,
            new_out=round(lately[1], 2) if lately else 0.0,
            bars=history.bars(self._time_s) if history and with_bars else None,
        )

    def history(self, name: str) -> bytes:
        """Columns of a chart, and the queue as it is."""
        if name not in self._figures:
            return event("gone", {})
        ticks = range(max(1, self._tick - KEPT + 1), self._tick + 1)
        history = self._histories.get(name)
        points = list(history.points(ticks)) if history else [still(self._figures[name])] * len(ticks)
        columns: list[list[Any]] = [[round(self._times[tick % KEPT], 3) for tick in ticks]]
        columns += [[number(value) for value in column] for column in zip(*points, strict=True)]
        return event("history", dict(zip(("time", *COLUMNS), columns, strict=True))) + self._queue(name)

    def point(self, name: str) -> bytes:
        """Of the last look."""
        now = self._figures.get(name)
        if now is None:
            return event("gone", {}) if name in self._gone else b""
        history = self._histories.get(name)
        values = (history.point(self._tick) if history else None) or still(now)
        point = dict(zip(COLUMNS, map(number, values), strict=True))
        data = event("point", {"time": round(self._time_s, 3), **point})
        return data + self._queue(name) if name in self._changed else data

    def _queue(self, name: str) -> bytes:
        return event("queue", self._row(name))
