"""All that can happen in a net without times: the markings that can be reached, and how."""

from __future__ import annotations

from collections import Counter, deque
from collections.abc import Hashable
from dataclasses import dataclass
from typing import Any

from rockdove.capacity.petri.error import NetError, at
from rockdove.capacity.petri.expression import NOW, RANDOM, expression, names
from rockdove.capacity.petri.flat import FlatTransition
from rockdove.capacity.petri.net import Net
from rockdove.capacity.petri.simulator import Simulator, Token

# A place's tokens with how many there are of each, for each place that has any.
Marking = frozenset[tuple[str, frozenset[tuple[Any, int]]]]


@dataclass(frozen=True)
class Space:
    """`edges` are (from, transition, values, to), with values as (variable, value) in the order of names."""

    start: Marking
    markings: frozenset[Marking]
    edges: frozenset[tuple[Marking, str, tuple[tuple[str, Hashable], ...], Marking]]

    @property
    def dead(self) -> frozenset[Marking]:
        """Markings in which nothing is enabled."""
        return self.markings - {edge[0] for edge in self.edges}


def explore(net: Net, limit: int = 100_000) -> Space:
    """Raises `NetError` for a net that has times, code or chance, or more markings than the limit."""
    run = Simulator(net)
    for transition in run.flat.transitions:
        _refuse_uncertain(transition)
    start = marking_of(run)
    seen, edges = {start}, set()
    waiting = deque([start])
    while waiting:
        here = waiting.popleft()
        _restore(run, here)
        for binding in run.enabled():
            _restore(run, here)
            run.fire(binding)
            there = marking_of(run)
            edges.add((here, binding.transition, tuple(sorted(binding.values.items())), there))
            if there not in seen:
                seen.add(there)
                waiting.append(there)
        if len(seen) > limit:
            raise NetError(at(net.name), f"it has more than {limit:,} markings")
    return Space(start, frozenset(seen), frozenset(edges))


def _refuse_uncertain(transition: FlatTransition) -> None:
    node = transition.node
    where = at(transition.net.name, "transition", node.name)
    if node.code or node.delay:
        raise NetError(where, "it has a code segment or a delay, so its markings cannot be listed")
    for arc in node.arcs:
        if "@" in arc.text or names(expression(arc.text, where)) & {*RANDOM, NOW}:
            raise NetError(f"{where}, {arc.label}", "it depends on time or chance, so its markings cannot be listed")


def marking_of(run: Simulator) -> Marking:
    """The tokens of a run, without their times."""
    counts = {name: Counter(token.value for token in tokens) for name, tokens in run.marking().items()}
    return frozenset((name, frozenset(count.items())) for name, count in counts.items() if count)


def _restore(run: Simulator, marking: Marking) -> None:
    # In one order, so that the tokens that a binding names by index are the same each time.
    run.restore(
        {
            name: [Token(value) for value, number in sorted(counts, key=repr) for _ in range(number)]
            for name, counts in marking
        }
    )
