"""A plan beside the simulator."""

from rockdove.capacity.interval import interval
from rockdove.capacity.plan.load import Load
from rockdove.capacity.plan.planner import Check, Figure, Plan, Target
from rockdove.capacity.vma.compiled import replicate

# Independent runs, and messages in each after the warm-up.
_RUNS = 20
_MESSAGES = 20_000
# Of each run, before it counts.
_WARM_UP = 0.1
# How far the simulated mean may be from the predicted one, as a share of it.
_CLOSE = 0.05


def check(load: Load, plan: Plan, seed: int) -> Check:
    """The mean delivery time of independent runs, all from one seed."""
    duration_s = _length_s(load, plan) / (1 - _WARM_UP)
    scenario = load.scenario(plan.n1, plan.n2, duration_s, duration_s * _WARM_UP)
    found = interval([run.delivery_s for run in replicate(scenario, _RUNS, seed)])
    return Check(found.mean, found.ci95)


def confirms(found: Check, plan: Plan, target: Target | None) -> bool:
    """Whether the simulation leaves the plan standing: its mean is as predicted, and not surely over the target."""
    close = abs(found.mean_s - plan.mean_s) <= max(found.ci95, _CLOSE * plan.mean_s)
    if target is None or target.figure is not Figure.MEAN:
        return close
    return close and found.mean_s - found.ci95 <= target.seconds


def _length_s(load: Load, plan: Plan) -> float:
    """Long beside the time in which a crowd comes and goes, and beside a timeout."""
    network = load.network(plan.n1, plan.n2)
    slowest = max(1 / network.sender.markov.spare, 1 / network.broker.markov.spare)
    return max(_MESSAGES / load.arrival, 200 * slowest, 20 * load.timeout_s)
