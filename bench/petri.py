"""How fast the Petri net kernel fires: the paper's whole net, with the monitors of its experiments."""

from __future__ import annotations

import argparse
import time

import msgspec

from bench import report
from bench.machine import command, machine, scratch
from bench.report import Report, Table, rate, yes
from rockdove.capacity.petri import Simulator
from rockdove.capacity.vma.net import layer_1
from rockdove.capacity.vma.net.monitor import measuring
from rockdove.capacity.vma.petri import measure
from rockdove.capacity.vma.scenario import Option, Scenario

# Firings a second that the kernel is to reach on either of the paper's options.
AIM = 50_000


class Row(msgspec.Struct, frozen=True):
    """The fastest of the rounds. `checked` is whether every token was compared with its colour set."""

    option: str
    checked: bool
    firings: int
    messages: int
    seconds: float
    firings_s: float


def scenario(option: Option, seconds: float) -> Scenario:
    """Figure 11 at five threads each."""
    return Scenario(
        arrival=30.3,
        sender_rate=10,
        broker_rate=10,
        n1=5,
        n2=5,
        q=0.99,
        link_s=0.02,
        option=option,
        duration_s=seconds,
    )


def run(option: Option, checked: bool, args: argparse.Namespace) -> Row:
    rows = []
    for seed in range(args.rounds):
        each = scenario(option, args.model_s)
        simulator = Simulator(layer_1(each), seed=seed, monitors=measuring(each), check=checked)
        began = time.perf_counter()
        firings = simulator.run()
        took = time.perf_counter() - began
        rows.append(Row(option, checked, firings, measure(each, simulator).delivered, took, firings / took))
    return max(rows, key=lambda row: row.firings_s)


def arguments() -> argparse.Namespace:
    parser = report.options("Firings of the Petri net kernel on the whole net of the paper.")
    parser.add_argument("--model-s", type=float, default=400.0, help="seconds of model time a run (400)")
    parser.add_argument("--rounds", type=int, default=3, help="runs of each, the fastest counts (3)")
    return parser.parse_args()


def main() -> None:
    args = arguments()
    about = machine(scratch(args.data))
    rows = []
    for option in Option:
        for checked in (False, True):
            report.progress(f"{option}, {'checked' if checked else 'unchecked'}")
            rows.append(run(option, checked, args))
    holds = {f"{row.option}: at least {AIM:,} firings/s": row.firings_s >= AIM for row in rows if not row.checked}
    result = Report("petri", about, command(), list(rows), {}, holds)
    lines = [
        [
            row.option,
            yes(row.checked),
            f"{row.firings:,}",
            f"{row.seconds:.2f}",
            rate(row.firings_s),
            rate(row.messages / row.seconds),
        ]
        for row in rows
    ]
    note = "Checked: every token is compared with its colour set. The experiments run unchecked, the tests checked."
    table = Table(["option", "checked", "firings", "seconds", "firings/s", "messages/s"], lines, note)
    report.hand_over(result, "Petri net kernel: the whole net of the paper", [table, report.claims(holds)], args)


if __name__ == "__main__":
    report.entry(main)
