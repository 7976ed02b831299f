"""Rounds of a controller."""

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from msgspec.structs import replace

from rockdove.capacity.scaling.choice import RULES, decide
from rockdove.capacity.scaling.measured import Measured, Member, Rates
from rockdove.capacity.scaling.model import needed
from rockdove.capacity.scaling.removal import ROUNDS
from rockdove.capacity.scaling.step import Act, State, Step
from rockdove.core.elastic import Elastic, ScalingPolicy

ELASTIC = Elastic(period_s=5, safety_s=20, min_load=50, max_load=200, max_workers=10)


def measured(now_s: float, *loads: float, starting: int = 0, rates: Rates | None = None, held: float = 0) -> Measured:
    members = tuple(Member(at, load, held, 100.0, 1 / len(loads)) for at, load in enumerate(loads))
    return Measured(now_s, 5, members, starting, rates or Rates())


def acts(step: Step) -> list[Act]:
    return [decision.act for decision in step.decisions]


@pytest.mark.parametrize("policy", list(ScalingPolicy))
@pytest.mark.parametrize("load", [10.0, 100.0, 900.0])
def test_there_are_soon_no_more_than_there_may_be(policy: ScalingPolicy, load: float) -> None:
    """maxWorkers was lowered; whatever the load, all that are too many go."""
    elastic, state, workers = replace(ELASTIC, policy=policy, max_workers=1), State(), 3
    for at in range(200):
        # Those that have no share any more are soon empty.
        left = 0.0 if state.removal is not None and state.removal.rounds >= ROUNDS else load
        loads = [load] * (workers - 1) + [left if workers > 1 else load]
        step = decide(elastic, state, measured(100 + 5 * at, *loads, rates=Rates(arrival=900.0, service_s=0.01)))
        state = step.state
        workers -= len(step.removed)
        assert Act.CANCEL not in acts(step)
        assert not step.added
    assert workers == 1


@pytest.mark.parametrize("policy", list(ScalingPolicy))
def test_nobody_goes_that_is_to_stay(policy: ScalingPolicy) -> None:
    """minWorkers was raised while the last one was being removed."""
    elastic, state = replace(ELASTIC, policy=policy, max_workers=1), State()
    for at in range(3):
        state = decide(elastic, state, measured(100 + 5 * at, 10, 10)).state
    assert state.removal is not None
    elastic = replace(ELASTIC, policy=policy, min_workers=6)
    step = decide(elastic, state, measured(120, 10, 10))
    assert Act.CANCEL in acts(step)
    assert (step.added, step.removed, step.state.removal) == (4, [], None)


class TestPaper:
    def test_too_much_load_adds_one(self) -> None:
        step = decide(ELASTIC, State(), measured(100, 250, 200))
        assert acts(step) == [Act.ADD]
        assert (step.added, step.target) == (1, 3)
        assert "average load 225 is above maxLoad 200" in step.decisions[0].reason

    def test_load_at_the_limits_changes_nothing(self) -> None:
        assert not decide(ELASTIC, State(), measured(100, 200, 200)).decisions
        assert not decide(ELASTIC, State(), measured(100, 50, 50)).decisions

    def test_a_decision_has_time_to_take_effect(self) -> None:
        state = decide(ELASTIC, State(), measured(100, 300)).state
        assert not decide(ELASTIC, state, measured(115, 300)).decisions
        assert acts(decide(ELASTIC, state, measured(120, 300))) == [Act.ADD]
        # A clock that was set back does not stop it for ever.
        assert acts(decide(ELASTIC, state, measured(20, 300))) == [Act.ADD]

    def test_not_more_than_there_may_be(self) -> None:
        assert not decide(ELASTIC, State(), measured(100, *[300] * 8, starting=2)).decisions
        assert acts(decide(ELASTIC, State(), measured(100, *[300] * 8, starting=1))) == [Act.ADD]

    def test_the_last_one_goes_bit_by_bit(self) -> None:
        state, seen, parts = State(), [], []
        for at in range(ROUNDS + 3):
            step = decide(ELASTIC, state, measured(100 + 5 * at, 10, 10, 0))
            state = step.state
            seen += acts(step)
            parts.append(step.shares[-1])
            if step.removed:
                break
        assert seen == [Act.ELECT, *[Act.REDUCE] * (ROUNDS - 1), Act.DRAIN, Act.REMOVE]
        assert parts == sorted(parts, reverse=True)
        assert parts[-1] == parts[-2] == 0
        assert step.removed == [2]
        assert step.target == 2

    def test_it_stays_as_long_as_it_holds_anything(self) -> None:
        state = State()
        for at in range(30):
            step = decide(ELASTIC, state, measured(100 + 5 * at, 0, 0, held=1))
            state = step.state
        assert acts(step) == [Act.DRAIN]
        assert "1 are in flight" in step.decisions[0].reason
        assert decide(ELASTIC, state, measured(300, 0, 0)).removed == [1]

    @pytest.mark.parametrize("rounds", range(1, ROUNDS + 3))
    def test_it_stays_after_all_if_load_rises(self, rounds: int) -> None:
        state = State()
        for at in range(rounds):
            state = decide(ELASTIC, state, measured(100 + 5 * at, 10, 10, held=1)).state
        step = decide(ELASTIC, state, measured(200, 60, 60))
        assert acts(step) == [Act.CANCEL]
        assert step.state.removal is None
        assert step.shares == (0.5, 0.5)

    def test_not_fewer_than_there_must_be(self) -> None:
        assert not decide(ELASTIC, State(), measured(100, 0)).decisions
        elastic = replace(ELASTIC, min_workers=2)
        assert not decide(elastic, State(), measured(100, 0, 0)).decisions
        assert decide(elastic, State(), measured(100, 0)).added == 1

    def test_nobody_goes_while_another_starts(self) -> None:
        assert not decide(ELASTIC, State(), measured(100, 0, 0, starting=1)).decisions

    def test_one_that_somebody_else_removed_is_forgotten(self) -> None:
        state = decide(ELASTIC, State(), measured(100, 0, 0)).state
        assert state.removal is not None
        step = decide(ELASTIC, state, measured(105, 60))
        assert step.state.removal is None
        assert not step.decisions

    def test_if_there_are_too_many_the_last_goes(self) -> None:
        elastic = replace(ELASTIC, max_workers=2)
        assert acts(decide(elastic, State(), measured(100, 100, 100, 100))) == [Act.ELECT]


class TestModel:
    elastic = replace(ELASTIC, policy=ScalingPolicy.MODEL)

    def test_workers_follow_from_the_work(self) -> None:
        rates = Rates(arrival=450, service_s=0.01)
        step = decide(self.elastic, State(), measured(0, 0, 0, rates=rates))
        # At 90 % busy, five do 450 a second.
        assert (step.added, step.target) == (3, 5)

    def test_failures_are_work_again(self) -> None:
        rates = Rates(arrival=450, service_s=0.01, failure=0.5)
        assert needed(self.elastic, measured(0, 0, rates=rates))[0] == 10  # type: ignore[index]

    def test_what_waits_is_work(self) -> None:
        rates = Rates(arrival=90, service_s=0.01)
        few = needed(self.elastic, measured(0, 50, rates=rates))
        many = needed(self.elastic, measured(0, 20_000, rates=rates))
        assert few is not None
        assert many is not None
        assert few[0] == 1
        # 19,950 in 20 s and the 2 s of maxLoad, and 90 a second.
        assert many[0] == 12

    def test_growth_counts_for_as_long_as_a_start_takes(self) -> None:
        rates = Rates(arrival=90, service_s=0.01, growth=1, start_s=95)
        assert needed(self.elastic, measured(0, 0, rates=rates))[0] == 3  # type: ignore[index]

    def test_fewer_only_after_a_while(self) -> None:
        rates, state, elected = Rates(arrival=90, service_s=0.01), State(), []
        for at in range(60):
            step = decide(self.elastic, state, measured(5 * at, 0, 0, rates=rates))
            state = step.state
            elected += [5 * at for act in acts(step) if act is Act.ELECT]
            if step.removed:
                break
        assert elected == [80]
        assert step.removed == [1]

    def test_as_long_as_the_work_is_not_known_it_does_as_the_paper(self) -> None:
        step = decide(self.elastic, State(), measured(100, 250, rates=Rates(arrival=5)))
        assert "maxLoad" in step.decisions[0].reason


class TestOthers:
    def test_keda_goes_by_messages_for_each_worker(self) -> None:
        elastic = replace(ELASTIC, policy=ScalingPolicy.KEDA)
        assert decide(elastic, State(), measured(0, 500, 500, held=10)).target == 6
        # Ten percent off is near enough.
        assert decide(elastic, State(), measured(0, 210, 210)).target == 2
        # Not more than four, or as many again, at a time.
        assert decide(elastic, State(), measured(0, 2_000)).target == 5

    def test_aws_wants_three_minutes_of_it(self) -> None:
        elastic, state = replace(ELASTIC, policy=ScalingPolicy.AWS), State()
        targets = []
        for at in range(0, 185, 5):
            step = decide(elastic, state, measured(at, 400, 400))
            state = step.state
            targets.append(step.target)
        assert targets[:24] == [2] * 24
        assert targets[24] == 4

    def test_clients_stay_with_the_queue_that_took_them(self) -> None:
        elastic = replace(ELASTIC, policy=ScalingPolicy.LEAST_LOADED)
        first = decide(elastic, State(), measured(0, 100, 60, rates=Rates(arrival=50)))
        assert first.shares == (0, 1)
        second = decide(elastic, first.state, measured(5, 60, 100, rates=Rates(arrival=100)))
        assert second.shares == (0.5, 0.5)
        third = decide(elastic, second.state, measured(10, 60, 100, rates=Rates(arrival=50)))
        assert third.shares == (0.5, 0.5)


@given(
    st.sampled_from(list(RULES)),
    st.lists(
        st.tuples(
            st.lists(st.floats(0, 5_000), min_size=1, max_size=6),
            st.integers(0, 3),
            st.floats(0, 2_000),
            st.booleans(),
        ),
        min_size=1,
        max_size=40,
    ),
)
@settings(max_examples=300)
def test_whatever_happens_a_round_makes_sense(
    policy: ScalingPolicy, rounds: list[tuple[list[float], int, float, bool]]
) -> None:
    elastic, state = replace(ELASTIC, policy=policy, max_workers=5), State()
    for at, (loads, starting, arrival, knows) in enumerate(rounds):
        rates = Rates(arrival, 0.0, 0.01) if knows else Rates()
        what = measured(5.0 * at, *loads, starting=starting, rates=rates)
        step = decide(elastic, state, what)
        state = step.state
        assert len(step.shares) == len(loads)
        assert sum(step.shares) == pytest.approx(1)
        assert what.workers + step.added <= max(elastic.max_workers, what.workers)
        if step.removed:
            # The last one, with nothing in it, and not below what there must be.
            (number,) = step.removed
            assert what.members[number].is_empty
            assert what.workers > elastic.min_workers
            assert step.shares[number] == 0
