"""How delivery times spread, beside what can be said exactly and beside the simulator."""

import numpy as np
import pytest
from scipy.stats import gamma, geom

from rockdove.capacity.analytic.network import Network
from rockdove.capacity.analytic.spread import percentiles_s
from rockdove.capacity.error import InvalidScenario
from rockdove.capacity.vma.compiled import deliveries
from rockdove.capacity.vma.scenario import Scenario

SHARES = [0.5, 0.95, 0.99]


def scenario(n: int, q: float, **more: float) -> Scenario:
    given = {"arrival": 30.3, "sender_rate": 10, "broker_rate": 10, "n1": n, "n2": n, "q": q, "link_s": 0.02, **more}
    return Scenario(**given)  # type: ignore[arg-type]


def test_without_waits_and_loss_it_is_two_services_and_two_links() -> None:
    network = Network(scenario(200, 1.0))
    assert percentiles_s(network, SHARES) == pytest.approx(gamma.ppf(SHARES, 2, scale=0.1) + 0.04, rel=1e-3)


def test_threads_that_are_hardly_ever_all_busy_let_nobody_wait() -> None:
    network = Network(scenario(2_000, 0.999999))
    assert percentiles_s(network, SHARES) == pytest.approx(gamma.ppf(SHARES, 2, scale=0.1) + 0.04, rel=1e-3)


def test_constant_times_are_a_step() -> None:
    network = Network(scenario(200, 1.0, sender_scv=0.0, broker_scv=0.0))
    assert percentiles_s(network, SHARES) == pytest.approx([0.24] * 3, rel=1e-3)


def test_what_was_lost_is_beyond_the_timeout() -> None:
    middle, most, nearly_all = percentiles_s(Network(scenario(10, 0.92, timeout_s=30.0)), SHARES)
    assert middle < 1
    assert 30 < most < 31
    assert 30 < nearly_all < 31


@pytest.mark.parametrize("timeout_s", [3600.0, 43200.0])
def test_a_long_timeout_is_only_for_what_was_lost(timeout_s: float) -> None:
    short = percentiles_s(Network(scenario(5, 0.98, timeout_s=30.0)), SHARES)
    long = percentiles_s(Network(scenario(5, 0.98, timeout_s=timeout_s)), SHARES)
    assert long[:2] == pytest.approx(short[:2], rel=1e-3)
    assert long[2] - timeout_s == pytest.approx(short[2] - 30, rel=1e-3)


def test_a_share_that_only_a_loss_reaches_is_behind_the_timeout() -> None:
    assert 30 < percentiles_s(Network(scenario(5, 0.99, timeout_s=30.0)), [0.99])[0] < 30.2
    middle, most = percentiles_s(Network(scenario(9, 0.5, timeout_s=30.0)), [0.5, 0.75])
    assert (int(middle), int(most)) == (30, 60)


def test_many_losses_take_a_geometric_number_of_timeouts() -> None:
    found = percentiles_s(Network(scenario(400, 0.01, timeout_s=43200.0)), SHARES)
    assert found == pytest.approx((geom.ppf(SHARES, 0.01) - 1) * 43200, rel=2e-2)
    with pytest.raises(InvalidScenario, match=r"q must be 0\.01 or more for percentiles, not 0\.005"):
        percentiles_s(Network(scenario(800, 0.005)), SHARES)


@pytest.mark.parametrize(
    ("n", "q", "more", "off"),
    [
        (5, 0.99, {}, 0.03),
        (4, 0.88, {}, 0.03),
        (7, 0.88, {"timeout_s": 1.0}, 0.03),
        (20, 0.2, {"timeout_s": 0.5}, 0.03),
        (5, 0.88, {"sender_scv": 0.25, "broker_scv": 0.25}, 0.05),
        (5, 0.88, {"sender_scv": 4.0, "broker_scv": 4.0}, 0.07),
    ],
)
def test_beside_the_simulator(n: int, q: float, more: dict[str, float], off: float) -> None:
    given = scenario(n, q, duration_s=12_000, warm_up_s=100, **more)
    times = deliveries(given, 1, 400_000)
    network = Network(given)
    assert times.mean() == pytest.approx(network.delivery_s, rel=off)
    assert np.quantile(times, SHARES) == pytest.approx(percentiles_s(network, SHARES), rel=off)
