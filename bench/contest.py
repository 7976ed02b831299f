"""Several servers under the same loads in one run: interleaved rounds, the median of each."""

from __future__ import annotations

import argparse
import statistics
from collections.abc import Sequence

import msgspec

from bench import process, report
from bench.load import Figure, Load, Target, measure, target, warm
from bench.report import Table, progress, rate
from bench.server import Server

# From here on, in cores, what others use shows in the figures.
DISTURBED = 0.2


class Row(msgspec.Struct, frozen=True):
    """The median of the rounds for one load on one server; `rounds` has the requests a second of each of them.

    `per_cpu_s` is requests per second of the server's CPU, which a busy machine disturbs less; `others` is the most
    that processes outside the benchmark used, in cores.
    """

    server: str
    load: str
    requests_s: float
    messages_s: float
    p50_ms: float
    p99_ms: float
    cpu: float
    per_cpu_s: float
    others: float
    rounds: tuple[float, ...]


class Entry(msgspec.Struct, frozen=True):
    """One load on one server, in how many of the rounds it takes part."""

    server: Server
    load: Load
    rounds: int


class Plan(msgspec.Struct, frozen=True):
    """Length of a run, threads of wrk, and how often a run that others disturbed is repeated."""

    seconds: float
    threads: int
    patience: int


def contest(entries: Sequence[Entry], plan: Plan) -> list[Row]:
    """Warms every entry up, then measures them in turn, round by round, each time on a new queue."""
    rates = [_warm(entry, plan.threads) for entry in entries]
    figures: list[list[Figure]] = [[] for _ in entries]
    for round_ in range(1, max(entry.rounds for entry in entries) + 1):
        for i, entry in enumerate(entries):
            if round_ <= entry.rounds:
                at = target(entry.server, entry.load, round_)
                at.rate = rates[i]
                figure = _steady(at, plan)
                # A slow server goes on with what wrk abandoned: not while the next one is measured.
                process.settle(entry.server.pid)
                rates[i] = max(rates[i], at.rate)
                figures[i].append(figure)
                progress(f"round {round_}: {at.label}: {rate(figure.requests_s)} requests/s, {used(figure)}")
    return [_row(entry, found) for entry, found in zip(entries, figures, strict=True)]


def _steady(at: Target, plan: Plan) -> Figure:
    """The least disturbed of up to 1 + patience runs; how fast they were does not choose."""
    best = measure(at, plan.seconds, plan.threads)
    for _ in range(plan.patience):
        if best.others <= DISTURBED:
            break
        best = min(best, measure(at, plan.seconds, plan.threads), key=lambda figure: figure.others)
    return best


def options(description: str) -> argparse.ArgumentParser:
    """The options of a benchmark that is a contest."""
    parser = report.options(description)
    parser.add_argument("--seconds", type=float, default=8, help="length of one measured run (8)")
    parser.add_argument("--rounds", type=int, default=3, help="measured runs of each load, the median counts (3)")
    parser.add_argument("--threads", type=int, default=1, choices=(1, 2), help="threads of wrk (1)")
    parser.add_argument(
        "--patience",
        type=int,
        default=0,
        help="repeat a run that others disturbed up to so often, keep the quietest (0)",
    )
    return parser


def plan(args: argparse.Namespace) -> Plan:
    return Plan(args.seconds, args.threads, args.patience)


def _warm(entry: Entry, threads: int) -> float:
    at: Target = target(entry.server, entry.load)
    progress(f"warming up: {at.label}")
    warm(at, threads)
    return at.rate


def used(figure: Figure) -> str:
    return f"{figure.cpu:.2f} cores, others {figure.others:.2f}"


def _row(entry: Entry, figures: list[Figure]) -> Row:
    rates = [figure.requests_s for figure in figures]
    return Row(
        entry.server.name,
        entry.load.name,
        requests_s=statistics.median(rates),
        messages_s=statistics.median(figure.messages_s for figure in figures),
        p50_ms=statistics.median(figure.p50_ms for figure in figures),
        p99_ms=statistics.median(figure.p99_ms for figure in figures),
        cpu=statistics.median(figure.cpu for figure in figures),
        per_cpu_s=statistics.median(figure.requests_s / figure.cpu for figure in figures),
        others=max(figure.others for figure in figures),
        rounds=tuple(rates),
    )


def ratio(rows: Sequence[Row], one: tuple[str, Load], other: tuple[str, Load]) -> float:
    """A server's rate in a load beside another's: the median of the rounds' ratios, because machines drift."""
    ones, others = (
        next(row.rounds for row in rows if (row.server, row.load) == (server, load.name))
        for server, load in (one, other)
    )
    return statistics.median(a / b for a, b in zip(ones, others, strict=False))


LEGEND = (
    "32 connections, bodies of 1 KB, AWS JSON 1.0; a receive and a delete are a request each. Rates are medians of the "
    "rounds, and ratios medians of the rounds' ratios. Cores: the server's CPU; "
    "per CPU s: requests for each second of it. "
    "Others: the most that processes outside the benchmark took from the machine during a round; it should be near 0."
)

HEAD = [
    "load",
    "server",
    "requests/s",
    "lowest-highest",
    "messages/s",
    "p50 ms",
    "p99 ms",
    "cores",
    "per CPU s",
    "others",
]


def cells(load: Load, row: Row) -> list[str]:
    spread = f"{rate(min(row.rounds))}-{rate(max(row.rounds))}"
    rates = [rate(row.requests_s), spread, rate(row.messages_s)]
    return [
        load.title,
        row.server,
        *rates,
        f"{row.p50_ms:.2f}",
        f"{row.p99_ms:.2f}",
        f"{row.cpu:.2f}",
        rate(row.per_cpu_s),
        f"{row.others:.2f}",
    ]


def disturbance(rows: Sequence[Row]) -> str:
    most = max(row.others for row in rows)
    if most <= DISTURBED:
        return ""
    return f" **Disturbed: others took up to {most:.2f} cores while this was measured.**"


def table(
    rows: Sequence[Row], loads: Sequence[Load], extra: dict[str, dict[Row, str]] | None = None, note: str = ""
) -> Table:
    """All rows, load by load; `extra` columns have a cell for some rows."""
    more = extra or {}
    lines = [
        [*cells(load, row), *(column.get(row, "") for column in more.values())]
        for load in loads
        for row in rows
        if row.load == load.name
    ]
    return Table([*HEAD, *more], lines, note + disturbance(rows))
