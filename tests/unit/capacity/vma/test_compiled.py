"""The compiled simulator: what it must give by theory, by hand, and by its seed."""

import math
from typing import Any

import numpy as np
import pytest

from rockdove.capacity.analytic.network import Network
from rockdove.capacity.interval import interval
from rockdove.capacity.vma.compiled import deliveries, replicate, simulate
from rockdove.capacity.vma.scenario import METRICS, Option, Scenario

LONG: dict[str, Any] = {"duration_s": 6_000.0, "warm_up_s": 50.0}


def scenario(n1: int = 5, n2: int = 5, q: float = 0.99, option: Option = Option.OUT_OF_ORDER, **more: Any) -> Scenario:
    given = {"arrival": 30.3, "sender_rate": 10, "broker_rate": 10, "link_s": 0.02, **more}
    return Scenario(n1=n1, n2=n2, q=q, option=option, **given)


def test_a_seed_is_a_run() -> None:
    assert simulate(scenario(), 7) == simulate(scenario(), 7)
    assert simulate(scenario(), 7) != simulate(scenario(), 8)
    assert simulate(scenario(), np.random.SeedSequence(7)) == simulate(scenario(), 7)


def test_replications_are_independent_and_the_same_again() -> None:
    runs = replicate(scenario(), 3, 1)
    assert runs == replicate(scenario(), 3, 1)
    assert len({run.delivery_s for run in runs}) == 3


@pytest.mark.parametrize(("n", "q"), [(1, 1.0), (5, 0.99), (7, 0.88)])
def test_out_of_order_is_the_analytic_model(n: int, q: float) -> None:
    arrival = 5.0 if n == 1 else 30.3
    given = scenario(n, n, q, arrival=arrival, **LONG)
    network, runs = Network(given), replicate(given, 8, 1)
    expected = {
        "delivery_s": network.delivery_s,
        "waiting": network.waiting,
        "busy_sender": network.sender.utilisation,
        "busy_broker": network.broker.utilisation,
        "active_sender": 1 - network.sender.markov.length_probabilities(0)[0],
        "active_broker": 1 - network.broker.markov.length_probabilities(0)[0],
    }
    assert set(expected) == set(METRICS)
    for name, value in expected.items():
        found = interval([getattr(run, name) for run in runs])
        # One experiment in twenty is off by more than its interval, and there are eighteen here.
        assert found.mean == pytest.approx(value, abs=2 * found.ci95), name
        assert found.ci95 < 0.1 * value


@pytest.mark.parametrize("n", [4, 7, 10])
@pytest.mark.parametrize("q", [0.99, 0.88])
def test_in_order_is_half_as_slow_again(n: int, q: float) -> None:
    free = simulate(scenario(n, n, q, **LONG), 1)
    ordered = simulate(scenario(n, n, q, Option.IN_ORDER, **LONG), 1)
    assert 1.35 < ordered.delivery_s / free.delivery_s < 1.60
    assert ordered.busy_broker == pytest.approx(free.busy_broker, rel=0.03)
    assert ordered.active_broker < free.active_broker


def test_in_order_with_seven_threads_takes_a_third_of_a_second() -> None:
    assert simulate(scenario(7, 7, 0.99, Option.IN_ORDER, **LONG), 1).delivery_s == pytest.approx(0.36, abs=0.005)


def test_with_one_sender_there_is_nothing_to_hold() -> None:
    given: dict[str, Any] = {"arrival": 5.0, **LONG}
    ordered = simulate(scenario(1, 3, 0.9, Option.IN_ORDER, **given), 1)
    assert ordered == simulate(scenario(1, 3, 0.9, Option.OUT_OF_ORDER, **given), 1)


def test_a_loss_costs_the_timeout() -> None:
    # Nothing waits, services are constant: 0.1 + 0.02, then for each loss the timeout, then 0.1 + 0.02.
    given = scenario(50, 50, 0.5, arrival=1.0, sender_scv=0.0, broker_scv=0.0, timeout_s=3.0, duration_s=2000.0)
    found = deliveries(given, 1, 10_000)
    losses = (found - 0.24) / 3
    assert losses == pytest.approx(np.round(losses), abs=1e-9)
    assert losses.mean() == pytest.approx(1, abs=0.1)


def test_a_timeout_shorter_than_the_attempt_changes_nothing() -> None:
    given: dict[str, Any] = {"sender_scv": 0.0, "broker_scv": 0.0}
    assert simulate(scenario(q=0.5, n2=8, timeout_s=0.11, **given), 1) == simulate(scenario(q=0.5, n2=8, **given), 1)


def test_gamma_service_times_have_the_mean_and_variability_that_they_should() -> None:
    for scv in (0.25, 0.5, 3.0):
        given = scenario(500, 1, 1.0, broker_rate=1e9, link_s=0.0, sender_scv=scv, duration_s=4000.0)
        times = deliveries(given, 1, 100_000)
        assert times.mean() == pytest.approx(0.1, rel=0.02)
        assert times.var() / times.mean() ** 2 == pytest.approx(scv, rel=0.05)


def test_more_messages_than_there_is_room_for_at_first() -> None:
    # It is not stable: at the end, thousands wait.
    for option in Option:
        found = simulate(scenario(3, 2, 0.9, option, duration_s=1000.0), 1)
        assert found.waiting > 5000
        assert found.busy_broker == pytest.approx(1, abs=0.01)
        assert found.delivered == pytest.approx(2 * 10 * 0.9 * 1000, rel=0.02)


def test_the_start_counts_unless_it_is_warm_up() -> None:
    cold = interval([run.waiting for run in replicate(scenario(4, 4, duration_s=4.0), 200, 1)])
    warm = interval([run.waiting for run in replicate(scenario(4, 4, duration_s=54.0, warm_up_s=50.0), 200, 1)])
    assert cold.high < warm.low


def test_nothing_delivered_is_no_number() -> None:
    found = simulate(scenario(arrival=1e-6, duration_s=1.0), 1)
    assert found.delivered == 0
    assert math.isnan(found.delivery_s)
