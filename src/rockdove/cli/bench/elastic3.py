"""``rockdove bench elastic3``."""

import asyncio
import itertools
import secrets
import shlex
import statistics
import sys
import tempfile
import time
from collections.abc import Awaitable, Callable, Sequence
from contextlib import ExitStack
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Final, Literal

import typer
from msgspec import Struct

from rockdove.cli import option
from rockdove.cli.bench.claims import some, tell_claims, write
from rockdove.cli.failure import Code, Failure
from rockdove.cli.figure import amount
from rockdove.cli.output import Output, note

if TYPE_CHECKING:
    from rockdove.workload.local import LocalService
    from rockdove.workload.machine import Machine
    from rockdove.workload.mqperf import Clients, Passed, Passing

Store = Literal["sqlite", "memory"]
Way = Literal["local", "tcp"]

_STORES: Final[tuple[Store, ...]] = ("sqlite", "memory")
_WAYS: Final[tuple[Way, ...]] = ("local", "tcp")
# What the paper calls no significant decrease is 3 % at most. Rounds of one bench differ by more than that.
_AIM: Final = 0.9


class PerfRow(Struct, frozen=True, kw_only=True):
    """Medians of all rounds. A message counts when it was sent, received and deleted.

    ``cpu_us_per_message``: of the process that has the service; with ``local``, its clients are in there, too.
    """

    store: Store
    way: Way
    queues: int
    throughput: float
    cpu_us_per_message: float | None
    rounds: list[float]


class PerfReport(Struct, frozen=True):
    """What the bench hands over. ``paper``: its figures, on a small EC2 machine, messages a second."""

    bench: str
    machine: "Machine"
    command: str
    rows: list[PerfRow]
    ratios: dict[str, float]
    holds: dict[str, bool]
    paper: dict[str, dict[str, int]]


# Persistent and transient; its local connections are those within JORAM's virtual machine.
PAPER: Final = {
    "sqlite, local": {"1": 25_309, "2": 25_052, "4": 22_318},
    "sqlite, tcp": {"1": 13_862, "2": 13_456, "4": 13_338},
    "memory, local": {"1": 41_726, "2": 33_971, "4": 25_741},
    "memory, tcp": {"1": 19_669, "2": 16_828, "4": 28_450},
}


def elastic3(
    queues: Annotated[str, typer.Option("--queues", metavar="N,...", help="Queues on this machine.")] = "1,2,4",
    seconds: Annotated[float, typer.Option("--seconds", min=0.1, metavar="S", help="Of each run.")] = 1.0,
    rounds: Annotated[int, typer.Option("--rounds", min=1, metavar="N", help="Runs of each; medians count.")] = 3,
    clients: Annotated[int, typer.Option("--clients", min=1, metavar="N", help="Spread over the queues.")] = 16,
    processes: Annotated[
        int, typer.Option("--processes", min=1, metavar="N", help="Of clients that come over TCP.")
    ] = 2,
    batch: Annotated[int, typer.Option("--batch", min=1, max=10, metavar="N", help="Messages of a request.")] = 10,
    size: Annotated[int, typer.Option("--size", min=1, max=26_000, metavar="BYTES", help="Of a message.")] = 100,
    out: Annotated[str | None, typer.Option("--out", metavar="DIR", help="The folder for table and picture.")] = None,
    as_json: option.Json = False,
) -> None:
    """Measure what a second queue on a machine costs: the paper's MQPerf.

    The same clients share 1, 2 and 4 queues, and send, receive and delete messages of 100 bytes as fast as they
    can: durable (SQLite) and in memory, over TCP from processes of their own and "local". Local is in the
    process of the service, without HTTP, as the paper's local connections are within the virtual machine of its
    broker. Nobody can use Rockdove that way; it tells how much of the cost is HTTP.

    With --out, DIR gets elastic3.json and elastic3.svg.

    \b
    Examples:
      rockdove bench elastic3
      rockdove bench elastic3 --queues 1,8 --batch 1 --json
    """
    counts = _counts(queues)
    if clients < counts[-1]:
        raise Failure(f"--clients must be at least {counts[-1]}: each queue needs one", Code.USAGE)
    if out is not None:
        try:
            Path(out).mkdir(parents=True, exist_ok=True)
        except OSError as error:
            raise Failure(f"cannot write to {out}: {error.strerror}") from None
    from rockdove.workload import WorkloadFailed
    from rockdove.workload.machine import this_machine

    with tempfile.TemporaryDirectory(prefix="rockdove-elastic3-") as folder:
        trials = _Trials(Path(folder), counts, seconds, rounds, clients, batch, size)
        try:
            found = trials.run(processes)
        except WorkloadFailed as error:
            raise Failure(str(error)) from None
    rows = [_row(store, way, number, passed) for (store, way, number), passed in found.items()]
    command = shlex.join(["rockdove", *sys.argv[1:]])
    report = PerfReport("elastic3", this_machine(), command, rows, ratios(rows), holds(rows), PAPER)
    if out is not None:
        write(report, picture(rows).encode(), Path(out), "elastic3")
    _tell(report, out, Output(as_json))


def _counts(text: str) -> list[int]:
    try:
        found = sorted({int(each) for each in text.split(",")})
    except ValueError:
        found = []
    if not found or found[0] < 1 or found[-1] > 1000:
        raise Failure(f"--queues is whole numbers from 1 to 1000 with commas between them, not {text!r}", Code.USAGE)
    return found


class _Trials(Struct, frozen=True):
    """All of them, round by round, so that what disturbs one disturbs all."""

    folder: Path
    counts: Sequence[int]
    seconds: float
    rounds: int
    clients: int
    batch: int
    size: int

    def run(self, processes: int) -> "dict[tuple[Store, Way, int], list[Passed]]":
        """Raises `WorkloadFailed`."""
        import uvloop

        from rockdove.workload.local import LocalService
        from rockdove.workload.mqperf import Clients

        found: dict[tuple[Store, Way, int], list[Passed]] = {
            key: [] for key in itertools.product(_STORES, _WAYS, self.counts)
        }
        with ExitStack() as stack, asyncio.Runner(loop_factory=uvloop.new_event_loop) as runner:
            services: dict[Store, LocalService] = {
                store: stack.enter_context(LocalService(store, self.folder / store, 0, 0, None)) for store in _STORES
            }
            crowd = stack.enter_context(Clients(processes))
            for number in range(self.rounds):
                for store, way, queues in found:
                    note(f"round {number + 1} of {self.rounds}: {amount(queues, 'queue')}, {store}, {way}")
                    if way == "tcp":
                        passed = runner.run(self._over_tcp(services[store], crowd, queues))
                    else:
                        passed = runner.run(self._local(store, self.folder / f"{store}-{queues}-{number}", queues))
                    found[store, way, queues].append(passed)
        return found

    async def _over_tcp(self, service: "LocalService", crowd: "Clients", queues: int) -> "Passed":
        return await self._with_queues(
            service.endpoint,
            queues,
            lambda passing: crowd.pass_messages(service.endpoint, passing, lambda: service.cpu_s()[0]),
        )

    async def _local(self, store: Store, folder: Path, queues: int) -> "Passed":
        from rockdove.cli.bench.within import Within
        from rockdove.workload.mqperf import pass_messages

        async with Within(store, folder) as within:
            return await self._with_queues(
                within.endpoint, queues, lambda passing: pass_messages(within, passing, time.process_time)
            )

    async def _with_queues(
        self, endpoint: str, queues: int, work: "Callable[[Passing], Awaitable[Passed]]"
    ) -> "Passed":
        from rockdove.client import AsyncClient, UnexpectedAnswer, Unreachable
        from rockdove.core.errors import Fault
        from rockdove.workload import WorkloadFailed
        from rockdove.workload.crowd import first
        from rockdove.workload.error import trouble_of
        from rockdove.workload.mqperf import Passing

        try:
            async with AsyncClient(endpoint) as client:
                urls = [await client.create_queue(f"mqperf-{secrets.token_hex(4)}") for _ in range(queues)]
                passing = Passing(
                    queues=urls,
                    clients=self.clients,
                    batch=self.batch,
                    size_bytes=self.size,
                    seconds=self.seconds,
                )
                passed = await work(passing)
                for url in urls:
                    await client.delete_queue(url)
                return passed
        except ExceptionGroup as errors:
            raise WorkloadFailed(trouble_of(first(errors), endpoint)) from None
        except (Fault, Unreachable, UnexpectedAnswer) as error:
            raise WorkloadFailed(trouble_of(error, endpoint)) from error


def _row(store: Store, way: Way, queues: int, passed: "Sequence[Passed]") -> PerfRow:
    rates = [each.messages / each.seconds for each in passed]
    messages = sum(each.messages for each in passed)
    return PerfRow(
        store=store,
        way=way,
        queues=queues,
        throughput=statistics.median(rates),
        cpu_us_per_message=sum(each.cpu_s for each in passed) / messages * 1e6 if messages else None,
        rounds=rates,
    )


# What is told of them.


def _rates(rows: Sequence[PerfRow], store: Store, way: Way) -> dict[int, float]:
    return {row.queues: row.throughput for row in rows if (row.store, row.way) == (store, way)}


def ratios(rows: Sequence[PerfRow]) -> dict[str, float]:
    """Throughput of several queues to that of the fewest; and of local to TCP, with the fewest."""
    found = {}
    for store, way in itertools.product(_STORES, _WAYS):
        rates = _rates(rows, store, way)
        fewest = min(rates)
        for queues, rate in rates.items():
            if queues != fewest and rates[fewest]:
                found[f"{queues} / {fewest} queues, {store}, {way}"] = rate / rates[fewest]
    for store in _STORES:
        local, tcp = (_rates(rows, store, way) for way in _WAYS)
        if tcp[min(tcp)]:
            found[f"local / tcp, {store}"] = local[min(local)] / tcp[min(tcp)]
    return found


def holds(rows: Sequence[PerfRow]) -> dict[str, bool]:
    """The paper's claim is of two queues and messages that are kept."""
    found = {}
    for name, ratio in ratios(rows).items():
        if name.startswith("2 / 1 queues, sqlite"):
            found[f"{name}: at least {_AIM:g}"] = ratio >= _AIM
    return found


def picture(rows: Sequence[PerfRow]) -> str:
    """An SVG file."""
    from rockdove.picture.plot import Line, chart
    from rockdove.picture.scale import counts
    from rockdove.picture.sheet import Panel, sheet
    from rockdove.picture.word import short

    panels = []
    for store in _STORES:
        rates = {way: _rates(rows, store, way) for way in _WAYS}
        numbers = list(rates["tcp"])
        lines = [Line(way, [rates[way][number] for number in numbers], at) for at, way in enumerate(_WAYS, 1)]
        drawn = chart(numbers, lines, short, marks=counts)
        panels.append(Panel("durable: sqlite" if store == "sqlite" else "in memory", "queues", drawn, lines))
    return sheet("Messages a second through queues of one machine", panels)


def _tell(report: PerfReport, out: str | None, output: Output) -> None:
    if output.as_json:
        output.document(report)
        return
    numbers = sorted({row.queues for row in report.rows})
    lines = []
    for store, way in itertools.product(_STORES, _WAYS):
        rates = _rates(report.rows, store, way)
        cost = next(row.cpu_us_per_message for row in report.rows if (row.store, row.way) == (store, way))
        lines.append([store, way, *(f"{rates[number]:,.0f}" for number in numbers), some(cost, "{:.0f}")])
    head = ["store", "way", *(amount(number, "queue") for number in numbers), "CPU us"]
    output.table(head, lines, range(2, len(head)))
    output.line("")
    for name, ratio in report.ratios.items():
        output.line(f"{name}: {ratio:.2f}")
    tell_claims(report.holds, output)
    if out:
        output.line(f"\n{out}/elastic3.svg")
