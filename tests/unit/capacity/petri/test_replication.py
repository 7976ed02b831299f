"""Replications: independent, the same for the same seed, and right on average."""

import pytest

from rockdove.capacity.error import InvalidScenario
from rockdove.capacity.petri import (
    REAL,
    UNIT,
    Average,
    Breakpoint,
    Collector,
    ColourMismatch,
    Count,
    Monitor,
    Net,
    replicate,
    timed,
)
from rockdove.capacity.petri.replication import seeds


def renewal() -> Net:
    """One machine that works for 1 and rests for an exponential time of mean 3."""
    net = Net("Renewal")
    net.place("Rests", timed(UNIT), "unit")
    net.place("Works", timed(UNIT))
    net.place("Idle", timed(REAL))
    net.transition("Start", {"Rests": "unit"}, {"Works": "unit @+ 1"})
    net.transition("Stop", {"Works": "unit"}, {"Rests": "unit @+ rest"}, code="rest = exponential(1 / 3)")
    return net


MONITORS: list[Monitor] = [
    Average("busy", "Works"),
    Collector("rest", "Stop", "rest"),
    Count("starts", "Start"),
    Breakpoint("b", at=900),
]


def test_means_over_runs() -> None:
    found = replicate(renewal(), MONITORS, until=2000, warm_up=100, replications=12, seed=2)
    assert 0.25 in found.interval("busy")
    assert 3 in found.interval("rest")
    # One in four units of time, and the breakpoint ends each run 800 after the warm-up.
    assert 200 in found.interval("starts")
    assert set(found.found) == {"busy", "rest", "starts"}
    assert found.interval("busy").ci95 < 0.02


def test_the_same_seed_gives_the_same_and_another_does_not() -> None:
    runs = [replicate(renewal(), MONITORS, until=100, replications=3, seed=seed).found for seed in (1, 1, 2)]
    assert runs[0] == runs[1] != runs[2]
    assert len(set(runs[0]["rest"])) == 3
    assert len({*seeds(1, 100), *seeds(2, 100)}) == 200
    assert seeds(1, 5) == seeds(1, 9)[:5]


def test_runs_that_say_nothing() -> None:
    with pytest.raises(InvalidScenario, match="replications must be a whole number of 1 or more, not 0"):
        replicate(renewal(), MONITORS, until=100, replications=0)
    with pytest.raises(InvalidScenario, match="warm_up must be 0 or more and before 100, where a run ends, not 100"):
        replicate(renewal(), MONITORS, until=100, warm_up=100)


@pytest.mark.parametrize(
    ("end", "when"),
    [
        (Breakpoint("b", at=40), "40"),
        (Breakpoint("b", at=50), "50"),
        (Breakpoint("b", "Start", when="now == 0"), "0"),
    ],
)
def test_a_breakpoint_in_the_warm_up_is_refused(end: Breakpoint, when: str) -> None:
    with pytest.raises(InvalidScenario, match=f"warm_up must be before the breakpoint at {when}, not 50"):
        replicate(renewal(), [Count("starts", "Start"), end], until=100, warm_up=50)


def test_colours_are_looked_at_in_the_first_run() -> None:
    net = renewal()
    net.transition("Break", {"Works": "unit"}, {"Idle": "str(now)"})
    with pytest.raises(ColourMismatch, match="arc to Idle"):
        replicate(net, [], until=100)
