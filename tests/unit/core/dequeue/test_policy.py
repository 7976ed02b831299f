"""What each policy does, over physical queues that are numbers on paper."""

import math
from collections import Counter
from random import Random

import pytest
from hypothesis import given
from hypothesis import strategies as st

from rockdove.core.dequeue import Conventional, DequeuePolicy, Plan, Pms, PolicyChoice, PolicyName, Rds, Sleep, Wake
from rockdove.core.dequeue.rds import LONGEST_S, SHORTEST_S


class Paper:
    """Physical queues with so many messages; what a look at the numbers gave is what there is."""

    def __init__(self, *messages: int) -> None:
        self.messages = list(messages)
        self._next = 0

    @property
    def size(self) -> int:
        return len(self.messages)

    def next_index(self) -> int:
        index, self._next = self._next, (self._next + 1) % max(self.size, 1)
        return index

    def may_have_visible(self, index: int) -> bool:
        return index < self.size and self.messages[index] > 0

    def waiting(self, index: int) -> int:
        return self.messages[index]

    def take(self, index: int, most: int) -> int:
        taken = min(self.messages[index], most)
        self.messages[index] -= taken
        return taken


def steps(plan: Plan, paper: Paper, most: int = 100, wanted: int = 10) -> list[int | Sleep]:
    """What a plan does, until it ends, or has what is wanted, or has done so many steps."""
    done: list[int | Sleep] = []
    found: int | None = None
    while len(done) < most and wanted:
        try:
            step = plan.send(found)  # type: ignore[arg-type]
        except StopIteration:
            break
        done.append(step)
        found = 0 if isinstance(step, Sleep) else paper.take(step, wanted)
        wanted -= found
    return done


def test_conventional_asks_the_next_few_and_ends() -> None:
    paper, policy = Paper(0, 5, 0, 0, 20), Conventional(max_visits=3)
    assert steps(policy.visits(paper), paper) == [0, 1, 2]
    # The next request goes on where this one has stopped, and stops early where it has enough.
    assert steps(policy.visits(paper), paper) == [3, 4]
    assert steps(policy.visits(paper), paper) == [0, 1, 2]


def test_no_more_visits_than_queues() -> None:
    for policy in (Conventional(max_visits=3), Rds(max_visits=3)):
        paper = Paper(0, 0)
        assert steps(policy.visits(paper), paper, most=3)[:2] == [0, 1]


def test_rds_sleeps_after_a_round_that_found_nothing() -> None:
    paper, policy = Paper(0, 0, 0, 0), Rds(max_visits=3, sleep_s=5.0)
    assert steps(policy.visits(paper), paper, most=9) == [0, 1, 2, Sleep(5.0), 3, 0, 1, Sleep(5.0), 2]


def test_rds_ends_with_what_a_round_has_found() -> None:
    paper, policy = Paper(0, 1, 0, 0), Rds(max_visits=3, sleep_s=5.0)
    assert steps(policy.visits(paper), paper) == [0, 1, 2]


def test_a_sleep_that_adapts_itself() -> None:
    paper, policy = Paper(0, 0), Rds(sleep_s=None)
    lengths = [step.seconds for step in steps(policy.visits(paper), paper, most=200) if isinstance(step, Sleep)]
    assert lengths == sorted(lengths)
    assert lengths[0] < lengths[-1] == LONGEST_S
    for _ in range(60):
        plan = policy.visits(paper)
        assert steps(plan, paper, most=3)[-1] == Sleep(policy.sleep_s)
        paper.messages[0] = paper.messages[1] = 1
        steps(plan, paper)
    # Whoever finds something after each sleep need not sleep so long.
    assert policy.sleep_s == SHORTEST_S


def test_pms_begins_with_the_fullest() -> None:
    paper, policy = Paper(1, 0, 3, 2, 1), Pms(Random(1), max_visits=3, spread=False)
    assert steps(policy.visits(paper), paper) == [2, 3, 0]


@pytest.mark.parametrize("spread", [True, False])
def test_pms_holds_back_until_something_is_worth_a_visit(spread: bool) -> None:
    paper, policy = Paper(0, 0, 0), Pms(Random(1), monitor_s=0.2, spread=spread)
    plan = policy.visits(paper)
    assert steps(plan, paper, most=2) == [Sleep(0.2), Sleep(0.2)]
    paper.messages[1] = 1
    assert steps(plan, paper) == [1]


def test_pms_spreads_those_who_look_at_the_same_numbers() -> None:
    policy = Pms(Random(1), max_visits=1)
    first = Counter(next(policy.visits(Paper(30, 0, 60, 10))) for _ in range(10_000))
    assert first[1] == 0
    shares = [first[index] / 10_000 for index in (0, 2, 3)]
    assert shares == pytest.approx([0.3, 0.6, 0.1], abs=0.02)


def test_wake_makes_no_visit_in_vain_and_waits_for_the_enqueue() -> None:
    paper, policy = Paper(0, 2, 0, 3), Wake()
    plan = policy.visits(paper)
    assert steps(plan, paper) == [1, 3]
    plan = policy.visits(paper)
    assert steps(plan, paper, most=1) == [Sleep(math.inf, wakes=True)]
    paper.messages[2] = 1
    assert steps(plan, paper) == [2]


def test_wake_while_queues_go_down() -> None:
    paper = Paper(1, 1, 1, 1)
    plan = Wake().visits(paper)
    assert next(plan) == 0
    paper.messages = [1]
    assert plan.send(0) == Sleep(math.inf, wakes=True)
    paper.messages = []
    assert plan.send(0) == Sleep(math.inf, wakes=True)


choices = st.builds(
    PolicyChoice,
    name=st.sampled_from(PolicyName),
    max_visits=st.integers(1, 5),
    monitor_s=st.floats(0.01, 1),
    spread=st.booleans(),
    sleep_s=st.none() | st.floats(0.01, 5),
)


@given(choices, st.lists(st.integers(0, 3), min_size=1, max_size=8), st.integers(1, 10), st.integers())
def test_nothing_is_stuck(choice: PolicyChoice, messages: list[int], wanted: int, seed: int) -> None:
    """Whatever the policy: receives that are made again and again get every message, once."""
    paper, policy, total = Paper(*messages), choice.make(Random(seed)), sum(messages)
    taken = 0
    # A round-robin policy has visited every queue as often as that has messages, and once more, after so many receives.
    for _ in range(len(messages) * (max(messages) + 1)):
        before = sum(paper.messages)
        plan = steps(policy.visits(paper), paper, most=2 * len(messages) + 2, wanted=wanted)
        assert all(isinstance(step, Sleep) or 0 <= step < paper.size for step in plan)
        taken += before - sum(paper.messages)
    assert taken == total
    assert paper.messages == [0] * len(messages)


@given(choices, st.integers(1, 8), st.integers())
def test_every_queue_is_visited_within_a_bound(choice: PolicyChoice, size: int, seed: int) -> None:
    """Each queue has a message that comes anew as soon as it is taken: none waits for ever behind the others."""
    policy, paper = choice.make(Random(seed)), Paper(*[1] * size)
    visited: set[int] = set()
    for _ in range(_bound(choice, size)):
        for step in steps(policy.visits(paper), paper, most=size, wanted=1):
            assert not isinstance(step, Sleep)
            visited.add(step)
        paper.messages = [1] * size
        if len(visited) == size:
            return
    assert choice.name is PolicyName.PMS, "those that go round visit each"
    # The fullest first, and of equal ones the first: that is the paper's; lots are drawn for that.
    assert not choice.spread


def _bound(choice: PolicyChoice, size: int) -> int:
    """Receives after which each was visited; where lots are drawn, with a chance of failure below 1e-20."""
    return 60 * size if choice.name is PolicyName.PMS else size


def test_a_choice_makes_its_policy() -> None:
    made: list[DequeuePolicy] = [PolicyChoice(name).make(Random(1)) for name in PolicyName]
    assert [type(policy) for policy in made] == [Conventional, Pms, Rds, Wake]
    assert [policy.monitor_s for policy in made] == [None, 0.1, None, None]
