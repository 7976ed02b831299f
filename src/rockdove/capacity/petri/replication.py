"""Independent runs of one net, and what they say together."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np

from rockdove.capacity.error import InvalidScenario, require_whole
from rockdove.capacity.interval import Interval, interval
from rockdove.capacity.petri.flat import flatten
from rockdove.capacity.petri.monitor import Average, Breakpoint, Collector, Count, Monitor
from rockdove.capacity.petri.net import Net
from rockdove.capacity.petri.simulator import Simulator

Seed = int | np.random.SeedSequence


@dataclass(frozen=True)
class Replications:
    """What each run found, by monitor: the mean of a `Collector` or an `Average`, the number of a `Count`."""

    found: dict[str, list[float]]

    def interval(self, monitor: str) -> Interval:
        """The mean over all runs, and its 95 % confidence interval."""
        return interval(self.found[monitor])


def seeds(seed: Seed, number: int) -> list[int]:
    """Seeds of streams that are independent of each other, and the same for the same seed."""
    root = seed if isinstance(seed, np.random.SeedSequence) else np.random.SeedSequence(seed)
    return [plain_seed(child) for child in root.spawn(number)]


def plain_seed(seed: Seed) -> int:
    """A seed for Python's own generator, with all the bits of numpy's."""
    root = seed if isinstance(seed, np.random.SeedSequence) else np.random.SeedSequence(seed)
    return int.from_bytes(root.generate_state(4).tobytes(), "little")


def replicate(
    net: Net,
    monitors: Sequence[Monitor],
    *,
    until: float,
    warm_up: float = 0,
    replications: int = 20,
    seed: Seed = 0,
) -> Replications:
    """Run a net several times up to a time, or to a breakpoint before it; what happens in the warm-up does not count.

    The first run compares every token with its colour set, the others trust it.

    Raises `NetError`, and `InvalidScenario` for no runs or a warm-up that they end in.
    """
    require_whole(replications=replications)
    if not 0 <= warm_up < until:
        raise InvalidScenario(f"must be 0 or more and before {until:g}, where a run ends, not {warm_up:g}", "warm_up")
    flat = flatten(net)
    found: dict[str, list[float]] = {}
    for number, each in enumerate(seeds(seed, replications)):
        run = Simulator(flat, seed=each, monitors=monitors, check=number == 0)
        if warm_up:
            run.run(warm_up)
            if run.is_at_breakpoint:
                raise InvalidScenario(f"must be before the breakpoint at {run.now:g}, not {warm_up:g}", "warm_up")
            run.restart_monitors()
        run.run(until)
        for monitor in monitors:
            if not isinstance(monitor, Breakpoint):
                found.setdefault(monitor.name, []).append(_found(run, monitor))
    return Replications(found)


def _found(run: Simulator, monitor: Collector | Average | Count) -> float:
    match monitor:
        case Collector():
            return run.sample(monitor.name).mean
        case Average():
            return run.mean(monitor.name)
        case Count():
            return run.tally(monitor.name).count
