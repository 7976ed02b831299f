"""``rockdove bench fig4`` to ``fig8``: the experiments of the BDQS paper on Cassandra."""

import shlex
import sys
import tempfile
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer
from msgspec import Struct

from rockdove.cli import option
from rockdove.cli.bench.claims import some, tell_claims, write
from rockdove.cli.failure import Failure
from rockdove.cli.output import Output, note
from rockdove.cli.pair import pairs

if TYPE_CHECKING:
    from rockdove.workload.figures import SettingResult
    from rockdove.workload.machine import Machine

_JARS = Path(".setup") / "cassandra" / "lib"


class FigureRow(Struct, frozen=True, kw_only=True):
    """One run. Messages and their order are from the traces of its clients, as Spark found them there."""

    series: str
    x: float
    sent: int
    lost: int
    duplicates: int
    duplication_rate: float | None
    out_of_order_rate: float | None
    displacement: float | None
    send_rate: float | None
    receive_delete_rate: float | None
    send_ms: dict[str, float | None]
    receive_ms: dict[str, float | None]
    failures: int
    killed: int


class FigureReport(Struct, frozen=True):
    """What the bench hands over."""

    bench: str
    machine: "Machine"
    command: str
    nodes: int
    rows: list[FigureRow]
    holds: dict[str, bool]


Nodes = Annotated[int, typer.Option("--nodes", min=1, max=3, metavar="N", help="Cassandra nodes; each has a copy.")]
Scale = Annotated[
    float, typer.Option("--scale", min=0.01, metavar="X", help="How many messages, as a multiple of what is usual.")
]
Seed = Annotated[int, typer.Option("--seed", metavar="N", help="Of what is killed when.")]
Jars = Annotated[
    Path, typer.Option("--jars", metavar="DIR", help="Cassandra's jars, as `make cassandra-jars` fetches them.")
]
Out = Annotated[str | None, typer.Option("--out", metavar="DIR", help="The folder for table and picture.")]


def _command(name: str, text: str) -> Callable[..., None]:
    """All figures have the same flags; ``text`` is what the help says."""

    def command(
        nodes: Nodes = 3,
        scale: Scale = 1.0,
        seed: Seed = 0,
        jars: Jars = _JARS,
        master: option.Master = None,
        out: Out = None,
        conf: option.Conf = None,
        as_json: option.Json = False,
    ) -> None:
        _figure(name, nodes, scale, seed, jars, master, out, conf, as_json)

    command.__name__ = name
    command.__doc__ = f"{text}\n\n\b\nExample:\n  rockdove bench {name} --out figures"
    return command


fig4 = _command(
    "fig4",
    """Measure rates against the number of queues and of front-ends.

Starts Cassandra nodes and services on this machine. Each queue has three senders and three
receivers, which are spread over the front-ends. Receivers begin when all senders have finished.""",
)
fig5 = _command("fig5", "Measure response times against the rate, which the senders' delays set.")
fig6 = _command(
    "fig6",
    """Measure duplicates and order against concurrent receivers, for K = 1, 2, 3 and none.

Each receiver of a queue asks another front-end. K is tried with the paper's literal draw, with
fast receives as they are here, and with strict ones.""",
)
fig7 = _command("fig7", "Measure duplicates, order and losses while requests and answers are lost and receivers crash.")
fig8 = _command(
    "fig8",
    """Measure duplicates, order and losses while Cassandra nodes and front-ends are killed.

Each server is killed at random, and started again after ten seconds. With consistency quorum
and one.""",
)


def _figure(
    name: str,
    nodes: int,
    scale: float,
    seed: int,
    jars: Path,
    master: str | None,
    out: str | None,
    conf: list[str] | None,
    as_json: bool,
) -> None:
    """Raises `Failure`."""
    from rockdove.spark.path import require_writable, whole_path
    from rockdove.spark.session import require

    require("the traces are analysed by Spark, which needs", master)
    target = None if out is None else whole_path(out)
    if target is not None:
        try:
            require_writable(target)
        except OSError as error:
            raise Failure(f"cannot write to {out}: {error.strerror}") from None
    if not any(jars.glob("*.jar")):
        raise Failure(
            f"{jars} has no jars of Cassandra. Run make cassandra-jars in a checkout, and name them with --jars"
        )
    from rockdove.cli.bench.bar import Bars
    from rockdove.workload import Interrupt, WorkloadFailed
    from rockdove.workload.figures import run, settings
    from rockdove.workload.machine import this_machine

    with tempfile.TemporaryDirectory(prefix=f"rockdove-{name}-") as folder:
        try:
            with Interrupt() as interrupt:
                results = run(
                    settings(name, scale), Path(folder), jars.absolute(), nodes, seed, Bars(), interrupt, note
                )
        except WorkloadFailed as error:
            raise Failure(str(error)) from None
        note("the traces are analysed")
        rows = _analysed(results, folder, master, pairs(conf))
    command = shlex.join(["rockdove", *sys.argv[1:]])
    report = FigureReport(name, this_machine(), command, nodes, rows, HOLDS[name](rows))
    if target is not None:
        from rockdove.spark.sweep.bdqs_picture import picture

        write(report, picture(name, rows), Path(target), f"bdqs-{name}")
    _tell(report, out, Output(as_json))


def _analysed(
    results: Sequence["SettingResult"], folder: str, master: str | None, conf: dict[str, str]
) -> list[FigureRow]:
    from rockdove.spark.analysis import analyse
    from rockdove.spark.session import session

    rows: list[FigureRow] = []
    with session(master, conf, light=True) as spark:
        for number, result in enumerate(results):
            found = analyse(spark, [result.trace], f"{folder}/result-{number}", None, lambda text: None)
            rows.append(_row(result, found.summary["overall"]))
    return rows


def _row(result: "SettingResult", figures: dict[str, Any]) -> FigureRow:
    measured = result.row
    return FigureRow(
        series=result.setting.series,
        x=result.setting.x,
        sent=figures["sent"],
        lost=figures["lost"],
        duplicates=figures["duplicates"],
        duplication_rate=figures["duplication_rate"],
        out_of_order_rate=figures["out_of_order_rate"],
        displacement=figures["displacement"],
        # Of the time in which there were sends, and receives, and not of the whole trace.
        send_rate=measured.send_rate,
        receive_delete_rate=measured.receive_delete_rate,
        send_ms={name: getattr(measured.send_ms, name) for name in ("p50", "p95", "p99")},
        receive_ms={name: getattr(measured.receive_ms, name) for name in ("p50", "p95", "p99")},
        failures=measured.failures,
        killed=result.killed,
    )


# What is to hold.


def _no_loss(rows: Sequence[FigureRow]) -> dict[str, bool]:
    return {"no message is lost": all(row.lost == 0 for row in rows)}


def _of(rows: Sequence[FigureRow], series: str) -> list[FigureRow]:
    return [row for row in rows if row.series == series]


def _mean(rows: Sequence[FigureRow], name: str) -> float:
    values = [getattr(row, name) or 0.0 for row in rows]
    return sum(values) / len(values) if values else 0.0


def _fig6_holds(rows: Sequence[FigureRow]) -> dict[str, bool]:
    found = _no_loss(rows)
    for claim in ("literal", "fast", "strict"):
        far, near = (
            _mean(_of(rows, f"{claim}, K = none"), "displacement"),
            _mean(_of(rows, f"{claim}, K = 3"), "displacement"),
        )
        found[f"{claim}: displacement at K = 3 is at most a tenth of that without order"] = near * 10 <= far
    several = [row for row in rows if row.x > 1]
    for claim in ("literal", "fast"):
        rates = [_mean(_of(several, f"{claim}, K = {hint}"), "duplication_rate") for hint in ("1", "3", "none")]
        found[f"{claim}: duplicates fall from K = 1 to 3 to none"] = rates[0] >= rates[1] >= rates[2] < rates[0]
    strict = [row for row in rows if row.series.startswith("strict")]
    found["strict: no duplicates"] = all(row.duplicates == 0 for row in strict)
    return found


def _fig7_holds(rows: Sequence[FigureRow]) -> dict[str, bool]:
    found = _no_loss(rows)
    for series in dict.fromkeys(row.series for row in rows):
        line = {row.x: row for row in _of(rows, series)}
        low, high = line[min(line)], line[0.01]
        # One message in twenty is what chance does to so few.
        flat = abs((high.duplication_rate or 0) - (low.duplication_rate or 0)) <= 0.05
        order = abs((high.out_of_order_rate or 0) - (low.out_of_order_rate or 0)) <= 0.05
        found[f"{series}: duplicates and order differ by at most 0.05 up to a probability of 0.01"] = flat and order
    return found


def _fig8_holds(rows: Sequence[FigureRow]) -> dict[str, bool]:
    return {"no message is lost at quorum": all(row.lost == 0 for row in _of(rows, "quorum"))}


HOLDS: dict[str, Callable[[Sequence[FigureRow]], dict[str, bool]]] = {
    "fig4": _no_loss,
    "fig5": _no_loss,
    "fig6": _fig6_holds,
    "fig7": _fig7_holds,
    "fig8": _fig8_holds,
}


def _tell(report: FigureReport, out: str | None, output: Output) -> None:
    if output.as_json:
        output.document(report)
        return
    head = ["series", "x", "sent", "lost", "duplicates", "out of order", "displacement", "sends/s", "receives/s"]
    head += ["send p50 ms", "send p95 ms", "failed", "killed"]
    lines = [
        [
            row.series,
            f"{row.x:g}",
            f"{row.sent:,}",
            f"{row.lost:,}",
            some(row.duplication_rate, "{:.2%}"),
            some(row.out_of_order_rate, "{:.1%}"),
            some(row.displacement, "{:.2f}"),
            some(row.send_rate, "{:,.0f}"),
            some(row.receive_delete_rate, "{:,.0f}"),
            some(row.send_ms["p50"], "{:.1f}"),
            some(row.send_ms["p95"], "{:.1f}"),
            f"{row.failures:,}",
            f"{row.killed:,}",
        ]
        for row in report.rows
    ]
    output.table(head, lines, range(1, len(head)))
    output.line("")
    tell_claims(report.holds, output)
    if out:
        output.line(f"\n{out}/bdqs-{report.bench}.svg")
