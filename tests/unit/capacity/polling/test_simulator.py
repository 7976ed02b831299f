"""The paper's model of dequeueing: what the paper claims of it, and what must hold for any such system."""

import math
from functools import cache
from statistics import mean

import pytest

from rockdove.capacity.error import InvalidScenario
from rockdove.capacity.polling.experiment import SLEEP_S
from rockdove.capacity.polling.setup import Setup
from rockdove.capacity.polling.simulator import Outcome, simulate
from rockdove.core.dequeue import PolicyName

RATES = (10.0, 30.0, 100.0, 200.0)
CONVENTIONAL, PMS, RDS, WAKE = PolicyName
DURATION_S = 60.0


@cache
def runs(policy: PolicyName, rate: float, spread: bool = False) -> list[Outcome]:
    setup = Setup(policy=policy, rate=rate, sleep_s=SLEEP_S, spread=spread, duration_s=DURATION_S)
    return [simulate(setup, seed) for seed in range(2)]


def throughput(policy: PolicyName, rate: float, spread: bool = False) -> float:
    return mean(run.throughput for run in runs(policy, rate, spread))


def hit_rate(policy: PolicyName, rate: float, spread: bool = False) -> float:
    return mean(run.hit_rate for run in runs(policy, rate, spread))


def messages_per_hit(policy: PolicyName, rate: float) -> float:
    return mean(run.messages_per_hit for run in runs(policy, rate))


def test_conventional_falls_by_more_than_half() -> None:
    assert throughput(CONVENTIONAL, 200.0) < throughput(CONVENTIONAL, 10.0) / 2


def test_rds_stays_what_it_is() -> None:
    found = [throughput(RDS, rate) for rate in RATES]
    assert (max(found) - min(found)) / max(found) <= 0.25


def test_rds_is_the_highest_of_the_papers_three() -> None:
    for rate in RATES[1:]:
        assert throughput(RDS, rate) > max(throughput(CONVENTIONAL, rate), throughput(PMS, rate))
    assert throughput(RDS, 200.0) >= 1.8 * throughput(CONVENTIONAL, 200.0)


@pytest.mark.parametrize("rate", [100.0, 200.0])
def test_pms_brings_more_messages_and_fewer_hits(rate: float) -> None:
    assert messages_per_hit(PMS, rate) > messages_per_hit(CONVENTIONAL, rate)
    assert hit_rate(PMS, rate) < hit_rate(CONVENTIONAL, rate)


def test_spreading_is_what_pms_lacks() -> None:
    assert hit_rate(PMS, 10.0, spread=True) > 1.2 * hit_rate(PMS, 10.0)


def test_the_same_seed_gives_the_same_run() -> None:
    setup = Setup(policy=PMS, rate=50.0, spread=True, duration_s=5.0)
    assert simulate(setup, "a") == simulate(setup, "a")
    assert simulate(setup, "a") != simulate(setup, "b")


@pytest.mark.parametrize("policy", PolicyName)
def test_with_time_to_spare_all_that_comes_is_received(policy: PolicyName) -> None:
    """Visits that cost nothing: whatever the policy, what is enqueued is received, and no more."""
    setup = Setup(policy=policy, rate=100.0, sleep_s=0.1, messages=50.0, visit_s=1e-6, message_s=1e-6, duration_s=40.0)
    assert simulate(setup, 1).throughput == pytest.approx(50.0, rel=0.05)


def test_one_queue_is_a_server_that_can_be_worked_out() -> None:
    """Every visit finds the one message that came since the last: the queue's time is the limit of all."""
    setup = Setup(
        policy=CONVENTIONAL,
        rate=1e4,
        queues=1,
        enqueuers=1,
        consumers=1,
        open_requests=1,
        max_visits=1,
        messages=1e4,
        most=1,
        duration_s=100.0,
    )
    found = simulate(setup, 1)
    # An enqueue, a visit and one message, in turns.
    assert found.throughput == pytest.approx(1 / (0.001 + 0.02 + 0.001), rel=0.01)
    assert found.hit_rate == pytest.approx(1.0, abs=0.01)
    assert found.messages_per_hit == 1.0


def test_without_a_visit_there_is_nothing_to_tell() -> None:
    found = simulate(Setup(policy=CONVENTIONAL, rate=1e-9, duration_s=1.0), 1)
    assert (found.throughput, found.visits) == (0.0, 0)
    assert math.isnan(found.hit_rate)
    assert math.isnan(found.messages_per_hit)


@pytest.mark.parametrize("wrong", [{"rate": 0.0}, {"duration_s": -1.0}, {"messages": 0.0}, {"monitor_s": 0.0}])
def test_what_cannot_be_simulated(wrong: dict[str, float]) -> None:
    with pytest.raises(InvalidScenario, match=f"{next(iter(wrong))} must be above 0"):
        Setup(**{"policy": PMS, "rate": 1.0, **wrong})  # type: ignore[arg-type]
    with pytest.raises(InvalidScenario, match="sleep_s must be above 0"):
        Setup(policy=RDS, rate=1.0)
