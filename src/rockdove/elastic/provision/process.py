"""Workers as local processes. They are no children of the controller's: they outlive it, and the next one finds them by
their report files, on which they hold a lock."""

import contextlib
import logging
import os
import shlex
import signal
import sys
import time
from collections.abc import Callable, Sequence
from pathlib import Path

from rockdove.capacity.scaling.park import Placing
from rockdove.elastic.provision.base import Seen
from rockdove.elastic.provision.machines import Machines
from rockdove.elastic.provision.spawn import spawn
from rockdove.elastic.worker.report import Report, end_group, lives, read, words_of, written_s

# Who ends with an error after fewer seconds, without having been ready, has failed at its start.
START_S = 5.0
# Seconds for which one is left alone at most that fails whenever it is started.
MOST_PAUSE_S = 30.0
# A worker tells twice a second what it has done. One that has told nothing for so many seconds is stopped, or its
# handler lets nothing else run.
SILENT_S = 30.0

log = logging.getLogger("rockdove")


class ProcessProvisioner(Machines):
    """``folder``: where report files and logs are. ``command``: the worker of a physical queue that reports there."""

    def __init__(
        self,
        folder: Path,
        command: Callable[[int, Path], Sequence[str]],
        slots: int = 1,
        pool: int = 0,
        startup_s: float = 0.0,
        placing: Placing = Placing.ENERGY,
        what: str = "worker",
        pauses: bool = True,
        reports: bool = True,
        now: Callable[[], float] = time.time,
    ) -> None:
        """``pauses``: whether one that fails at its start is left alone for a while. ``reports``: whether they are
        workers, which tell all the time what they have done."""
        super().__init__(slots, pool, startup_s, placing)
        self._what = what
        self._pauses = pauses
        self._reporting = reports
        self._now = now
        # Those of which it was told that they are silent, and that another command has started them.
        self._silent: set[int] = set()
        self._others: set[int] = set()
        self._folder = folder
        self._command = command
        # Their process ids, by the number of the physical queue.
        self._children: dict[int, int] = {}
        # When they were started, and which of them have been ready; how often others have failed in a row, and until
        # when they are left alone; and what was told of them last.
        self._started_s: dict[int, float] = {}
        self._were_ready: set[int] = set()
        self._failed: dict[int, tuple[int, float]] = {}
        self._told: dict[int, str] = {}
        # Processes that were told to end: a second time, they would break off what they have begun.
        self._ending: set[int] = set()
        folder.mkdir(parents=True, exist_ok=True, mode=0o700)

    async def start(self, number: int) -> None:
        """One that has just failed at its start is not started again and again."""
        # One that is still at its end has the report file.
        if any(report.physical == number and report.pid in self._ending for _, report in self._reports()):
            return
        if self._children.get(number) in self._ending:
            return
        if number not in self._failed or self._clock() >= self._failed[number][1]:
            await super().start(number)

    async def _launch(self, number: int, machine: int) -> None:
        words = self._command(number, self._folder / f"{machine}-{number}.json")
        self._children[number] = spawn(words, self._folder / f"{number}.log")
        self._started_s[number] = self._clock()

    async def _end(self, number: int, at_once: bool) -> None:
        pids = {report.pid for _, report in self._reports() if report.physical == number}
        self._bury()
        if number in self._children:
            # One that has not reported yet.
            pids.add(self._children[number])
        for pid in pids if at_once else pids - self._ending:
            self._ending.add(pid)
            with contextlib.suppress(ProcessLookupError):
                os.kill(pid, signal.SIGKILL if at_once else signal.SIGTERM)

    def _bury(self) -> None:
        """Forget the children that have ended, and say why they did if they should not have."""
        for number, pid in list(self._children.items()):
            try:
                ended, status = os.waitpid(pid, os.WNOHANG)
            except ChildProcessError:
                ended, status = pid, 0
            if ended:
                del self._children[number]
                if pid in self._ending:
                    self._ending.discard(pid)
                    self._were_ready.discard(number)
                else:
                    self._has_ended(number, os.waitstatus_to_exitcode(status))

    def _has_ended(self, number: int, code: int) -> None:
        was_ready = number in self._were_ready or self._clock() - self._started_s[number] > START_S
        self._were_ready.discard(number)
        if code <= 0 or was_ready:
            self._failed.pop(number, None)
        if not code:
            return
        if code > 0 and not was_ready and self._pauses:
            times = self._failed.get(number, (0, 0.0))[0] + 1
            self._failed[number] = (times, self._clock() + min(2.0**times, MOST_PAUSE_S))
        how = f"was killed by signal {-code}" if code < 0 else f"ended with code {code}"
        text = f"{self._what} {number} {how}{self._last_words(number)}"
        if text != self._told.get(number) or was_ready:
            self._told[number] = text
            log.warning("%s", text)

    def _last_words(self, number: int) -> str:
        path = self._folder / f"{number}.log"
        try:
            with path.open("rb") as file:
                file.seek(max(path.stat().st_size - 4096, 0))
                lines = file.read().decode(errors="replace").splitlines()
        except OSError:
            return ""
        last = next((line.strip() for line in reversed(lines) if line.strip(" -+|╭╮╰╯─│")), "")
        return f" ({last.strip('│ ')}); its log is {path}" if last else ""

    async def close(self) -> None:
        """The processes live on."""

    async def _look(self) -> list[Seen]:
        found = {}
        self._bury()
        for machine, report in self._reports():
            if report.physical is not None:
                if report.is_ready:
                    self._were_ready.add(report.physical)
                is_silent = self._is_silent(machine, report)
                self._compare(machine, report)
                found[report.physical] = Seen(
                    report.physical,
                    machine,
                    f"{report.pid} {report.started_s}",
                    report.is_ready and not is_silent,
                    report.is_draining or report.pid in self._ending,
                    report.done,
                    report.failed,
                    report.busy_s,
                    is_silent,
                )
        machines = {worker: each.number for each in self._park.machines.values() for worker in each.workers}
        for number, pid in self._children.items():
            if number not in found:
                # It has not reported yet.
                machine = str(machines.get(number, 0))
                found[number] = Seen(number, machine, str(pid), is_ready=False, is_draining=pid in self._ending)
        own = set(self._children.values())
        self._ending = {pid for pid in self._ending if pid in own or lives(pid)}
        return sorted(found.values(), key=lambda seen: seen.number)

    def _is_silent(self, machine: str, report: Report) -> bool:
        """Stopped, or blocked: it is not ended, because it may be at work. The log says when that begins and ends."""
        path = self._report(machine, report)
        told_s = written_s(path)
        silent_s = self._now() - told_s if self._reporting and told_s else 0.0
        is_silent = silent_s > SILENT_S
        if is_silent and report.pid not in self._silent:
            self._silent.add(report.pid)
            log.warning(
                "%s %s (process %s) has told nothing for %.0f s: it is stopped, or its handler lets nothing else run. "
                "It gets no new messages; what waits for it waits until it goes on, or until another takes its place "
                "after: kill -9 %s",
                self._what,
                report.physical,
                report.pid,
                silent_s,
                report.pid,
            )
        elif not is_silent and report.pid in self._silent:
            self._silent.discard(report.pid)
            log.warning("%s %s (process %s) tells again what it does", self._what, report.physical, report.pid)
        return is_silent

    def _compare(self, machine: str, report: Report) -> None:
        """Say once of one that a controller before has started that it does something else."""
        if not self._reporting or report.physical is None or report.pid in self._others:
            return
        words = words_of(report.pid)
        wanted = self._command(report.physical, self._report(machine, report))
        if report.pid in self._children.values() or not words or words[1:] == list(wanted)[1:]:
            return
        self._others.add(report.pid)
        # Without the interpreter's words.
        log.warning(
            "%s %s (process %s) goes on with what it was started with: rockdove %s. It is started again as you say now "
            "after: kill %s",
            self._what,
            report.physical,
            report.pid,
            shlex.join(words[3:]),
            report.pid,
        )

    def _report(self, machine: str, report: Report) -> Path:
        return self._folder / f"{machine}-{report.physical}.json"

    def _reports(self) -> list[tuple[str, Report]]:
        """Of those that live; what others have left is removed."""
        found = []
        for path in self._folder.glob("*-*.json"):
            report, is_held = read(path)
            if report is None:
                continue
            if is_held and lives(report.pid):
                found.append((path.name.partition("-")[0], report))
                continue
            if is_held:
                # What it has forked holds the file, and would keep the next one from it.
                end_group(report.pid)
            path.unlink(missing_ok=True)
        return found


def worker_command(
    endpoint: str, region: str | None, queue: str, what: Sequence[str]
) -> Callable[[int, Path], list[str]]:
    """``what``: the flags that say what is done with messages."""
    named = [] if region is None else ["--region", region]

    def command(number: int, path: Path) -> list[str]:
        place = ["--physical", str(number), "--endpoint", endpoint, "--report", str(path)]
        return [sys.executable, "-m", "rockdove", "worker", queue, *place, *named, *what]

    return command
