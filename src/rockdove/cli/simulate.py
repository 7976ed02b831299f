"""``rockdove simulate``: the experiments of the performance model, on Spark."""

import sys
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from functools import partial
from itertools import groupby
from typing import TYPE_CHECKING, Annotated

import typer

from rockdove.cli import option
from rockdove.cli.failure import Code, Failure
from rockdove.cli.output import Output
from rockdove.cli.pair import pairs

if TYPE_CHECKING:
    from rockdove.capacity.polling.experiment import PollingDrawn
    from rockdove.capacity.scaling.experiment import ElasticDrawn
    from rockdove.spark.sweep.progress import Progress
    from rockdove.spark.sweep.row import Drawn, SweepRow

_ALL = "all"
# Of the performance model, of the dequeue policies, and of elastic queues.
_FIGURES = ("fig11", "fig12", "fig13", "fig14", "fig15")
_POLLING = ("rds9", "rds10", "rds11", "rds12")
_ELASTIC = ("elastic4", "elastic5", "elastic6", "elastic7", "elastic8", "elastic-policies")


def simulate(
    figures: Annotated[
        list[str],
        typer.Argument(
            metavar="FIGURE...",
            help="fig11 to fig15, rds9 to rds12, elastic4 to elastic8, elastic-policies, or all.",
            show_default=False,
        ),
    ],
    replications: Annotated[int, typer.Option("--replications", min=1, help="Independent runs of each system.")] = 20,
    duration_s: Annotated[float, typer.Option("--duration-s", help="Model time of a run.")] = 100.0,
    link_s: Annotated[float, typer.Option("--link-s", help="Time that a message spends on a link.")] = 0.02,
    timeout_s: Annotated[float, typer.Option("--timeout-s", help="The visibility timeout.")] = 0.0,
    engine: Annotated[str, typer.Option("--engine", metavar="petri|compiled", help="What simulates.")] = "compiled",
    seed: Annotated[int, typer.Option("--seed", min=0, help="The same seed gives the same result.")] = 1,
    master: option.Master = None,
    out: Annotated[str | None, typer.Option("--out", metavar="DIR", help="The folder for tables and pictures.")] = None,
    conf: option.Conf = None,
    as_json: option.Json = False,
) -> None:
    """Repeat the experiments of three papers.

    fig11 to fig15 are of the performance model: delivery time, waiting messages, utilisation. rds9 to rds12
    compare the dequeue policies: throughput, hits, messages of a hit, and the sleep of rds. --link-s,
    --timeout-s and --engine are for the first; the net of the paper, --engine petri, takes far longer.
    elastic4 to elastic8 are of elastic queues: load, workers and machines while production rises and falls;
    elastic-policies compares the rules of scaling. Their runs have no chance, or one seed: --replications
    and --duration-s are not for them.

    Needs rockdove[spark] and Java 17. With --out, DIR gets Parquet tables of all runs and rows, and a picture
    of each figure.

    \b
    Examples:
      rockdove simulate fig11
      rockdove simulate all --out figures
      rockdove simulate fig11 fig13 --engine petri --replications 5 --json
      rockdove simulate rds9 rds10 rds11 rds12 --out figures
      rockdove simulate elastic4 elastic5 elastic-policies --out figures
    """
    wanted = _wanted(figures)
    if engine not in ("petri", "compiled"):
        raise Failure(f"--engine is petri or compiled, not {engine!r}", Code.USAGE)
    from rockdove.spark.path import require_writable, whole_path, write
    from rockdove.spark.session import require, session

    require("simulations need", master)
    from rockdove.capacity.error import InvalidScenario
    from rockdove.capacity.polling.experiment import PollingFigure, setups
    from rockdove.capacity.scaling.experiment import ElasticFigure
    from rockdove.capacity.vma.experiment import Figure, Run, points

    run = Run(duration_s=duration_s, link_s=link_s, timeout_s=timeout_s)
    chosen = [Figure(name) for name in wanted if name in _FIGURES]
    polled = [PollingFigure(name) for name in wanted if name in _POLLING]
    elastic = [ElasticFigure(name) for name in wanted if name in _ELASTIC]
    try:
        points(Figure.FIG11, run)
        setups(PollingFigure.RDS9, duration_s)
    except InvalidScenario as error:
        raise Failure(f"--{str(error).replace('_', '-', 1)}", Code.USAGE) from None
    target = whole_path(out) if out else None
    if target is not None:
        try:
            require_writable(target)
        except OSError as error:
            raise Failure(f"cannot write to {out}: {error.strerror}") from None
    # Only now, because these take seconds.
    from rockdove.spark.sweep import elastic as elastic_sweep
    from rockdove.spark.sweep import elastic_picture, picture, polling, polling_picture
    from rockdove.spark.sweep.sweep import sweep
    from rockdove.spark.sweep.task import Engine

    drawn: list[Drawn | PollingDrawn | ElasticDrawn] = []
    with session(master, pairs(conf)) as spark, _bar() as progress:
        pictures = {}
        if chosen:
            for figure in sweep(spark, chosen, run, replications, Engine(engine), seed, target, progress):
                drawn.append(figure)
                pictures[figure.figure.value] = partial(picture.picture, figure)
        if polled:
            for shown in polling.sweep(spark, polled, duration_s, replications, seed, target, progress):
                drawn.append(shown)
                pictures[shown.figure.value] = partial(polling_picture.picture, shown)
        if elastic:
            for scaled in elastic_sweep.sweep(spark, elastic, seed, target, progress):
                drawn.append(scaled)
                pictures[scaled.figure.value] = partial(elastic_picture.picture, scaled)
        if target is not None:
            for name, draw in pictures.items():
                write(spark, f"{target}/{name}.svg", draw())
    _tell(drawn, out, Output(as_json))


def _wanted(figures: Sequence[str]) -> list[str]:
    """The figures by number, each once."""
    known = (*_FIGURES, *_POLLING, *_ELASTIC)
    unknown = [name for name in figures if name not in (*known, _ALL)]
    if unknown:
        raise Failure(f"there is no figure {unknown[0]!r}; say {', '.join(known)} or all", Code.USAGE)
    return [name for name in known if name in figures or _ALL in figures]


@contextmanager
def _bar() -> "Iterator[Progress | None]":
    """A bar on a terminal's standard error, and nothing elsewhere."""
    if not sys.stderr.isatty():
        yield None
        return
    from rich.console import Console
    from rich.progress import BarColumn, MofNCompleteColumn, TextColumn, TimeRemainingColumn
    from rich.progress import Progress as Bar

    columns = (TextColumn("runs"), BarColumn(), MofNCompleteColumn(), TimeRemainingColumn())
    with Bar(*columns, console=Console(stderr=True), transient=True) as bar:
        task = bar.add_task("runs", total=None)
        yield lambda done, total: bar.update(task, completed=done, total=total)


def _tell(drawn: "Sequence[Drawn | PollingDrawn | ElasticDrawn]", out: str | None, output: Output) -> None:
    if output.as_json:
        output.document(drawn[0] if len(drawn) == 1 else drawn)
        return
    from rockdove.capacity.polling.experiment import PollingDrawn
    from rockdove.capacity.scaling.experiment import ElasticDrawn

    for figure in drawn:
        if isinstance(figure, PollingDrawn):
            _tell_polling(figure, output)
        elif isinstance(figure, ElasticDrawn):
            _tell_elastic(figure, output)
        else:
            for (panel, metric), rows in groupby(sorted(figure.rows, key=_table), key=_table):
                output.line(f"{figure.figure.value} ({panel}) {metric}")
                _rows(list(rows), output)
                output.line("")
    if out:
        output.line("\n".join(f"{out}/{figure.figure.value}.svg" for figure in drawn))


def _tell_polling(drawn: "PollingDrawn", output: Output) -> None:
    from rockdove.capacity.polling.experiment import SHOWN, findings

    shown = SHOWN[drawn.figure]
    output.line(f"{drawn.figure.value} {shown}")
    lines = [
        [
            row.policy,
            f"{row.rate:g}",
            f"{row.sleep_s:g}" if row.sleep_s else "",
            *(_figure(getattr(row, name)) for name in ("throughput", "hit_rate", "messages_per_hit")),
            "" if row.ci95 is None else f"{row.ci95:.3g}",
        ]
        for row in drawn.rows
    ]
    head = ["policy", "rate", "sleep s", "messages/s", "hit rate", "messages/hit", f"± {shown}"]
    output.table(head, lines, range(1, 7))
    for line in findings(drawn):
        output.line(line)
    output.line("")


def _tell_elastic(drawn: "ElasticDrawn", output: Output) -> None:
    from rockdove.capacity.scaling.experiment import findings

    output.line(drawn.figure.value)
    lines = [
        [
            run.policy,
            run.production if run.ramp is None else f"{run.production} {run.ramp:g}",
            *(f"{number:g}" for number in (run.slots, run.npp, run.startup_s, run.spikes)),
            *(f"{number:,.0f}" for number in (run.spike_height, run.spike_area, run.seconds_above_max)),
            f"{run.machines_max}",
            f"{run.machine_seconds:,.0f}",
            f"{run.mean_s:.2f}",
            f"{run.p99_s:.2f}",
            f"{run.wrong}",
        ]
        for run in drawn.runs
    ]
    head = ["policy", "production", "slots", "ready", "start s", "spikes", "height", "area", "s above", "machines"]
    output.table([*head, "machine-s", "mean s", "p99 s", "wrong"], lines, range(2, 14))
    for line in findings(drawn):
        output.line(line)
    output.line("")


def _figure(value: float | None) -> str:
    return "none" if value is None else f"{value:.3g}"


def _table(row: "SweepRow") -> tuple[str, str]:
    return row.panel, row.metric


def _rows(rows: "list[SweepRow]", output: Output) -> None:
    """Both options of a system on one line."""

    def system(row: "SweepRow") -> tuple[float, int, int, float]:
        return (row.q, row.n1, row.n2, row.x)

    lines = []
    for _, group in groupby(sorted(rows, key=system), key=system):
        by = {row.option: row for row in group}
        free, ordered = by["out_of_order"], by["in_order"]
        lines.append(
            [
                f"{free.x:g}",
                f"{free.n1}",
                f"{free.n2}",
                f"{free.q:g}",
                _value(free.analytic),
                _mean(free),
                _mean(ordered),
            ]
        )
    output.table([rows[0].x_name, "n1", "n2", "q", "analytic", "out of order", "in order"], lines, range(7))


def _mean(row: "SweepRow") -> str:
    return _value(row.mean) if row.ci95 is None else f"{_value(row.mean)} ± {row.ci95:.4f}"


def _value(value: float | None) -> str:
    return "none" if value is None else f"{value:.4f}"
