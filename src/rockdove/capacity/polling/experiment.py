"""The paper's figures 9 to 12: which systems are simulated, and what is shown of them."""

from collections.abc import Sequence
from enum import StrEnum
from typing import Final

from msgspec import Struct

from rockdove.capacity.polling.setup import Setup
from rockdove.core.dequeue import PolicyName

RATES: Final = (10.0, 20.0, 30.0, 50.0, 75.0, 100.0, 150.0, 200.0)
SLEEPS_S: Final = (0.1, 0.2, 0.5, 1.0, 2.0, 3.0, 5.0, 7.0, 10.0, 15.0, 20.0)
# The sleep of RDS in figures 9 to 11, and the requests of a consumer in figure 12.
SLEEP_S: Final = 5.0
RATE: Final = 100.0


class PollingFigure(StrEnum):
    """The figures of the paper's simulation."""

    RDS9 = "rds9"
    RDS10 = "rds10"
    RDS11 = "rds11"
    RDS12 = "rds12"


# What each figure shows of a run; see `rockdove.capacity.polling.simulator.Outcome`.
SHOWN: Final = {
    PollingFigure.RDS9: "throughput",
    PollingFigure.RDS10: "hit_rate",
    PollingFigure.RDS11: "messages_per_hit",
    PollingFigure.RDS12: "throughput",
}


def setups(figure: PollingFigure, duration_s: float) -> list[Setup]:
    """The systems of a figure. Those of figures 9, 10 and 11 are the same."""
    if figure is not PollingFigure.RDS12:
        return [_setup(policy, rate, duration_s) for policy in PolicyName for rate in RATES]
    others = [_setup(policy, RATE, duration_s) for policy in PolicyName if policy is not PolicyName.RDS]
    return [*others, *(_setup(PolicyName.RDS, RATE, duration_s, sleep_s) for sleep_s in SLEEPS_S)]


def _setup(policy: PolicyName, rate: float, duration_s: float, sleep_s: float = SLEEP_S) -> Setup:
    """Policies that never sleep for a set time have a sleep of 0."""
    sleeps = policy is PolicyName.RDS
    return Setup(policy=policy, rate=rate, sleep_s=sleep_s if sleeps else 0.0, duration_s=duration_s)


class PollingRow(Struct, frozen=True, kw_only=True):
    """One system in a figure: means over its runs; `ci95` is of what the figure shows, and null with a single run."""

    figure: str
    policy: str
    rate: float
    sleep_s: float
    throughput: float | None
    hit_rate: float | None
    messages_per_hit: float | None
    ci95: float | None


class PollingDrawn(Struct, frozen=True):
    """A figure and all its rows."""

    figure: PollingFigure
    rows: list[PollingRow]


def findings(drawn: PollingDrawn) -> list[str]:
    """What came out of the things that the paper says of a figure, in words."""
    rows = {(row.policy, row.rate): row for row in drawn.rows}
    if drawn.figure is PollingFigure.RDS9:
        ratios = [
            f"{_ratio(rows['pms', rate], rows['conventional', rate])} at {rate:g}/s" for rate in RATES if rate >= RATE
        ]
        return [f"pms / conventional: {', '.join(ratios)} (the paper: a little above 1 from 100/s on)"]
    if drawn.figure is PollingFigure.RDS12:
        best = max((row for row in drawn.rows if row.policy == PolicyName.RDS), key=_throughput)
        return [f"the best sleep of rds: {best.sleep_s:g} s (the paper: 5 s)"]
    return []


def _throughput(row: PollingRow) -> float:
    return row.throughput or 0.0


def _ratio(above: PollingRow, below: PollingRow) -> str:
    return f"{above.throughput / below.throughput:.2f}" if above.throughput and below.throughput else "none"


def distinct(figures: Sequence[PollingFigure], duration_s: float) -> list[Setup]:
    """All systems of the figures, each once."""
    return list(dict.fromkeys(setup for figure in figures for setup in setups(figure, duration_s)))
