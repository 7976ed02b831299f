"""The paper's network: its check values, the corrected formula, and what the formula leaves out."""

import math

import pytest

from rockdove.capacity.analytic.network import Network
from rockdove.capacity.error import InvalidScenario, Unstable
from rockdove.capacity.vma.scenario import Scenario


def scenario(n: int = 5, q: float = 0.99, **more: float) -> Scenario:
    return Scenario(arrival=30.3, sender_rate=10, broker_rate=10, n1=n, n2=n, q=q, **more)  # type: ignore[arg-type]


@pytest.mark.parametrize(
    ("n", "q", "sojourn_s"),
    [
        (4, 0.99, 0.3124),
        (5, 0.99, 0.2265),
        (6, 0.99, 0.2082),
        (7, 0.99, 0.2031),
        (8, 0.99, 0.2016),
        (10, 0.99, 0.2010),
        (4, 0.88, 0.4124),
        (5, 0.88, 0.2523),
        (6, 0.88, 0.2245),
        (7, 0.88, 0.2169),
        (8, 0.88, 0.2146),
        (10, 0.88, 0.2137),
    ],
)
def test_the_sojourn_times_of_the_papers_experiment(n: int, q: float, sojourn_s: float) -> None:
    assert Network(scenario(n, q)).sojourn_s == pytest.approx(sojourn_s, abs=5e-5)


def test_the_papers_equation_counts_one_retransmission_at_most() -> None:
    network = Network(scenario(q=0.88, link_s=0.02))
    assert network.paper_delivery_s == pytest.approx(network.sojourn_s + 2.12 * 0.02)
    assert network.delivery_s == pytest.approx(network.sojourn_s + (2 + 0.12 / 0.88) * 0.02)


def test_without_loss_both_are_the_same() -> None:
    network = Network(scenario(q=1.0, link_s=0.02))
    assert network.delivery_s == pytest.approx(network.paper_delivery_s)
    assert network.losses == 0


def test_a_lost_message_waits_out_the_rest_of_its_timeout() -> None:
    # E[max(1 - S, 0)] for an exponential service time of 0.1 s.
    network = Network(scenario(q=0.88, timeout_s=1.0))
    assert network.visibility_wait_s == pytest.approx(1 - 0.1 * (1 - math.exp(-10)))
    assert network.delivery_s == pytest.approx(network.sojourn_s + 0.12 / 0.88 * network.visibility_wait_s)


@pytest.mark.parametrize(("scv", "wait_s"), [(0.0, 0.38), (1e-6, 0.38)])
def test_with_constant_service_the_rest_is_what_is_left(scv: float, wait_s: float) -> None:
    network = Network(scenario(link_s=0.02, timeout_s=0.5, broker_scv=scv))
    assert network.visibility_wait_s == pytest.approx(wait_s, abs=1e-4)


def test_a_timeout_that_is_over_before_the_loss_costs_nothing() -> None:
    assert Network(scenario(link_s=0.5, timeout_s=0.4)).visibility_wait_s == 0


def test_loss_alone_can_make_the_broker_unstable() -> None:
    with pytest.raises(Unstable, match=r"the broker's queue is not stable.*threads is 5$"):
        Network(scenario(4, q=0.7))


def test_classes_share_what_all_wait_together() -> None:
    network = Network(scenario(4, q=0.88, link_s=0.02))
    shares = [0.2, 0.5, 0.3]
    times = network.class_delivery_s(shares)
    assert times == sorted(times)
    assert sum(share * time for share, time in zip(shares, times, strict=True)) == pytest.approx(network.delivery_s)


def test_classes_are_all_of_the_messages() -> None:
    with pytest.raises(InvalidScenario, match=r"add up to 1, not 0\.9"):
        Network(scenario()).class_delivery_s([0.4, 0.5])
