"""One workload from beginning to end: make queues, work, drain, measure, remove; or several endpoints in turn."""

import asyncio
import secrets
from collections.abc import Sequence
from itertools import product
from typing import Protocol

import uvloop
from msgspec import Struct

from rockdove.client import AsyncClient, UnexpectedAnswer, Unreachable
from rockdove.core.clock import SystemClock
from rockdove.core.errors import Fault
from rockdove.workload.board import Board
from rockdove.workload.caller import Caller
from rockdove.workload.drain import Drain, missing_of
from rockdove.workload.error import WorkloadFailed, trouble_of
from rockdove.workload.fault import Dice, generator
from rockdove.workload.fleet import Fleet
from rockdove.workload.ground import Ground
from rockdove.workload.interrupt import Interrupt
from rockdove.workload.job import Job
from rockdove.workload.journal import Journal, Notes, Sink
from rockdove.workload.measure import MeasuredRow, Round, combined, row
from rockdove.workload.tracing import Tracing
from rockdove.workload.workload import Faults, Thread, Workload


class Watcher(Protocol):
    """Sees how a workload gets on."""

    def say(self, text: str) -> None:
        """Something that the user should know."""

    def begin(self, title: str, workload: Workload) -> None: ...

    def look(self, board: Board) -> None:
        """Some times a second."""

    def drain(self, missing: int) -> None: ...

    def end(self) -> None: ...


class Plan(Struct, frozen=True, kw_only=True):
    """Where a workload runs, how often, and what stays of it.

    endpoints: services that are compared. One with several front-ends has commas between their endpoints.
    attributes: of the queues, besides those that the workload needs.
    """

    workload: Workload
    endpoints: Sequence[str]
    attributes: dict[str, str] = {}
    region: str | None = None
    rounds: int = 1
    prefix: str = "bench"
    keep: bool = False
    trace: str | None = None


class Result(Struct, frozen=True):
    """A row for each endpoint with at least one round."""

    rows: list[MeasuredRow]
    interrupted: bool


def contest(plan: Plan, watcher: Watcher, interrupt: Interrupt) -> Result:
    """All endpoints in turn, round by round, so that what disturbs one disturbs all. Raises `WorkloadFailed`."""
    found: list[list[MeasuredRow]] = [[] for _ in plan.endpoints]
    for number, (place, endpoint) in product(range(plan.rounds), enumerate(plan.endpoints)):
        if interrupt.heard:
            break
        title = f"{endpoint}, round {number + 1} of {plan.rounds}" if plan.rounds > 1 else endpoint
        found[place].append(row(endpoint, Run(plan, endpoint, watcher, interrupt).run(title)))
    return Result([combined(rows) for rows in found if rows], interrupt.heard)


class Run:
    """One round at one endpoint."""

    def __init__(self, plan: Plan, endpoint: str, watcher: Watcher, interrupt: Interrupt) -> None:
        self._plan = plan
        self._endpoint = endpoint
        self._watcher = watcher
        self._interrupt = interrupt
        # Not from the seed: two runs at once must not meet in a queue.
        self._run = secrets.token_hex(4)

    def run(self, title: str) -> Round:
        self._watcher.begin(title, self._plan.workload)
        try:
            with (
                Tracing(self._plan.trace, f"bench-{self._run}-drain") as tracing,
                asyncio.Runner(loop_factory=uvloop.new_event_loop) as runner,
            ):
                found = self._with_queues(runner, tracing.sink)
            found.notes.untraced += tracing.dropped
            return found
        except (Fault, Unreachable, UnexpectedAnswer) as error:
            raise WorkloadFailed(trouble_of(error, self._endpoint)) from error
        finally:
            self._watcher.end()

    def _with_queues(self, runner: asyncio.Runner, sink: Sink | None) -> Round:
        plan = self._plan
        client = AsyncClient(self._endpoint.split(",")[0], region=plan.region)
        ground = Ground(client, plan.prefix, self._run, self._watcher.say)
        try:
            if not runner.run(self._interrupt.during(ground.make(plan.workload, plan.attributes))):
                return Round(Notes(), None)
            return self._work(runner, client, ground, sink)
        finally:
            if not plan.keep:
                runner.run(ground.remove())
            runner.run(client.close())

    def _work(self, runner: asyncio.Runner, client: AsyncClient, ground: Ground, sink: Sink | None) -> Round:
        workload = self._plan.workload
        job = Job(
            endpoints=self._endpoint.split(","),
            region=self._plan.region,
            run=self._run,
            workload=workload,
            places=ground.places,
            trace=self._plan.trace,
        )
        harvest = Fleet(job).run(self._watcher.look, self._interrupt)
        if harvest.interrupted:
            return Round(harvest.notes, None)
        missing = missing_of(harvest.notes, workload.queues)
        self._watcher.drain(sum(map(len, missing.values())))
        journal = Journal(self._run, sink)
        dice = Dice(Faults(), generator(workload.seed, "drain", Thread(0, 0)))
        caller = Caller(dice, journal, SystemClock(), workload.patience_s)
        drain = Drain(client, caller, journal, workload).run(ground.places, missing)
        is_final = runner.run(self._interrupt.during(drain))
        return Round(harvest.notes, journal.notes if is_final else None)
