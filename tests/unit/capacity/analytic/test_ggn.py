"""G/G/n: where it is exact, and how far it is off elsewhere."""

import pytest

from rockdove.capacity.analytic.ggn import GGn
from rockdove.capacity.analytic.mmn import MMn
from rockdove.capacity.error import InvalidScenario
from rockdove.capacity.vma.compiled import simulate
from rockdove.capacity.vma.scenario import Scenario


@pytest.mark.parametrize("threads", [1, 4, 200])
def test_exponential_times_are_mmn(threads: int) -> None:
    station, exact = GGn(7.5 * threads, 10, threads), MMn(7.5 * threads, 10, threads)
    assert station.mean_wait_s == pytest.approx(exact.mean_wait_s)
    assert station.mean_number == pytest.approx(exact.mean_number)
    assert station.wait_percentile_s(0.99) == pytest.approx(exact.wait_percentile_s(0.99))
    assert station.departure_scv == pytest.approx(1)


@pytest.mark.parametrize("scv", [0, 0.25, 0.5, 1, 2, 4])
def test_one_thread_with_poisson_arrivals_is_pollaczek_and_khinchins(scv: float) -> None:
    station = GGn(7.5, 10, 1, service_scv=scv)
    exact = 0.75 / (1 - 0.75) * (1 + scv) / 2 / 10
    assert station.mean_wait_s == pytest.approx(exact, rel=1e-9)


# Mean waits of M/D/n in services, by Crommelin's chain of the numbers one service apart, solved by iteration.
@pytest.mark.parametrize(
    ("threads", "busy", "exact"),
    [(2, 0.5, 0.17674), (2, 0.8, 0.90328), (5, 0.5, 0.03065), (5, 0.8, 0.28906), (10, 0.9, 0.34458)],
)
def test_constant_service_times(threads: int, busy: float, exact: float) -> None:
    station = GGn(threads * busy, 1, threads, service_scv=0)
    assert station.mean_wait_s == pytest.approx(exact, rel=0.01)


@pytest.mark.parametrize("threads", [2, 5])
@pytest.mark.parametrize("scv", [0.25, 2, 4])
def test_beside_the_simulator(threads: int, scv: float) -> None:
    station = GGn(0.7 * threads, 1, threads, service_scv=scv)
    # The broker takes no time, so that all that wait do so for a sender.
    given = Scenario(
        arrival=0.7 * threads,
        sender_rate=1,
        broker_rate=1e9,
        n1=threads,
        n2=1,
        sender_scv=scv,
        duration_s=800_000 / threads,
        warm_up_s=1000,
    )
    assert simulate(given, 1).waiting == pytest.approx(station.mean_waiting, rel=0.04)


def test_constant_times_alone_do_not_wait() -> None:
    assert GGn(9, 10, 1, arrival_scv=0, service_scv=0).mean_wait_s == 0


def test_a_negative_variability_is_refused() -> None:
    with pytest.raises(InvalidScenario, match="service_scv"):
        GGn(1, 10, 1, service_scv=-1)
