"""Thousands of receives that are held, by policy: what they cost; run as `python -m bench.held`."""

from __future__ import annotations

import argparse
import tempfile
from pathlib import Path

import msgspec

from bench import idle, report
from bench.machine import command, machine, scratch
from bench.report import Report, Table
from bench.server import rockdove

POLLS = 5_000
PHYSICAL = 10
# Those that hold a request; conventional replies at once.
POLICIES = ("wake", "rds", "pms")
# Of a core, at most: held until something comes, and with so many looks as there are in a second.
MOST_WOKEN, MOST_LOOKING = 0.02, 0.25


class Result(msgspec.Struct, frozen=True):
    """A policy, the sleep of rds or the time between two looks of pms, and what held requests cost."""

    policy: str
    every_ms: int | None
    polls: idle.Polls


def measure(base: Path, policy: str, every_ms: int | None, polls: int) -> Result:
    attributes = {"RockdoveDequeuePolicy": policy, "RockdovePhysicalQueues": str(PHYSICAL)}
    if every_ms is not None:
        attributes["RockdoveRetrySleepMs" if policy == "rds" else "RockdoveMonitorMs"] = str(every_ms)
    with tempfile.TemporaryDirectory(dir=base) as folder, rockdove(Path(folder), flags=["--workers", "0"]) as server:
        return Result(policy, every_ms, idle.long_polls(server, polls, "held", attributes))


def main() -> None:
    args = arguments()
    base, results = scratch(args.data), []
    for policy in POLICIES:
        for every_ms in (None,) if policy == "wake" else args.every_ms:
            report.progress(f"{args.polls:,} receives held by {policy}{'' if every_ms is None else f', {every_ms} ms'}")
            results.append(measure(base, policy, every_ms, args.polls))
    slowest = max(args.every_ms)
    looking = [each for each in results if each.every_ms == slowest]
    holds = {
        f"{args.polls:,} receives held by wake take less than {MOST_WOKEN:.0%} of a core": all(
            each.polls.cpu_share < MOST_WOKEN for each in results if each.every_ms is None
        ),
        f"those that look every {slowest} ms take less than {MOST_LOOKING:.0%}": all(
            each.polls.cpu_share < MOST_LOOKING for each in looking
        ),
    }
    result = Report("held", machine(base), command(), [*results], {}, holds)
    tables = [Table(HEAD, [_cells(each) for each in results], NOTE), report.claims(holds)]
    report.hand_over(result, "Receives that are held", tables, args)


HEAD = ["policy", "every ms", "receives held", "share of a core", "bytes for each", "answered after ms"]
NOTE = (
    f"An empty queue of {PHYSICAL} physical ones on SQLite, one process. `every ms` is the sleep of rds, and the time "
    "between two looks of pms. The share is that of the service over ten seconds. The last column is the time from a "
    "send to the answer that it causes."
)


def _cells(each: Result) -> list[str]:
    polls = each.polls
    return [
        each.policy,
        "" if each.every_ms is None else str(each.every_ms),
        f"{polls.polls:,}",
        f"{polls.cpu_share:.2%}",
        f"{polls.resident_bytes_per_poll:,.0f}",
        f"{polls.wake_ms:.1f}",
    ]


def arguments() -> argparse.Namespace:
    parser = report.options("What do thousands of receives cost that find nothing and are held?")
    parser.add_argument("--polls", type=int, default=POLLS, metavar="N")
    parser.add_argument("--every-ms", type=int, nargs="*", default=[100, 500], metavar="MS")
    return parser.parse_args()


if __name__ == "__main__":
    report.entry(main)
