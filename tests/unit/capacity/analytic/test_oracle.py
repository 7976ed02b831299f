"""Our formulas beside Ciw, a simulator of queueing networks that others wrote, with a fixed seed."""

from collections.abc import Sequence
from typing import Any

import ciw
import numpy as np
import pytest

from rockdove.capacity.analytic.ggn import GGn
from rockdove.capacity.analytic.mmn import MMn
from rockdove.capacity.analytic.network import Network
from rockdove.capacity.analytic.priority import class_waits_s
from rockdove.capacity.vma.scenario import Scenario

# Seconds of the model that are run, and those at the start that do not count.
LENGTH, WARM_UP = 700, 20


def records(seed: int = 1, **network: Any) -> list[Any]:
    ciw.seed(seed)
    simulation = ciw.Simulation(ciw.create_network(**network))
    simulation.simulate_until_max_time(LENGTH)
    return [record for record in simulation.get_all_records() if record.arrival_date > WARM_UP]


def station(service: Any, threads: int, arrival: float = 30.3) -> list[Any]:
    return records(
        arrival_distributions=[ciw.dists.Exponential(arrival)],
        service_distributions=[service],
        number_of_servers=[threads],
    )


def waits(found: Sequence[Any]) -> Any:
    return np.asarray([record.waiting_time for record in found])


@pytest.mark.parametrize("threads", [4, 5])
def test_mmn(threads: int) -> None:
    found, queue = station(ciw.dists.Exponential(10), threads), MMn(30.3, 10, threads)
    waited = waits(found)
    stayed = waited + [record.service_time for record in found]
    assert waited.mean() == pytest.approx(queue.mean_wait_s, rel=0.08)
    assert (waited > 0).mean() == pytest.approx(queue.delay_probability, rel=0.04)
    assert np.quantile(waited, 0.99) == pytest.approx(queue.wait_percentile_s(0.99), rel=0.1)
    assert np.quantile(stayed, 0.99) == pytest.approx(queue.sojourn_percentile_s(0.99), rel=0.06)


def test_erlang_service_times() -> None:
    waited = waits(station(ciw.dists.Erlang(40, 4), 4))
    assert waited.mean() == pytest.approx(GGn(30.3, 10, 4, service_scv=0.25).mean_wait_s, rel=0.08)


def test_the_network_with_what_is_lost() -> None:
    found = records(
        arrival_distributions=[ciw.dists.Exponential(30.3), None],
        service_distributions=[ciw.dists.Exponential(10), ciw.dists.Exponential(10)],
        routing=[[0.0, 1.0], [0.0, 0.12]],
        number_of_servers=[5, 5],
    )
    network = Network(Scenario(arrival=30.3, sender_rate=10, broker_rate=10, n1=5, n2=5, q=0.88))
    arrived = sum(record.node == 1 for record in found)
    stayed = sum(record.waiting_time + record.service_time for record in found)
    assert stayed / arrived == pytest.approx(network.sojourn_s, rel=0.03)


def test_classes_of_messages() -> None:
    found = records(
        arrival_distributions={name: [ciw.dists.Exponential(rate)] for name, rate in (("first", 10.0), ("rest", 20.3))},
        service_distributions={name: [ciw.dists.Exponential(10)] for name in ("first", "rest")},
        priority_classes={"first": 0, "rest": 1},
        number_of_servers=[4],
    )
    measured = [waits([r for r in found if r.customer_class == name]).mean() for name in ("first", "rest")]
    assert measured == pytest.approx(class_waits_s([10, 20.3], 10, 4), rel=0.1)
