"""A plan beside the simulator."""

from collections.abc import Callable, Sequence
from enum import Enum

import numpy as np
from msgspec.structs import replace

from rockdove.capacity.error import CapacityError
from rockdove.capacity.interval import interval
from rockdove.capacity.plan.load import Load
from rockdove.capacity.plan.planner import Check, Figure, Plan, Target
from rockdove.capacity.vma.compiled import simulate
from rockdove.capacity.vma.scenario import Measure

# Independent runs, fewer if they are long, and messages in each after the warm-up.
_RUNS = 20
_FEWEST_RUNS = 5
_MESSAGES = 20_000
# In all runs together: less than a minute of work.
_MOST_MESSAGES = 20_000_000
# Of each run, before it counts.
_WARM_UP = 0.1
# How far the simulated mean may be from the predicted one, as a share of it.
_CLOSE = 0.05

# Told after each run: what all so far have given, and how many there will be.
Watcher = Callable[[Sequence[Measure], int], None]


class Verdict(Enum):
    """What a simulation says to a plan."""

    CONFIRMED = "confirmed"
    # Confirmed, and the prediction was too high.
    PESSIMISTIC = "pessimistic"
    CONTRADICTED = "contradicted"


class TooLong(CapacityError):
    """A simulation that would say something takes more messages than we simulate."""


def check(load: Load, plan: Plan, seed: int, watcher: Watcher = lambda measures, runs: None) -> Check:
    """The mean delivery time of independent runs, all from one seed. Raises `TooLong`."""
    duration_s = _length_s(load, plan) / (1 - _WARM_UP)
    scenario = load.scenario(plan.n1, plan.n2, duration_s, duration_s * _WARM_UP)
    runs = _runs(load.arrival * duration_s)
    measures: list[Measure] = []
    for child in np.random.SeedSequence(seed).spawn(runs):
        measures.append(simulate(scenario, child))
        watcher(measures, runs)
    found = interval([run.delivery_s for run in measures])
    return Check(found.mean, found.ci95)


def judge(found: Check, load: Load, plan: Plan, target: Target | None) -> Verdict:
    """A plan stands if it surely does not miss its target of the mean, or, without one, the mean that was predicted.

    The simulation has Poisson arrivals: where the load has others, it stands for what is predicted for those.
    """
    expected_s = plan.mean_s
    if load.arrival_scv != 1:
        expected_s, target = replace(load, arrival_scv=1.0).network(plan.n1, plan.n2).delivery_s, None
    off_s = max(found.ci95, _CLOSE * expected_s)
    if target is not None and target.figure is Figure.MEAN and plan.feasible:
        stands = found.mean_s - found.ci95 <= target.seconds
    else:
        stands = found.mean_s - off_s <= expected_s
    if not stands:
        return Verdict.CONTRADICTED
    return Verdict.PESSIMISTIC if found.mean_s + off_s < expected_s else Verdict.CONFIRMED


def _runs(messages: float) -> int:
    """As many as we have the time for."""
    if messages * _FEWEST_RUNS > _MOST_MESSAGES:
        raise TooLong(
            f"the plan is not checked: {_FEWEST_RUNS} runs that are long beside the timeout would be of "
            f"{messages * _FEWEST_RUNS:.3g} messages, and {_MOST_MESSAGES:,} are the most; check it with a shorter "
            "timeout"
        )
    return min(_RUNS, int(_MOST_MESSAGES / messages))


def _length_s(load: Load, plan: Plan) -> float:
    """Long beside the time in which a crowd comes and goes, and beside a timeout."""
    network = load.network(plan.n1, plan.n2)
    slowest = max(1 / network.sender.markov.spare, 1 / network.broker.markov.spare)
    return max(_MESSAGES / load.arrival, 200 * slowest, 20 * load.timeout_s)
