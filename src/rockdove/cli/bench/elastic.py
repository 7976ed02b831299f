"""``rockdove bench elastic``."""

import asyncio
import shlex
import sys
import tempfile
from collections import Counter
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer
from msgspec import Struct

from rockdove.cli import option
from rockdove.cli.bench.claims import some, tell_claims, write
from rockdove.cli.failure import Code, Failure
from rockdove.cli.output import Output, note
from rockdove.cli.pair import pairs
from rockdove.core.elastic import ScalingPolicy

if TYPE_CHECKING:
    from rockdove.workload.machine import Machine
    from rockdove.workload.ramp import Ramped, Ramping, Sampled


class Window(Struct, frozen=True):
    """A second of the trace: messages sent, and deleted; and those that waited at its end."""

    t: float
    sent: int
    deleted: int
    waiting: int


class ElasticRow(Struct, frozen=True, kw_only=True):
    """One run. Delivery times, and windows, are from the trace; ``above_s`` is the longest time with a load above
    maxLoad."""

    policy: str
    peak: float
    max_load_set: float
    sent: int
    handled: int
    lost: int
    duplicates: int
    workers_killed: int
    controllers_killed: int
    workers_max: int
    machines_max: int
    max_load: int
    above_s: float
    decisions: dict[str, int]
    delivery_ms: dict[str, float | None]
    samples: list["Sampled"]
    windows: list[Window]


class ElasticReport(Struct, frozen=True):
    """What the bench hands over."""

    bench: str
    machine: "Machine"
    command: str
    rows: list[ElasticRow]
    ratios: dict[str, float]
    holds: dict[str, bool]


def elastic(
    policies: Annotated[
        list[str] | None,
        typer.Option("--policy", metavar="NAME", help="The rule; may be repeated.", show_default="paper and model"),
    ] = None,
    peak: Annotated[float, typer.Option("--peak", min=1, metavar="N", help="Messages a second at the top.")] = 150.0,
    rise: Annotated[float, typer.Option("--rise", min=1, metavar="S", help="Up to there, and down again.")] = 40.0,
    top: Annotated[float, typer.Option("--top", min=1, metavar="S", help="At the top.")] = 30.0,
    work: Annotated[float, typer.Option("--work", min=0, metavar="S", help="Of a worker for a message.")] = 0.02,
    startup: Annotated[float, typer.Option("--startup", min=0, metavar="S", help="Of a machine.")] = 4.0,
    bound: Annotated[
        float, typer.Option("--bound", min=1, metavar="S", help="Load is to be above maxLoad no longer than this.")
    ] = 30.0,
    kills: Annotated[
        bool, typer.Option("--kills/--no-kills", help="Whether workers and the controller are killed in the middle.")
    ] = True,
    master: option.Master = None,
    out: Annotated[str | None, typer.Option("--out", metavar="DIR", help="The folder for table and picture.")] = None,
    conf: option.Conf = None,
    as_json: option.Json = False,
) -> None:
    """Let an elastic queue grow and shrink, on a service that this command starts.

    Production rises and falls; the controller and its workers are processes of their own; twice each, a worker
    and the controller are killed. Every message that was acknowledged must be handled, and the load must come
    back under maxLoad. The paper's times are scaled so that a run takes two minutes. The service records a
    trace, and Spark finds delivery times, production and waiting messages in it.

    Needs rockdove[spark] and Java 17. With --out, DIR gets elastic.json and elastic.svg.

    \b
    Examples:
      rockdove bench elastic
      rockdove bench elastic --policy paper --rise 20 --top 10 --json
    """
    chosen = list(dict.fromkeys(policies or ["paper", "model"]))
    unknown = [name for name in chosen if name not in list(ScalingPolicy)]
    if unknown:
        raise Failure(f"--policy is {', '.join(ScalingPolicy)}, not {unknown[0]!r}", Code.USAGE)
    from rockdove.spark.path import require_writable, whole_path
    from rockdove.spark.session import require

    require("the trace is analysed by Spark, which needs", master)
    target = None if out is None else whole_path(out)
    if target is not None:
        try:
            require_writable(target)
        except OSError as error:
            raise Failure(f"cannot write to {out}: {error.strerror}") from None
    from rockdove.workload import WorkloadFailed
    from rockdove.workload.local import LocalService
    from rockdove.workload.machine import this_machine
    from rockdove.workload.ramp import Ramp, Ramping

    rampings = [
        Ramping(policy=name, peak=peak, rise_s=rise, top_s=top, work_s=work, startup_s=startup, kills=kills)
        for name in chosen
    ]
    with tempfile.TemporaryDirectory(prefix="rockdove-elastic-") as folder:
        trace = Path(folder) / "trace"
        ramped = {}
        try:
            with LocalService("sqlite", Path(folder) / "service", 0, 0, trace) as service:
                for ramping in rampings:
                    note(f"{ramping.policy}: production rises to {peak:g}/s and falls, {ramping.duration_s:.0f} s")
                    run = Ramp(service.endpoint, f"elastic-{ramping.policy}", Path(folder) / ramping.policy, ramping)
                    ramped[ramping.policy] = asyncio.run(run.run())
        except WorkloadFailed as error:
            raise Failure(str(error)) from None
        note("the trace is analysed")
        figures, windows = _analysed(trace, folder, master, pairs(conf))
    rows = [
        _row(ramping, ramped[ramping.policy], figures[name], windows[name])
        for ramping in rampings
        for name in [f"elastic-{ramping.policy}"]
    ]
    command = shlex.join(["rockdove", *sys.argv[1:]])
    report = ElasticReport("elastic", this_machine(), command, rows, _ratios(rows), _holds(rows, bound))
    if target is not None and out is not None:
        from rockdove.spark.sweep.ramp_picture import picture

        write(report, picture(report.rows), Path(target), "elastic")
    _tell(report, out, Output(as_json))


def _analysed(
    trace: Path, folder: str, master: str | None, conf: dict[str, str]
) -> tuple[Mapping[str, Any], dict[str, list[Window]]]:
    """The figures of each queue, and its windows of a second."""
    from rockdove.spark.analysis import analyse
    from rockdove.spark.session import session

    with session(master, conf, light=True) as spark:
        found = analyse(spark, [str(trace)], f"{folder}/result", 1.0, lambda text: None)
        table = spark.read.parquet(f"{folder}/result/windows").orderBy("queue", "window_start")
        names = ["name", "window_start", "sent", "deleted", "waiting"]
        rows = table.where("name is not null").select(*names).collect()
    windows: dict[str, list[Window]] = {}
    began: dict[str, float] = {}
    for row in rows:
        at_s = row["window_start"].timestamp()
        began_s = began.setdefault(row["name"], at_s)
        window = Window(round(at_s - began_s, 3), row["sent"], row["deleted"], row["waiting"])
        windows.setdefault(row["name"], []).append(window)
    return found.summary["queues"], windows


def _row(ramping: "Ramping", ramped: "Ramped", figures: Mapping[str, Any], windows: list[Window]) -> ElasticRow:
    return ElasticRow(
        policy=ramping.policy,
        peak=ramping.peak,
        max_load_set=ramping.max_load,
        sent=ramped.sent,
        handled=ramped.handled,
        lost=ramped.lost,
        duplicates=ramped.duplicates,
        workers_killed=ramped.workers_killed,
        controllers_killed=ramped.controllers_killed,
        workers_max=ramped.workers_max,
        machines_max=ramped.machines_max,
        max_load=ramped.max_load,
        above_s=ramped.above_s,
        decisions=dict(sorted(Counter(each.act for each in ramped.decisions).items())),
        delivery_ms=figures["delivery_ms"],
        samples=ramped.samples,
        windows=windows,
    )


def _ratios(rows: Sequence[ElasticRow]) -> dict[str, float]:
    """What delivery takes, to that of the first."""
    found: dict[str, float] = {}
    first = rows[0].delivery_ms["p99"]
    for row in rows[1:]:
        p99 = row.delivery_ms["p99"]
        if first and p99:
            found[f"p99 of delivery, {row.policy} / {rows[0].policy}"] = p99 / first
    return found


def _holds(rows: Sequence[ElasticRow], bound: float) -> dict[str, bool]:
    found: dict[str, bool] = {}
    for row in rows:
        found[f"{row.policy}: no acknowledged message is lost"] = row.lost == 0 and row.sent > 0
        found[f"{row.policy}: each is handled at least once"] = row.handled >= row.sent
        found[f"{row.policy}: load is above maxLoad for at most {bound:g} s"] = row.above_s <= bound
        found[f"{row.policy}: workers are added and removed"] = bool(
            row.decisions.get("add") and row.decisions.get("remove")
        )
    return found


def _tell(report: ElasticReport, out: str | None, output: Output) -> None:
    if output.as_json:
        output.document(report)
        return
    head = [
        "policy",
        "sent",
        "lost",
        "twice",
        "killed",
        "workers",
        "machines",
        "max load",
        "above s",
        "p50 ms",
        "p99 ms",
    ]
    lines = [
        [
            row.policy,
            f"{row.sent:,}",
            f"{row.lost}",
            f"{row.duplicates}",
            f"{row.workers_killed} + {row.controllers_killed}",
            f"{row.workers_max}",
            f"{row.machines_max}",
            f"{row.max_load}",
            f"{row.above_s:g}",
            some(row.delivery_ms["p50"], "{:,.0f}"),
            some(row.delivery_ms["p99"], "{:,.0f}"),
        ]
        for row in report.rows
    ]
    output.table(head, lines, range(1, len(head)))
    output.line("")
    for name, ratio in report.ratios.items():
        output.line(f"{name}: {ratio:.2f}")
    tell_claims(report.holds, output)
    if out:
        output.line(f"\n{out}/elastic.svg")
