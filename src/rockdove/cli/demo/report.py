"""What a demo ends with: times of delivery as they were, and as the model says from the rates that were measured."""

from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any, Final

from msgspec import Struct

from rockdove.cli.bench.claims import some, tell_claims
from rockdove.cli.output import Output

if TYPE_CHECKING:
    from rockdove.spark.circle import Spell, Work
    from rockdove.workload.machine import Machine
    from rockdove.workload.ramp import Decision, Ramped, Ramping, Sampled

# Seconds of a spell.
SPELL_S: Final = 2.0
# Busier than this, a queue does not come to a steady state within a spell: its wait is as at this, and the backlog
# tells the rest.
_BUSY: Final = 0.9
# Measured and predicted times are to differ by no more than this.
_FACTOR: Final = 2.0


class Compared(Struct, frozen=True, kw_only=True):
    """A spell of the trace. ``workers``: their mean. ``predicted_ms``: from the arrivals, workers and work of this and
    of all spells before."""

    t: float
    sent: int
    deleted: int
    workers: float
    delivery_ms: float | None
    predicted_ms: float | None


class DemoReport(Struct, frozen=True, kw_only=True):
    """What the demo hands over. Times of delivery are means over all messages."""

    bench: str
    machine: "Machine"
    command: str
    seconds: float
    sent: int
    handled: int
    lost: int
    duplicates: int
    workers_max: int
    machines_max: int
    max_load: int
    rounds_by_watch: int
    service_ms: float | None
    service_scv: float | None
    failure: float
    measured_ms: float | None
    predicted_ms: float | None
    decisions: list["Decision"]
    rows: list[Compared]
    samples: list["Sampled"]
    ratios: dict[str, float]
    holds: dict[str, bool]


def report(
    command: str,
    machine: "Machine",
    ramping: "Ramping",
    ramped: "Ramped",
    spells: "Sequence[Spell]",
    work: "Work | None",
) -> DemoReport:
    failure = sum(each.again for each in spells) / max(sum(each.receives for each in spells), 1)
    rows = compared(spells, work, failure, ramped)
    measured, predicted = summed(rows, spells)
    ratios = {"measured / predicted delivery": measured / predicted} if measured and predicted else {}
    return DemoReport(
        bench="demo",
        machine=machine,
        command=command,
        seconds=ramping.duration_s,
        sent=ramped.sent,
        handled=ramped.handled,
        lost=ramped.lost,
        duplicates=ramped.duplicates,
        workers_max=ramped.workers_max,
        machines_max=ramped.machines_max,
        max_load=ramped.max_load,
        rounds_by_watch=ramped.watched,
        service_ms=None if work is None else work.service_s * 1000,
        service_scv=None if work is None else work.scv,
        failure=failure,
        measured_ms=measured,
        predicted_ms=predicted,
        decisions=ramped.decisions,
        rows=rows,
        samples=ramped.samples,
        ratios=ratios,
        holds=_holds(ramped, ratios),
    )


def _holds(ramped: "Ramped", ratios: Mapping[str, float]) -> dict[str, bool]:
    acts = {each.act for each in ramped.decisions}
    found = {
        "no acknowledged message is lost": ramped.lost == 0 and ramped.sent > 0,
        "the controller went by the watch": ramped.watched > 0,
        "workers were added and removed": {"add", "remove"} <= acts,
    }
    for ratio in ratios.values():
        found[f"measured and predicted delivery differ by at most {_FACTOR:g} times"] = 1 / _FACTOR <= ratio <= _FACTOR
    return found


def compared(spells: "Sequence[Spell]", work: "Work | None", failure: float, ramped: "Ramped") -> list[Compared]:
    """What workers cannot do is a backlog, which they work off later; messages wait for that, and for chance."""
    found = []
    backlog = 0.0
    for spell in spells:
        at_s = spell.start_s - ramped.began
        workers = _workers(ramped.samples, at_s)
        wait_s = None
        if work is not None and workers > 0:
            arrival, rate = spell.sent / SPELL_S, (1 - failure) / work.service_s
            before, backlog = backlog, max(backlog + spell.sent - workers * rate * SPELL_S, 0.0)
            wait_s = (before + backlog) / 2 / (workers * rate) + steady_s(arrival, rate, work.scv, round(workers))
        found.append(
            Compared(
                t=round(at_s, 3),
                sent=spell.sent,
                deleted=spell.deleted,
                workers=workers,
                delivery_ms=_ms(spell.delivery_s),
                predicted_ms=_ms(wait_s) if spell.delivered else None,
            )
        )
    return found


def steady_s(arrival: float, rate: float, scv: float, workers: int) -> float:
    """The mean wait of a message for its worker, in a steady state.

    Each has a queue of its own, and every ``workers``-th message: of random arrivals, that is Erlang's distribution.
    """
    from rockdove.capacity.analytic.ggn import GGn

    each = min(arrival / max(workers, 1), _BUSY * rate)
    if each <= 0:
        return 0.0
    return GGn(each, rate, 1, 1 / max(workers, 1), scv).mean_wait_s


def _workers(samples: "Sequence[Sampled]", at_s: float) -> float:
    """Their mean in a spell; before the first sample and after the last, what these say."""
    found = [each.workers for each in samples if at_s <= each.t <= at_s + SPELL_S]
    if not found:
        found = [samples[0 if at_s < samples[0].t else -1].workers]
    return sum(found) / len(found)


def summed(rows: Sequence[Compared], spells: "Sequence[Spell]") -> tuple[float | None, float | None]:
    """Means by messages."""
    pairs = [
        (spell.delivered, row.delivery_ms, row.predicted_ms)
        for spell, row in zip(spells, rows, strict=True)
        if row.delivery_ms is not None and row.predicted_ms is not None
    ]
    number = sum(each for each, _, _ in pairs)
    if not number:
        return None, None
    measured = sum(each * value for each, value, _ in pairs) / number
    return measured, sum(each * value for each, _, value in pairs) / number


def _ms(seconds: float | None) -> float | None:
    return None if seconds is None else seconds * 1000


# What is shown of it.


def picture(report: DemoReport) -> str:
    """An SVG file."""
    from rockdove.picture.plot import Line, chart
    from rockdove.picture.scale import counts
    from rockdove.picture.sheet import Panel, sheet
    from rockdove.picture.word import milliseconds, short

    times = [row.t for row in report.rows]
    seconds = [each.t for each in report.samples]
    rates = [
        Line("sent", [row.sent / SPELL_S for row in report.rows], 1, filled=True),
        Line("done", [row.deleted / SPELL_S for row in report.rows], 2),
    ]
    workers = [
        Line("workers", [each.workers for each in report.samples], 1, filled=True),
        Line("machines", [each.machines for each in report.samples], 3),
    ]
    load = [Line("waiting in a queue, at most", [each.max_load for each in report.samples], 3, filled=True)]
    delivery = [
        Line("measured", [row.delivery_ms for row in report.rows], 1),
        Line("predicted", [row.predicted_ms for row in report.rows], 2),
    ]

    def panel(title: str, places: Sequence[float], lines: Sequence[Any], word: Any, log: bool = False) -> Panel:
        return Panel(title, "seconds", chart(places, lines, word, log, marks=counts), lines)

    return sheet(
        "rockdove demo: a queue that grows its own workers",
        [panel("Messages a second", times, rates, short), panel("Workers", seconds, workers, short)],
        [panel("Load", seconds, load, short), panel("Time of delivery", times, delivery, milliseconds, log=True)],
    )


def tell(report: DemoReport, out: Path | None, output: Output) -> None:
    if output.as_json:
        output.document(report)
        return
    output.line("")
    for each in report.decisions:
        output.line(f"{each.act:7} {each.reason}")
    output.line("")
    rows = [
        ("messages sent, lost, done again", f"{report.sent:,}, {report.lost:,}, {report.duplicates:,}"),
        ("workers and machines, at most", f"{report.workers_max}, {report.machines_max}"),
        ("most that waited in one queue", f"{report.max_load:,}"),
        ("work of a message, ms", some(report.service_ms, "{:.1f}")),
        ("delivery measured, mean ms", some(report.measured_ms, "{:.1f}")),
        ("delivery predicted, mean ms", some(report.predicted_ms, "{:.1f}")),
    ]
    output.table(["", ""], rows, [1])
    output.line("")
    tell_claims(report.holds, output)
    if out:
        output.line(f"\n{out}/demo.svg")
