"""The processes of a workload: started together, watched, and their notes put together."""

import math
import multiprocessing
import time
from collections.abc import Callable
from multiprocessing import resource_tracker
from multiprocessing.connection import Connection, wait
from multiprocessing.process import BaseProcess

import msgspec
from msgspec import Struct

from rockdove.workload.board import Board
from rockdove.workload.error import Trouble, WorkloadFailed
from rockdove.workload.interrupt import Interrupt, deaf
from rockdove.workload.job import Job
from rockdove.workload.journal import Notes
from rockdove.workload.worker import main

_LOOK_S = 0.1
# For processes to hand over what they have after they were told to stop.
_FAREWELL_S = 20.0

Watch = Callable[[Board], None]


class Harvest(Struct):
    """What all processes saw, and whether somebody ended them early."""

    notes: Notes
    interrupted: bool


class _Report(Struct, array_like=True):
    notes: Notes
    trouble: Trouble | None


class Fleet:
    """Spawned, not forked: a process that has threads or an event loop cannot be forked safely."""

    def __init__(self, job: Job) -> None:
        self._context = multiprocessing.get_context("spawn")
        self._number = job.workload.processes
        self._board = Board(self._context, self._number, job.workload.queues)
        self._job = job
        self._pipes: dict[Connection, BaseProcess] = {}

    def run(self, watch: Watch, interrupt: Interrupt) -> Harvest:
        """Until all are done, or somebody ends them. Raises `WorkloadFailed`."""
        reports: list[_Report] = []
        try:
            self._start()
            interrupted = self._collect(reports, watch, interrupt)
        finally:
            self._end()
        for report in reports:
            if report.trouble is not None:
                raise WorkloadFailed(report.trouble)
        notes = Notes()
        for report in reports:
            notes.add(report.notes)
        return Harvest(notes, interrupted)

    def _start(self) -> None:
        # The first process would start it, which ends the deafness.
        resource_tracker.ensure_running()
        with deaf():
            for number in range(self._number):
                ours, theirs = self._context.Pipe(duplex=False)
                job = msgspec.structs.replace(self._job, process=number)
                process = self._context.Process(target=main, args=(job, self._board, theirs), daemon=True)
                process.start()
                theirs.close()
                self._pipes[ours] = process

    def _collect(self, reports: list[_Report], watch: Watch, interrupt: Interrupt) -> bool:
        """Whether they were told to stop."""
        deadline = math.inf
        while self._pipes and time.monotonic() < deadline:
            if interrupt.heard and deadline == math.inf:
                self._board.stop()
                deadline = time.monotonic() + _FAREWELL_S
            if self._board.all_ready():
                self._board.go()
            for pipe in wait(list(self._pipes), _LOOK_S):
                assert isinstance(pipe, Connection)
                reports.append(self._read(pipe))
            watch(self._board)
        return deadline < math.inf

    def _read(self, pipe: Connection) -> _Report:
        try:
            report = msgspec.msgpack.decode(pipe.recv_bytes(), type=_Report)
        except EOFError:
            self._board.stop()
            report = _Report(Notes(), Trouble("failed", "a process of the workload ended without a word"))
        pipe.close()
        self._pipes.pop(pipe).join()
        return report

    def _end(self) -> None:
        for pipe, process in self._pipes.items():
            process.kill()
            process.join()
            pipe.close()
        self._pipes.clear()
