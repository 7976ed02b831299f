"""`make bench`: our server with SQLite and fsync on, beside the floor, in one run; run as `python -m bench.run`."""

from __future__ import annotations

import argparse
import tempfile
from pathlib import Path
from typing import Any

import msgspec

from bench import process, report
from bench.contest import LEGEND, Entry, Row, contest, options, plan, ratio, table
from bench.footprint import Footprint, footprint
from bench.idle import Polls, long_polls
from bench.load import LOADS, RECEIVE, RECEIVE10, SEND, SEND10, SIGNED, TRACED, Load
from bench.machine import Machine, command, machine, scratch
from bench.report import Report, Table, yes
from bench.server import floor, guarded, rockdove, traced


class Aim(msgspec.Struct, frozen=True):
    """Our rate in `load` is to be at least `share` of that of `of` in `against`."""

    load: Load
    against: Load
    share: float
    of: str = "floor"

    @property
    def measure(self) -> str:
        return f"the {self.of}'s {self.against.title}" if self.of == "floor" else f"our {self.against.title}"

    @property
    def claim(self) -> str:
        return f"{self.load.title} >= {self.share} of {self.measure}"


AIMS = (
    Aim(SEND, SEND, 0.45),
    Aim(SEND10, SEND10, 0.45),
    Aim(RECEIVE, SEND, 0.45),
    Aim(RECEIVE10, SEND, 0.12),
    Aim(SIGNED, SEND, 0.8, of="rockdove"),
    Aim(TRACED, SEND, 0.9, of="rockdove"),
)

# An idle server with this many long polls open is to use less than this share of a core.
POLLS, POLLS_SHARE = 5_000, 0.02

IDLE_S = 10.0
FOOTPRINT_MESSAGES = 200_000


class Idle(msgspec.Struct, frozen=True):
    cpu_share: float
    seconds: float
    polls: Polls


def loads(folder: Path, args: argparse.Namespace) -> tuple[list[Row], Idle]:
    with floor(folder) as bare, rockdove(folder) as ours, guarded(folder) as signed, traced(folder) as recorded:
        entries = []
        for load in LOADS:
            if not load.takes:
                entries.append(Entry(bare, load, args.rounds))
            entries.append(Entry(ours, load, args.rounds))
            if load is SEND:
                # Right after what it is compared with.
                entries.append(Entry(recorded, TRACED, args.rounds))
                entries.append(Entry(signed, SIGNED, args.rounds))
        rows = contest(entries, plan(args))
        report.progress("idle, then with long polls")
        process.settle(ours.pid)
        return rows, Idle(process.cpu_share(ours.pid, IDLE_S), IDLE_S, long_polls(ours, POLLS))


def message_cost(folder: Path) -> Footprint:
    report.progress(f"memory and disk for {FOOTPRINT_MESSAGES:,} messages, on a new server")
    with rockdove(folder) as ours:
        return footprint(ours, FOOTPRINT_MESSAGES)


def judge(rows: list[Row], idle: Idle) -> tuple[dict[str, float], dict[str, bool]]:
    ratios = {aim.claim: ratio(rows, ("rockdove", aim.load), (aim.of, aim.against)) for aim in AIMS}
    holds = {aim.claim: ratios[aim.claim] >= aim.share for aim in AIMS}
    holds[f"idle with {POLLS:,} long polls under {POLLS_SHARE:.0%} of a core"] = idle.polls.cpu_share < POLLS_SHARE
    return ratios, holds


def speed_table(rows: list[Row], ratios: dict[str, float], holds: dict[str, bool]) -> Table:
    shares, aims = {}, {}
    for aim in AIMS:
        row = next(row for row in rows if (row.server, row.load) == ("rockdove", aim.load.name))
        shares[row] = f"{ratios[aim.claim]:.3f} of {aim.measure}"
        aims[row] = f">= {aim.share}: {yes(holds[aim.claim])}"
    return table(rows, (*LOADS, TRACED, SIGNED), {"share": shares, "aim": aims}, LEGEND)


def rest_table(idle: Idle, cost: Footprint) -> Table:
    polls = idle.polls
    poll_kb, mb = polls.resident_bytes_per_poll / 1e3, 1e6
    rows = [
        [f"CPU of an idle server, over {idle.seconds:.0f} s", f"{idle.cpu_share:.2%} of a core"],
        [f"CPU with {polls.polls:,} long polls open, over {polls.window_s:.0f} s", f"{polls.cpu_share:.2%} of a core"],
        ["memory per open long poll", f"{poll_kb:.1f} kB"],
        [f"from a send to the reply that it wakes, {polls.polls:,} polls open", f"{polls.wake_ms:.1f} ms"],
        [f"resident before {cost.messages:,} messages of 1 KB", f"{cost.resident_before / mb:.1f} MB"],
        ["resident after", f"{cost.resident_after / mb:.1f} MB"],
        ["memory per queued message", f"{cost.resident_per_message:.0f} bytes"],
        ["of the second half of them", f"{cost.resident_per_message_later:.0f} bytes"],
        ["disk per queued message", f"{cost.disk_per_message:.0f} bytes"],
    ]
    return Table(["at rest", "measured"], rows)


def arguments() -> argparse.Namespace:
    return options("Speed of the service beside a floor that stores nothing.").parse_args()


def main() -> None:
    args = arguments()
    base = scratch(args.data)
    about: Machine = machine(base)
    with tempfile.TemporaryDirectory(dir=base) as folder:
        rows, idle = loads(Path(folder) / "loads", args)
        cost = message_cost(Path(folder) / "footprint")
    ratios, holds = judge(rows, idle)
    everything: list[Any] = [*rows, idle, cost]
    result = Report("speed", about, command(), everything, ratios, holds)
    tables = [speed_table(rows, ratios, holds), rest_table(idle, cost), report.claims(holds)]
    report.hand_over(result, "Speed: rockdove (SQLite, fsync on) beside the floor", tables, args)


if __name__ == "__main__":
    report.entry(main)
