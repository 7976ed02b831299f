"""How a workload gets on: bars with live rates on a terminal's standard error, and nothing elsewhere."""

import sys

from rich.console import Console
from rich.progress import BarColumn, MofNCompleteColumn, Progress, ProgressColumn, Task, TaskID, TextColumn
from rich.text import Text

from rockdove.cli.output import note
from rockdove.workload import Workload
from rockdove.workload.board import Board


class _Rate(ProgressColumn):
    """Messages a second: over the last seconds, and of all once they are there."""

    def render(self, task: Task) -> Text:
        speed = task.completed / task.finished_time if task.finished_time else task.speed
        return Text(f"{speed:,.0f}/s" if speed else "")


class Bars:
    """One bar for what was sent and one for what was received and deleted."""

    def __init__(self) -> None:
        self._shown = sys.stderr.isatty()
        self._progress: Progress | None = None
        self._sent = self._deleted = TaskID(0)

    def say(self, text: str) -> None:
        if self._progress is not None:
            self._progress.console.print(text, markup=False, highlight=False)
        else:
            note(text)

    def begin(self, title: str, workload: Workload) -> None:
        if not self._shown:
            return
        self._progress = Progress(
            TextColumn("{task.description:<14}"),
            BarColumn(),
            MofNCompleteColumn(),
            _Rate(),
            console=Console(stderr=True),
            transient=True,
            speed_estimate_period=5,
        )
        self._progress.console.print(title, markup=False, highlight=False, style="dim")
        self._sent = self._progress.add_task("sent", total=workload.total)
        self._deleted = self._progress.add_task("received", total=workload.total, start=workload.at_once)
        self._progress.start()

    def look(self, board: Board) -> None:
        if self._progress is None:
            return
        sent, deleted, _ = board.totals()
        if deleted:
            self._progress.start_task(self._deleted)
        self._progress.update(self._sent, completed=sent)
        self._progress.update(self._deleted, completed=deleted)

    def drain(self, missing: int) -> None:
        if self._progress is not None:
            self._progress.update(self._deleted, description="draining" if missing else "received")

    def end(self) -> None:
        if self._progress is not None:
            self._progress.stop()
            self._progress = None
