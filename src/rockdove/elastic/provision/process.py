"""Workers as local processes. They are no children of the controller's: they outlive it, and the next one finds them by
their report files, on which they hold a lock."""

import contextlib
import os
import signal
import sys
from collections.abc import Callable, Sequence
from pathlib import Path

from rockdove.capacity.scaling.park import Placing
from rockdove.elastic.provision.base import Seen
from rockdove.elastic.provision.machines import Machines
from rockdove.elastic.provision.spawn import spawn
from rockdove.elastic.worker.report import Report, read


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
    ) -> None:
        super().__init__(slots, pool, startup_s, placing)
        self._folder = folder
        self._command = command
        # Their process ids, by the number of the physical queue.
        self._children: dict[int, int] = {}
        folder.mkdir(parents=True, exist_ok=True, mode=0o700)

    async def _launch(self, number: int, machine: int) -> None:
        words = self._command(number, self._folder / f"{machine}-{number}.json")
        self._children[number] = spawn(words, self._folder / f"{number}.log")

    async def _end(self, number: int, at_once: bool) -> None:
        pids = {report.pid for _, report in self._reports() if report.physical == number}
        if number in self._children and not self._has_ended(number):
            # One that has not reported yet.
            pids.add(self._children[number])
        for pid in pids:
            with contextlib.suppress(ProcessLookupError):
                os.kill(pid, signal.SIGKILL if at_once else signal.SIGTERM)

    def _has_ended(self, number: int) -> bool:
        try:
            ended, _ = os.waitpid(self._children[number], os.WNOHANG)
        except ChildProcessError:
            return True
        return ended != 0

    async def close(self) -> None:
        """The processes live on."""

    async def _look(self) -> list[Seen]:
        found = {}
        for machine, report in self._reports():
            if report.physical is not None:
                found[report.physical] = Seen(
                    report.physical,
                    machine,
                    f"{report.pid} {report.started_s}",
                    report.is_ready,
                    report.is_draining,
                    report.done,
                    report.failed,
                    report.busy_s,
                )
        machines = {worker: each.number for each in self._park.machines.values() for worker in each.workers}
        for number, pid in list(self._children.items()):
            if self._has_ended(number):
                del self._children[number]
            elif number not in found:
                # It has not reported yet.
                found[number] = Seen(number, str(machines.get(number, 0)), str(pid), is_ready=False)
        return sorted(found.values(), key=lambda seen: seen.number)

    def _reports(self) -> list[tuple[str, Report]]:
        """Of those that live; what others have left is removed."""
        found = []
        for path in self._folder.glob("*-*.json"):
            report, lives = read(path)
            if lives and report is not None:
                found.append((path.name.partition("-")[0], report))
            elif not lives and report is not None:
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
