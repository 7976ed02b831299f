"""The Petri net engine: a run of the paper's net, and what its monitors measured."""

import numpy as np

from rockdove.capacity.petri import Simulator
from rockdove.capacity.petri.replication import Seed, plain_seed
from rockdove.capacity.vma.net import layer_1
from rockdove.capacity.vma.net.colour import SECOND
from rockdove.capacity.vma.net.monitor import measuring
from rockdove.capacity.vma.scenario import Measure, Scenario


def simulate(scenario: Scenario, seed: Seed) -> Measure:
    """One run; the same seed gives the same run."""
    run = Simulator(layer_1(scenario), seed=plain_seed(seed), monitors=measuring(scenario), check=False)
    if scenario.warm_up_s:
        run.run(round(scenario.warm_up_s * SECOND))
        run.restart_monitors()
    run.run()
    return measure(scenario, run)


def replicate(scenario: Scenario, replications: int, seed: Seed) -> list[Measure]:
    """Runs that are independent of each other, by streams spawned from one seed."""
    root = seed if isinstance(seed, np.random.SeedSequence) else np.random.SeedSequence(seed)
    return [simulate(scenario, child) for child in root.spawn(replications)]


def measure(scenario: Scenario, run: Simulator) -> Measure:
    """What the monitors of `rockdove.capacity.vma.net.monitor.measuring` say by now."""
    latency = run.sample("Msg_Delivery_Latency")
    return Measure(
        delivery_s=latency.mean / SECOND,
        waiting=run.mean("Sender_Waiting") + run.mean("Queue_Length") - run.mean("Invisible_Length"),
        busy_sender=run.mean("Sender_Busy") / scenario.n1,
        busy_broker=run.mean("Broker_Busy") / scenario.n2,
        active_sender=run.mean("Sender_Active"),
        active_broker=run.mean("Broker_Active"),
        delivered=latency.count,
    )
