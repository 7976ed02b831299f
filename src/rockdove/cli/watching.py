"""What ``rockdove watch`` shows: a table that lives on a terminal, lines elsewhere, JSON for programs."""

from collections.abc import Mapping, Sequence
from datetime import datetime
from types import TracebackType
from typing import TYPE_CHECKING, Any, Final, Self

from rockdove.cli.figure import amount, harmless
from rockdove.cli.output import Output, Progress, note
from rockdove.spark.watch.board import LAST, Board, Place, record

if TYPE_CHECKING:
    from rich.console import RenderableType
    from rich.table import Table

    from rockdove.spark.watch.batch import Done
    from rockdove.spark.watch.progress import Problem
    from rockdove.spark.watch.progress import Progress as State

HEADINGS: Final = (
    *("queue", "arrivals/s", "served/s", "misses", "response ms p50 p95 p99", "delivery ms p50 p95 p99"),
    *("duplicates", "out of order", "late"),
)
# The same for a terminal, which has little room.
_SHORT: Final = (
    *("queue", "arrivals\n/s", "served\n/s", "\nmisses", "response ms\np50 p95 p99", "delivery ms\np50 p95 p99"),
    *("dupli-\ncates", "out of\norder", "\nlate"),
)
_DELIVERY: Final = 5
# Narrower than this, bars are left out; narrower than that, times of delivery.
_WIDE, _MEDIUM = 125, 95
# Lines that are not queues.
_AROUND: Final = 9
_BARS: Final = " ▁▂▃▄▅▆▇█"


class View:
    """What all have in common: files that could not be read are named on standard error, once."""

    def __init__(self, output: Output, progress: "State") -> None:
        self._output = output
        self._board = Board(progress)
        self._named: set[Problem] = set(progress.problems)

    def __enter__(self) -> Self:
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        return

    def show(self, done: "Done") -> None:
        self._board.take(done)
        for problem in done.progress.problems:
            if problem not in self._named:
                self._named.add(problem)
                self._note(f"{problem.path}: {problem.what}")
        self._show(done)

    def end(self) -> None:
        """All was shown."""

    def _show(self, done: "Done") -> None:
        return

    def _note(self, text: str) -> None:
        note(text)


class Records(View):
    """A line of JSON for each batch."""

    def _show(self, done: "Done") -> None:
        self._output.record(record(done))


class Document(View):
    """One document in the end."""

    def end(self) -> None:
        self._output.document(self._board.document())


class Lines(View):
    """A line for each window of a queue that is closed."""

    def _show(self, done: "Done") -> None:
        names = self._board.places()
        for row in done.closed:
            self._output.line(line(names[row["account"], row["queue"]], row))


class Closing(View):
    """A table in the end, of all windows that were seen."""

    def __init__(self, output: Output, progress: "State") -> None:
        super().__init__(output, progress)
        self._progress = Progress()

    def _show(self, done: "Done") -> None:
        self._progress.show(summary(self._board))

    def end(self) -> None:
        self._progress.clear()
        rows = []
        for place, name in self._board.places().items():
            rows.append((name, *cells(self._board.sum(place).figures())))
        if rows:
            self._output.table(HEADINGS, rows, numbers=range(1, len(HEADINGS)))
            self._output.line("")
        self._output.line(summary(self._board))


class Living(View):
    """A table on a terminal that is drawn anew with each batch."""

    def __enter__(self) -> Self:
        from rich.live import Live

        self._live = Live(self._picture(), console=self._output.console, auto_refresh=False, vertical_overflow="crop")
        self._live.start()
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self._live.stop()

    def _show(self, done: "Done") -> None:
        self._live.update(self._picture(), refresh=True)

    def _note(self, text: str) -> None:
        self._live.console.print(harmless(text), style="yellow", markup=False, highlight=False)

    def _picture(self) -> "RenderableType":
        from rich.console import Group
        from rich.text import Text

        if not self._board.places():
            return Text("waiting for the first file of the trace", style="dim")
        return Group(self._table(), Text(), Text(summary(self._board), style="dim"))

    def _table(self) -> "Table":
        from rich import box
        from rich.table import Table
        from rich.text import Text

        size = self._output.console.size
        table = Table(box=box.SIMPLE_HEAD, header_style="bold", pad_edge=False)
        for number, heading in enumerate((*_SHORT, "arrivals")):
            table.add_column(heading, justify="right" if number % len(_SHORT) else "left", no_wrap=True)
        chosen = self._busiest(size.height - _AROUND)
        for place, name in chosen.items():
            table.add_row(*(Text(text, style=style) for text, style in self._cells(place, name)))
        for width, last in ((_WIDE, -1), (_MEDIUM, _DELIVERY)):
            if size.width < width:
                del table.columns[last]
        if more := len(self._board.places()) - len(chosen):
            table.caption = f"and {amount(more, 'queue')} with less traffic"
        return table

    def _busiest(self, number: int) -> dict[Place, str]:
        """As many queues as there is room for, by name."""
        places = self._board.places()
        by_sent = sorted(places, key=lambda place: -self._board.sum(place).counts["sent"])
        chosen = set(by_sent[: max(number, 1)])
        return {place: name for place, name in places.items() if place in chosen}

    def _cells(self, place: Place, name: str) -> list[tuple[str, str]]:
        """Texts and styles: the last window that is full, and the rates before it."""
        rows = self._board.last(place)
        newest = self._board.progress.newest_us or 0
        whole = [row for row in rows if row["window_end"].timestamp() * 1e6 <= newest]
        shown = figures(whole[-1] if whole else rows[-1])
        alarms = [_alarm(shown[name]) for name in ("duplicates", "out_of_order", "late")]
        styles = ["", "green", "cyan", "", "", "", *alarms, "green"]
        texts = [harmless(name), *cells(shown), spark([row["arrival_rate"] for row in rows])]
        return list(zip(texts, styles, strict=True))


def view(output: Output, progress: "State", once: bool) -> View:
    if output.as_json:
        return Document(output, progress) if once else Records(output, progress)
    if once:
        return Closing(output, progress)
    return Living(output, progress) if output.is_terminal else Lines(output, progress)


def figures(row: Mapping[str, Any]) -> dict[str, Any]:
    """A row of the table with percentiles as a sum has them."""
    percentiles = {
        f"{kind}_ms": {at: row[f"{kind}_{at}_ms"] for at in ("p50", "p95", "p99")} for kind in ("response", "delivery")
    }
    return {**row, **percentiles}


def cells(found: Mapping[str, Any]) -> list[str]:
    return [
        _number(found["arrival_rate"]),
        _number(found["service_rate"]),
        _share(found["miss_ratio"]),
        _percentiles(found["response_ms"]),
        _percentiles(found["delivery_ms"]),
        f"{found['duplicates']:,}",
        _share(found["out_of_order_rate"]),
        f"{found['late']:,}",
    ]


def line(name: str, row: Mapping[str, Any]) -> str:
    start: datetime = row["window_start"]
    parts = zip(HEADINGS[1:], cells(figures(row)), strict=True)
    return f"{start:%Y-%m-%dT%H:%M:%SZ}  {name}  " + ", ".join(f"{heading} {text}" for heading, text in parts)


def summary(board: Board) -> str:
    counts = board.counts()
    parts = [
        f"{amount(counts['events'], 'event')} in {amount(counts['files'], 'file')}",
        f"{amount(board.windows, 'window')} closed, {len(board.open):,} open",
        amount(counts["late"], "late event"),
    ]
    if counts["corrupt"]:
        parts.append(amount(counts["corrupt"], "corrupt file"))
    if counts["removed"]:
        parts.append(f"{amount(counts['removed'], 'file')} removed before being read")
    if counts["unread"]:
        parts.append(f"{amount(counts['unread'], 'event')} not readable")
    return " · ".join(parts)


def spark(values: Sequence[float]) -> str:
    """The last windows as a row of bars."""
    highest = max(values, default=0)
    if not highest:
        return ""
    return "".join(_BARS[round(value / highest * (len(_BARS) - 1))] for value in values[-LAST:])


def _number(value: float | None) -> str:
    return "-" if value is None else f"{value:,.1f}" if value < 1000 else f"{value:,.0f}"


def _share(value: float | None) -> str:
    return "-" if value is None else f"{value:.1%}"


def _percentiles(values: Mapping[str, float | None]) -> str:
    return " ".join(_number(value) for value in values.values()) if values["p50"] is not None else "-"


def _alarm(number: int) -> str:
    return "bold yellow" if number else ""
