"""The compiled simulator: millions of messages a second, for sweeps and checks."""

from typing import Any

import numpy as np

from rockdove.capacity.vma.loop import run
from rockdove.capacity.vma.scenario import Measure, Option, Scenario

Array = np.ndarray[Any, Any]
Seed = int | np.random.SeedSequence


def simulate(scenario: Scenario, seed: Seed) -> Measure:
    """One run; the same seed gives the same run."""
    return _run(scenario, seed, np.empty(0))


def deliveries(scenario: Scenario, seed: Seed, most: int) -> Array:
    """Delivery times of the first messages after the warm-up, in the order in which the broker was done with them."""
    room = np.full(most, np.nan)
    measure = _run(scenario, seed, room)
    return room[: min(most, measure.delivered)]


def replicate(scenario: Scenario, replications: int, seed: Seed) -> list[Measure]:
    """Runs that are independent of each other, by streams spawned from one seed."""
    root = seed if isinstance(seed, np.random.SeedSequence) else np.random.SeedSequence(seed)
    return [simulate(scenario, child) for child in root.spawn(replications)]


def _run(scenario: Scenario, seed: Seed, deliveries_s: Array) -> Measure:
    s = scenario
    delivered, spent_s, waiting_s, busy1_s, busy2_s, active1_s, active2_s = run(
        np.random.default_rng(seed),
        float(s.arrival),
        (float(s.sender_rate), float(s.broker_rate)),
        (float(s.sender_scv), float(s.broker_scv)),
        (s.n1, s.n2),
        float(s.q),
        float(s.link_s),
        float(s.timeout_s),
        s.option is Option.IN_ORDER,
        float(s.duration_s),
        float(s.warm_up_s),
        deliveries_s,
    )
    length_s = s.duration_s - s.warm_up_s
    return Measure(
        delivery_s=spent_s / delivered if delivered else float("nan"),
        waiting=waiting_s / length_s,
        busy_sender=busy1_s / length_s / s.n1,
        busy_broker=busy2_s / length_s / s.n2,
        active_sender=active1_s / length_s,
        active_broker=active2_s / length_s,
        delivered=delivered,
    )
