"""``rockdove simulate``: the experiments of the performance model, on Spark."""

import sys
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from itertools import groupby
from typing import TYPE_CHECKING, Annotated

import typer

from rockdove.cli import option
from rockdove.cli.failure import Code, Failure
from rockdove.cli.output import Output
from rockdove.cli.pair import pairs

if TYPE_CHECKING:
    from rockdove.spark.sweep.row import Drawn, SweepRow
    from rockdove.spark.sweep.sweep import Progress

_ALL = "all"
_FIGURES = ("fig11", "fig12", "fig13", "fig14", "fig15")


def simulate(
    figures: Annotated[
        list[str], typer.Argument(metavar="FIGURE...", help="fig11 to fig15, or all.", show_default=False)
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
    """Repeat the experiments of the performance model: delivery time, waiting messages, utilisation.

    Needs rockdove[spark] and Java 17. With --out, DIR gets two Parquet tables, runs/ and rows/, and a
    picture of each figure. The net of the paper, --engine petri, takes far longer.

    \b
    Examples:
      rockdove simulate fig11
      rockdove simulate all --out figures
      rockdove simulate fig11 fig13 --engine petri --replications 5 --json
    """
    wanted = _wanted(figures)
    if engine not in ("petri", "compiled"):
        raise Failure(f"--engine is petri or compiled, not {engine!r}", Code.USAGE)
    from rockdove.spark.path import require_writable, whole_path, write
    from rockdove.spark.session import require, session

    require("simulations need", master)
    from rockdove.capacity.error import InvalidScenario
    from rockdove.capacity.vma.experiment import Figure, Run, points

    run, chosen = Run(duration_s=duration_s, link_s=link_s, timeout_s=timeout_s), [Figure(name) for name in wanted]
    try:
        points(chosen[0], run)
    except InvalidScenario as error:
        raise Failure(f"--{str(error).replace('_', '-', 1)}", Code.USAGE) from None
    target = whole_path(out) if out else None
    if target is not None:
        try:
            require_writable(target)
        except OSError as error:
            raise Failure(f"cannot write to {out}: {error.strerror}") from None
    # Only now, because these take seconds.
    from rockdove.spark.sweep.picture import picture
    from rockdove.spark.sweep.sweep import sweep
    from rockdove.spark.sweep.task import Engine

    with session(master, pairs(conf)) as spark, _bar() as progress:
        drawn = sweep(spark, chosen, run, replications, Engine(engine), seed, target, progress)
        if target is not None:
            for figure in drawn:
                write(spark, f"{target}/{figure.figure.value}.svg", picture(figure))
    _tell(drawn, out, Output(as_json))


def _wanted(figures: Sequence[str]) -> list[str]:
    """The figures by number, each once."""
    unknown = [name for name in figures if name not in (*_FIGURES, _ALL)]
    if unknown:
        raise Failure(f"there is no figure {unknown[0]!r}; say fig11, fig12, fig13, fig14, fig15 or all", Code.USAGE)
    return [name for name in _FIGURES if name in figures or _ALL in figures]


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


def _tell(drawn: "Sequence[Drawn]", out: str | None, output: Output) -> None:
    if output.as_json:
        output.document(drawn[0] if len(drawn) == 1 else drawn)
        return
    for figure in drawn:
        for (panel, metric), rows in groupby(sorted(figure.rows, key=_table), key=_table):
            output.line(f"{figure.figure.value} ({panel}) {metric}")
            _rows(list(rows), output)
            output.line("")
    if out:
        output.line("\n".join(f"{out}/{figure.figure.value}.svg" for figure in drawn))


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
