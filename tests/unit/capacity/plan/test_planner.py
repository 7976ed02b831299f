"""The cheapest threads: the paper's system, all others of a small grid, and what is impossible."""

import math

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from msgspec.structs import replace

from rockdove.capacity.error import InvalidScenario
from rockdove.capacity.plan.check import Verdict, check, judge
from rockdove.capacity.plan.knee import knee_arrival, knee_threads
from rockdove.capacity.plan.load import Load
from rockdove.capacity.plan.planner import Check, Figure, Target, describe, least_s, plan

PAPER = Load(arrival=30.3, sender_rate=10, broker_rate=10, q=0.99, link_s=0.02)


def test_the_papers_system() -> None:
    found = plan(PAPER, Target(Figure.MEAN, 0.27))
    assert (found.n1, found.n2, found.cost, found.feasible) == (5, 5, 10, True)
    assert found.mean_s == pytest.approx(0.2667, abs=5e-5)
    assert found.p50_s < found.mean_s < found.p95_s < found.p99_s
    assert found.utilisation_sender == pytest.approx(0.606)
    assert found.utilisation_broker == pytest.approx(0.606 / 0.99)


@given(
    arrival=st.floats(5, 80),
    q=st.floats(0.7, 1),
    over=st.floats(1.001, 3),
    costs=st.tuples(st.floats(0.2, 5), st.floats(0.2, 5)),
)
@settings(max_examples=30)
def test_nothing_cheaper_is_fast_enough(arrival: float, q: float, over: float, costs: tuple[float, float]) -> None:
    load = Load(arrival=arrival, sender_rate=10, broker_rate=12, q=q, link_s=0.02, broker_scv=0.5)
    target = Target(Figure.MEAN, least_s(load, Figure.MEAN) * over)
    found = plan(load, target, *costs)
    assert found.mean_s <= target.seconds
    first, second = load.fewest()
    for n1 in range(first, int(found.cost / costs[0]) + 1):
        n2 = math.ceil((found.cost - costs[0] * n1) / costs[1]) - 1
        # The fastest of those with so many senders that are cheaper.
        if n2 >= second and costs[0] * n1 + costs[1] * n2 < found.cost * (1 - 1e-9):
            assert load.network(n1, n2).delivery_s > target.seconds


_REGULAR = Load(arrival=10, sender_rate=10, broker_rate=5, q=0.5, sender_scv=0)
_BURSTS = Load(arrival=30.3, sender_rate=20, broker_rate=50, arrival_scv=4, sender_scv=0, broker_scv=0)
_ODD = Load(arrival=3, sender_rate=50, broker_rate=10, q=0.99, arrival_scv=20, sender_scv=0.1, broker_scv=5)


# The best number of senders is in the middle: with fewer, messages wait for them; more let bursts through.
@pytest.mark.parametrize(
    ("load", "seconds", "costs", "threads"),
    [
        (_REGULAR, 0.7209, (1, 1e6), (3, 5)),
        (_BURSTS, 0.07445, (1, 100), (6, 2)),
        (_ODD, 2.208, (1, 3), (2, 1)),
    ],
)
def test_more_senders_may_be_slower(
    load: Load, seconds: float, costs: tuple[float, float], threads: tuple[int, int]
) -> None:
    found = plan(load, Target(Figure.MEAN, seconds), *costs)
    (first, second), (most, many) = load.fewest(), load.ample()
    grid = [(n1, n2) for n1 in range(first, most + 1) for n2 in range(second, many + 1)]
    enough = [each for each in grid if load.network(*each).delivery_s <= seconds]
    assert min(costs[0] * n1 + costs[1] * n2 for n1, n2 in enough) == found.cost
    assert (found.n1, found.n2) == threads


def test_dear_senders_are_replaced_by_cheap_brokers() -> None:
    target = Target(Figure.MEAN, 0.30)
    dear, cheap = plan(PAPER, target, 10, 1), plan(PAPER, target, 1, 10)
    assert dear.n1 < cheap.n1
    assert dear.n2 > cheap.n2


def test_a_percentile_as_target() -> None:
    found = plan(PAPER, Target(Figure.P99, 0.75))
    assert found.p99_s <= 0.75
    assert describe(PAPER, found.n1 - 1, found.n2).p99_s > 0.75
    assert describe(PAPER, found.n1, found.n2 - 1).p99_s > 0.75


def test_an_impossible_target_gives_what_is_possible() -> None:
    found = plan(PAPER, Target(Figure.MEAN, 0.2))
    assert not found.feasible
    assert 0.2412 < found.mean_s < 0.2412 * 1.05


def test_without_a_target_it_is_the_knee() -> None:
    found = plan(PAPER, None)
    assert (found.n1, found.n2) == knee_threads(PAPER) == (5, 5)
    assert found.feasible


def test_the_knee_of_one_thread_is_at_half_its_load() -> None:
    # Power of M/M/1 is greatest at rho = 1/2; the broker here takes no time.
    load = Load(arrival=1, sender_rate=10, broker_rate=1e9)
    assert knee_arrival(load, 1, 1) == pytest.approx(5, rel=1e-3)


@pytest.mark.parametrize(
    ("target", "costs"),
    [(Target(Figure.MEAN, 0), (1, 1)), (Target(Figure.P99, math.nan), (1, 1)), (None, (0, 1)), (None, (1, -1))],
)
def test_nonsense_is_refused(target: Target | None, costs: tuple[float, float]) -> None:
    with pytest.raises(InvalidScenario):
        plan(PAPER, target, *costs)


def test_a_simulation_confirms_the_plan() -> None:
    target = Target(Figure.MEAN, 0.27)
    found = plan(PAPER, target)
    checked = check(PAPER, found, 1)
    assert checked == check(PAPER, found, 1)
    assert checked.mean_s == pytest.approx(found.mean_s, abs=2 * checked.ci95)
    assert judge(checked, PAPER, found, target) is Verdict.CONFIRMED


def test_a_plan_that_the_simulation_contradicts_is_not_confirmed() -> None:
    found = plan(PAPER, Target(Figure.MEAN, 0.27))
    mean = Target(Figure.MEAN, 0.27)
    assert judge(Check(0.35, 0.001), PAPER, found, None) is Verdict.CONTRADICTED
    assert judge(Check(0.275, 0.001), PAPER, found, mean) is Verdict.CONTRADICTED
    assert judge(Check(0.275, 0.006), PAPER, found, mean) is Verdict.CONFIRMED
    assert judge(Check(math.nan, math.nan), PAPER, found, None) is Verdict.CONTRADICTED


@pytest.mark.parametrize("target", [Target(Figure.MEAN, 0.27), Target(Figure.P99, 1), None])
def test_a_simulation_that_is_faster_confirms_the_plan(target: Target | None) -> None:
    found = plan(PAPER, Target(Figure.MEAN, 0.27))
    assert judge(Check(0.2, 0.001), PAPER, found, target) is Verdict.PESSIMISTIC


def test_a_simulation_says_nothing_to_arrivals_that_it_does_not_have() -> None:
    even = replace(PAPER, arrival_scv=0.1)
    found = plan(even, Target(Figure.MEAN, 0.26))
    poisson = PAPER.network(found.n1, found.n2).delivery_s
    assert poisson > 0.26
    assert judge(Check(poisson, 0.001), even, found, Target(Figure.MEAN, 0.26)) is Verdict.CONFIRMED
