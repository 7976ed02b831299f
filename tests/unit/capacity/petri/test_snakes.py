"""SNAKES, another implementation, reaches the same markings by the same firings in nets without times."""

import random
import sys
import types
from typing import Any, Literal

import pytest

from rockdove.capacity.petri import INT, STRING, UNIT, Net, Product, Simulator
from rockdove.capacity.petri.space import Marking, Space, explore, marking_of

# SNAKES asks for a module that Python 3.12 no longer has, and of it for this name alone.
_imp = types.ModuleType("imp")
_imp.new_module = types.ModuleType  # type: ignore[attr-defined]
sys.modules.setdefault("imp", _imp)

import snakes.nets as sn  # noqa: E402

PAIR = Product("Pair", INT, STRING)
Arcs = dict[str, list[str]]


class Both:
    """One net, told to both."""

    def __init__(self, name: str) -> None:
        self.ours = Net(name)
        self.theirs = sn.PetriNet(name)

    def place(self, name: str, colour: Any, tokens: list[Any]) -> None:
        self.ours.place(name, colour, tokens)
        self.theirs.add_place(sn.Place(name, tokens))

    def transition(self, name: str, takes: Arcs, gives: Arcs, guard: str = "True") -> None:
        self.ours.transition(name, takes, gives, guard=guard)
        self.theirs.add_transition(sn.Transition(name, sn.Expression(guard)))
        for place, texts in takes.items():
            self.theirs.add_input(place, name, _arc([_pattern(text) for text in texts]))
        for place, texts in gives.items():
            self.theirs.add_output(place, name, _arc([sn.Expression(text) for text in texts]))

    def spaces(self) -> tuple[Space, Space]:
        return explore(self.ours), _explored(self.theirs)


def _arc(parts: list[Any]) -> Any:
    return parts[0] if len(parts) == 1 else sn.MultiArc(parts)


def _pattern(text: str) -> Any:
    if text.startswith("("):
        return sn.Tuple([_pattern(part.strip()) for part in text.strip("()").split(",")])
    return sn.Variable(text) if text.isidentifier() else sn.Value(eval(text))


def _explored(net: Any) -> Space:
    graph = sn.StateGraph(net)
    graph.build()
    markings = {state: _marking(graph.net, graph.goto(state)) for state in graph}
    edges = set()
    for state in graph:
        for successor, transition, mode in graph.successors(state):
            values = tuple(sorted(mode.dict().items()))
            edges.add((markings[state], transition.name, values, markings[successor]))
    return Space(markings[0], frozenset(markings.values()), frozenset(edges))


def _marking(net: Any, _: None) -> Marking:
    return frozenset(
        (place, frozenset((token, tokens(token)) for token in set(tokens)))
        for place, tokens in net.get_marking().items()
    )


def same(both: Both) -> Space:
    ours, theirs = both.spaces()
    assert ours.start == theirs.start
    assert ours.markings == theirs.markings
    assert ours.edges == theirs.edges
    return ours


def test_philosophers() -> None:
    both = Both("Philosophers")
    both.place("Thinks", INT, [0, 1, 2, 3])
    both.place("Eats", INT, [])
    both.place("Fork", INT, [0, 1, 2, 3])
    for i in range(4):
        forks = [str(i), str((i + 1) % 4)]
        both.transition(f"Take {i}", {"Thinks": [str(i)], "Fork": forks}, {"Eats": [str(i)]})
        both.transition(f"Put {i}", {"Eats": [str(i)]}, {"Thinks": [str(i)], "Fork": forks})
    # None eats, one of four does, or one of two pairs that face each other.
    assert len(same(both).markings) == 7


def test_a_join_with_a_guard() -> None:
    both = Both("Join")
    both.place("A", PAIR, [(1, "a"), (2, "b"), (2, "c"), (3, "a")])
    both.place("B", INT, [1, 2, 2, 3])
    both.place("C", INT, [])
    both.transition("Meet", {"A": ["(n, s)"], "B": ["n"]}, {"C": ["n + len(s)"]}, guard="n != 3 or s == 'z'")
    both.transition("Back", {"C": ["n"]}, {"A": ["(n - 1, 'a')"], "B": ["n - 1"]}, guard="n == 2")
    space = same(both)
    assert len(space.dead) == 0
    assert len(space.markings) > 5


def test_several_tokens_of_one_place() -> None:
    both = Both("Several")
    both.place("A", INT, [1, 2, 3, 4])
    both.place("B", UNIT, [()])
    both.transition("Merge", {"A": ["x", "y"], "B": ["u"]}, {"A": ["x + y"], "B": ["u"]}, guard="x < y")
    space = same(both)
    # All together at last; 3 + 3 and the like cannot be merged.
    assert len(space.dead) > 1


def made_at_random(seed: int) -> Both:
    made = random.Random(seed)
    both = Both(f"Random {seed}")
    places = [f"P{i}" for i in range(made.randint(2, 4))]
    for place in places:
        both.place(place, INT, [made.randint(0, 2) for _ in range(made.randint(0, 2))])
    for number in range(made.randint(2, 4)):
        variables = ["x", "y"][: made.randint(1, 2)]
        takes: Arcs = {}
        for variable in variables:
            takes.setdefault(made.choice(places), []).append(variable)
        gives: Arcs = {}
        for _ in range(made.randint(0, 2)):
            text = made.choice([*variables, f"({variables[0]} + 1) % 3", "1"])
            # No more tokens than were taken, so that there is an end.
            if sum(map(len, gives.values())) < len(variables):
                gives.setdefault(made.choice(places), []).append(text)
        guard = made.choice(["True", f"{variables[-1]} > 0", f"{variables[0]} <= {variables[-1]}"])
        both.transition(f"T{number}", takes, gives, guard)
    return both


@pytest.mark.parametrize("seed", range(12))
def test_nets_made_at_random(seed: int) -> None:
    assert same(made_at_random(seed)).markings


@pytest.mark.parametrize("choice", ["random", "first"])
@pytest.mark.parametrize("seed", range(12))
def test_a_run_goes_where_there_is_a_way_and_ends_where_there_is_none(
    seed: int, choice: Literal["random", "first"]
) -> None:
    """Runs find tokens by other code than the list of bindings, and look at few transitions only."""
    net = made_at_random(seed).ours
    space = explore(net)
    ways = {(edge[0], edge[3]) for edge in space.edges}
    run = Simulator(net, seed=seed, choice=choice)
    here = space.start
    for _ in range(60):
        fired = run.run(firings=1)
        there = marking_of(run)
        assert fired == (here not in space.dead)
        assert (here, there) in ways or not fired
        here = there
    assert run.firings == 60 or here in space.dead
