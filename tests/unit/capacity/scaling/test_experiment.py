"""Figures 4 to 8 of the paper, and the rules compared: what is to hold."""

from functools import cache

import pytest

from rockdove.capacity.error import InvalidScenario
from rockdove.capacity.scaling.experiment import (
    PAPER,
    ElasticDrawn,
    ElasticFigure,
    ElasticRun,
    findings,
    is_on_front,
    points,
    run,
)
from rockdove.capacity.scaling.production import Ramp, bursts, day
from rockdove.capacity.scaling.simulator import Scenario, simulate
from rockdove.capacity.scaling.trend import Trend
from rockdove.core.elastic import Elastic


@cache
def own(figure: ElasticFigure) -> ElasticRun:
    """The paper's own configuration."""
    return run(points(figure)[0])


@cache
def compared() -> list[ElasticRun]:
    return [run(point) for point in points(ElasticFigure.POLICIES)]


def test_two_slots_halve_machines_and_spikes() -> None:
    one, two = own(ElasticFigure.ELASTIC4), own(ElasticFigure.ELASTIC5)
    assert (one.slots, two.slots) == (1, 2)
    assert two.machines_max <= 0.55 * one.machines_max
    assert two.machine_seconds <= 0.55 * one.machine_seconds
    assert two.spike_height <= 0.55 * one.spike_height
    assert two.spike_area <= 0.55 * one.spike_area


def test_one_machine_ready_removes_the_spikes_of_starts() -> None:
    none, one = own(ElasticFigure.ELASTIC5), own(ElasticFigure.ELASTIC6)
    assert one.npp == 1
    assert one.spike_area < 0.01 * none.spike_area
    # What is left is what a decision takes to be made.
    assert one.spike_height < 0.5 * PAPER.max_load
    assert one.seconds_above_max / one.spikes <= 2 * PAPER.period_s


def test_at_the_steep_ramp_one_is_not_enough_from_the_fifth_worker() -> None:
    one, two = own(ElasticFigure.ELASTIC7), own(ElasticFigure.ELASTIC8)
    assert (one.ramp, two.ramp, one.npp, two.npp) == (4.0, 4.0, 1, 2)
    assert one.spike_area > 20 * two.spike_area
    fifth_s = next(sample.t for sample in one.samples if sample.workers >= 5)
    before = [sample for sample in one.samples if sample.workers < 4]
    waits = [sample for sample in one.samples if sample.workers == 4 and sample.t < fifth_s]
    assert max(sample.max_load for sample in before) < 3 * PAPER.max_load
    assert max(sample.max_load for sample in waits) > 5 * PAPER.max_load
    assert max(sample.max_load for sample in two.samples) < 3 * PAPER.max_load


def test_our_rule_is_on_the_front_everywhere() -> None:
    runs = compared()
    shapes = {each.production for each in runs}
    assert shapes == {"slow ramp", "steep ramp", "bursts", "day"}
    for shape in shapes:
        same = [each for each in runs if each.production == shape]
        assert {each.policy for each in same} == {"paper", "model", "keda", "aws", "least-loaded"}
        assert is_on_front(next(each for each in same if each.policy == "model"), same)
    told = findings(ElasticDrawn(ElasticFigure.POLICIES, runs))
    assert len(told) == 4
    assert all("model" in line for line in told)


@pytest.mark.parametrize("figure", ElasticFigure)
def test_the_first_is_the_papers_and_no_system_comes_twice(figure: ElasticFigure) -> None:
    found = points(figure)
    assert len(found) == len(set(found))
    if figure is not ElasticFigure.POLICIES:
        assert found[0].elastic.policy == "paper"
        assert found[0].startup_s == 96.9


def test_nothing_is_lost_on_the_way() -> None:
    outcome = simulate(Scenario(elastic=PAPER, production=Ramp(4.0), duration_s=1_400, seed=3))
    assert outcome.samples[-1].max_load == 0
    assert outcome.produced == pytest.approx((750 * 187.5 + 750 * 500), rel=0.01)
    assert outcome.mean_s > 0.01


def test_delivery_of_what_waits_follows_from_the_rate() -> None:
    """150 come a second and one worker does 100: what comes after t seconds waits for t / 2."""
    only = Elastic(max_workers=1)
    outcome = simulate(Scenario(elastic=only, production=lambda time_s: 150.0 if time_s < 100 else 0.0, duration_s=200))
    assert outcome.mean_s == pytest.approx(25, rel=0.02)
    assert outcome.p99_s == pytest.approx(49.5, rel=0.02)
    assert outcome.machine_seconds == pytest.approx(200)
    assert outcome.spike_height == pytest.approx(5_000 - 200, rel=0.01)


def test_the_same_seed_gives_the_same_outcome() -> None:
    scenario = Scenario(elastic=PAPER, production=bursts, duration_s=900, seed=7)
    assert simulate(scenario) == simulate(scenario)


def test_what_no_system_has_is_refused() -> None:
    with pytest.raises(InvalidScenario, match="rate"):
        Scenario(elastic=PAPER, production=day, duration_s=10, rate=0)
    with pytest.raises(InvalidScenario, match="startup_s"):
        Scenario(elastic=PAPER, production=day, duration_s=10, startup_s=-1)


def test_ramps_bursts_and_days() -> None:
    ramp = Ramp(0.5)
    assert [ramp(at) for at in (0, 100, 1_500, 2_000, 2_100, 5_000)] == [0, 50, 750, 750, 700, 0]
    assert ramp.duration_s == 3_800
    assert [bursts(at) for at in (0, 599, 600, 719, 720, 1_500)] == [150, 150, 600, 600, 150, 600]
    assert (day(0), day(1_800)) == (50, 750)


def test_growth_is_what_has_grown_all_the_while() -> None:
    steady, step = Trend(), Trend()
    for at in range(20):
        steady.count(5 * at, 5 * at + 5, 5 * (100 + 2 * (5 * at + 2.5)))
        step.count(5 * at, 5 * at + 5, 5 * (100 if at < 15 else 400))
    assert steady.at(100) == pytest.approx((300, 2))
    assert step.at(100) == pytest.approx((400, 0))
    assert Trend().at(0) == (None, 0)
