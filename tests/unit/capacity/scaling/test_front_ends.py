"""Rounds of the rule for front-ends."""

from hypothesis import given
from hypothesis import strategies as st

from rockdove.capacity.scaling.front_ends import LEAST_REQUESTS, Bounds, FrontEnd, Load, Memory, Plan, decide
from rockdove.capacity.scaling.step import Act

BOUNDS = Bounds(least=1, most=4, low_s=0.05, high_s=0.2, high_bytes=100e6, safety_s=30, patience_s=10)
NO_BYTES = Bounds(least=1, most=4, low_s=0.05, high_s=0.2, safety_s=30, patience_s=10)


def load(now_s: float, *means_s: float | None, requests: int = 1_000, size: float | None = 0) -> Load:
    return Load(now_s, tuple(FrontEnd(at + 1, True, requests, mean_s) for at, mean_s in enumerate(means_s)), size)


def acts(plan: Plan) -> list[Act]:
    return [decision.act for decision in plan.decisions]


def rounds(bounds: Bounds, memory: Memory, *loads: Load) -> list[Plan]:
    found = []
    for each in loads:
        found.append(decide(bounds, memory, each))
        memory = found[-1].memory
    return found


def test_the_first_round_starts_the_least() -> None:
    plan = decide(Bounds(least=2), Memory(), Load(100, ()))
    assert acts(plan) == [Act.ADD]
    assert plan.decisions[0].workers == 2


def test_a_long_response_time_adds_one() -> None:
    plan = decide(BOUNDS, Memory(), load(100, 0.3, 0.3))
    assert acts(plan) == [Act.ADD]
    assert plan.wanted == 3
    assert plan.decisions[0].reason == "mean response time 300.0 ms is above 200.0 ms: one more"


def test_each_request_counts_the_same() -> None:
    busy, idle = FrontEnd(1, True, 900, 0.25), FrontEnd(2, True, 100, 0.01)
    assert acts(decide(NO_BYTES, Memory(), Load(100, (busy, idle)))) == [Act.ADD]
    assert not acts(decide(NO_BYTES, Memory(), Load(100, (FrontEnd(1, True, 100, 0.25), FrontEnd(2, True, 900, 0.1)))))


def test_few_requests_say_nothing() -> None:
    assert not decide(BOUNDS, Memory(), load(100, 0.3, requests=LEAST_REQUESTS - 1)).decisions
    assert decide(BOUNDS, Memory(), load(100, 0.3, requests=LEAST_REQUESTS)).decisions


def test_much_to_store_adds_one() -> None:
    plan = decide(BOUNDS, Memory(), load(100, 0.1, 0.1, size=201e6))
    assert acts(plan) == [Act.ADD]
    assert plan.decisions[0].reason == "101 MB are stored for each front-end, more than 100 MB: one more"
    assert not decide(BOUNDS, Memory(), load(100, 0.1, 0.1, size=200e6)).decisions
    assert not decide(NO_BYTES, Memory(), load(100, 0.1, 0.1, size=1e12)).decisions


def test_not_more_than_there_may_be() -> None:
    assert not decide(BOUNDS, Memory(), load(100, 0.3, 0.3, 0.3, 0.3)).decisions


def test_a_decision_has_time_to_take_effect() -> None:
    memory = decide(BOUNDS, Memory(), load(100, 0.3)).memory
    assert not decide(BOUNDS, memory, load(129, 0.3, 0.3)).decisions
    assert acts(decide(BOUNDS, memory, load(130, 0.3, 0.3))) == [Act.ADD]
    # A clock that was set back does not stop it for ever.
    assert acts(decide(BOUNDS, memory, load(20, 0.3, 0.3))) == [Act.ADD]


def test_nothing_is_decided_while_one_starts() -> None:
    starting = Load(200, (FrontEnd(1, True, 1_000, 0.3), FrontEnd(2, False)), 0)
    assert not decide(BOUNDS, Memory(wanted=2), starting).decisions


def test_the_last_one_goes_when_it_was_low_for_long() -> None:
    found = rounds(BOUNDS, Memory(), *(load(100 + 10 * at, 0.01, 0.01) for at in range(4)))
    assert [acts(plan) for plan in found] == [[], [], [], [Act.DRAIN]]
    last = found[-1].decisions[0]
    assert last.number == 2
    assert last.reason == "mean response time 10.0 ms is below 50.0 ms for 30 s: one less"
    assert found[-1].wanted == 1


def test_between_the_bounds_nothing_goes() -> None:
    low, middle = (load(100 + 10 * at, 0.01, 0.01) for at in range(3)), load(130, 0.1, 0.1)
    found = rounds(BOUNDS, Memory(), *low, middle, *(load(140 + 10 * at, 0.01, 0.01) for at in range(3)))
    assert not any(plan.decisions for plan in found)


def test_nobody_asks_and_one_goes() -> None:
    found = rounds(NO_BYTES, Memory(), load(100, None, None, requests=0), load(130, None, None, requests=0))
    assert acts(found[-1]) == [Act.DRAIN]
    assert "there are 0 requests in a period" in found[-1].decisions[0].reason


def test_what_is_stored_keeps_them() -> None:
    for size in (100e6, None):
        assert not any(
            plan.decisions
            for plan in rounds(BOUNDS, Memory(), load(100, 0.01, 0.01, size=size), load(130, 0.01, 0.01, size=size))
        )
    assert acts(rounds(BOUNDS, Memory(), load(100, 0.01, 0.01, size=99e6), load(130, 0.01, 0.01, size=99e6))[-1]) == [
        Act.DRAIN
    ]


def test_who_does_not_tell_keeps_them() -> None:
    for quiet in (FrontEnd(2, silent_s=2), FrontEnd(2, tells=False)):
        loads = [Load(at, (FrontEnd(1), quiet), 0) for at in (100, 130)]
        assert not any(plan.decisions for plan in rounds(BOUNDS, Memory(), *loads))
    loads = [Load(at, (FrontEnd(1), FrontEnd(2)), 0) for at in (100, 130)]
    assert acts(rounds(BOUNDS, Memory(), *loads)[-1]) == [Act.DRAIN]


def test_one_that_has_died_is_replaced_at_once() -> None:
    memory = Memory(wanted=3, acted_s=100)
    plan = decide(BOUNDS, memory, load(101, 0.1, 0.1))
    assert acts(plan) == [Act.ADD]
    assert plan.decisions[0].workers == 1
    assert plan.decisions[0].reason == "2 live, and there are to be 3"


def test_one_that_is_silent_is_given_up_and_replaced() -> None:
    silent = Load(100, (FrontEnd(1, silent_s=11), FrontEnd(2)), 0)
    plan = decide(BOUNDS, Memory(wanted=2), silent)
    assert [(each.act, each.number, each.workers) for each in plan.decisions] == [
        (Act.REMOVE, 1, 0),
        (Act.ADD, None, 1),
    ]


def test_if_none_answers_it_is_not_their_fault() -> None:
    assert not decide(
        BOUNDS, Memory(wanted=2), Load(100, (FrontEnd(1, silent_s=11), FrontEnd(2, silent_s=11)))
    ).decisions


def test_new_bounds_are_kept_at_once() -> None:
    plan = decide(Bounds(least=1, most=2), Memory(wanted=4), load(100, 0.1, 0.1, 0.1, 0.1))
    assert [(each.act, each.number) for each in plan.decisions] == [(Act.DRAIN, 4), (Act.DRAIN, 3)]
    assert decide(Bounds(least=3), Memory(wanted=1), load(100, 0.1)).wanted == 3


@given(
    st.lists(
        st.tuples(st.floats(0, 100), st.lists(st.none() | st.floats(0, 1), max_size=5), st.none() | st.floats(0, 1e9)),
        min_size=1,
        max_size=30,
    )
)
def test_there_are_never_too_many_or_too_few(history: list[tuple[float, list[float | None], float | None]]) -> None:
    memory, now_s = Memory(), 0.0
    for pause_s, means_s, size in history:
        now_s += pause_s
        plan = decide(BOUNDS, memory, load(now_s, *means_s, size=size))
        memory = plan.memory
        added = sum(each.workers for each in plan.decisions if each.act is Act.ADD)
        drained = acts(plan).count(Act.DRAIN)
        assert len(means_s) + added - drained == plan.wanted
        assert BOUNDS.least <= plan.wanted <= BOUNDS.most
