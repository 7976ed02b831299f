"""A transition made ready for compilation: arcs parsed, variables found, arcs in an order that binds them."""

from __future__ import annotations

import ast
import builtins
from dataclasses import dataclass, field

from rockdove.capacity.petri.colour import Colour
from rockdove.capacity.petri.error import ColourMismatch, InvalidExpression, UnboundVariable, at
from rockdove.capacity.petri.expression import (
    FORMS,
    NOW,
    RANDOM,
    RESERVED,
    assigned,
    conjuncts,
    expression,
    names,
    source,
    statements,
)
from rockdove.capacity.petri.flat import FlatPlace, FlatTransition
from rockdove.capacity.petri.net import Arc
from rockdove.capacity.petri.output import Output, Typing, expressions, leaves, output
from rockdove.capacity.petri.pattern import Pattern

_BUILTINS = {name for name in vars(builtins) if not name.startswith("_")}
_KNOWN = {*_BUILTINS, *RANDOM, *FORMS, NOW}


@dataclass(eq=False)
class Input:
    """One token to find. `number` names its index and value in compiled code."""

    number: int
    arc: Arc
    place: FlatPlace
    pattern: Pattern
    # Guard conjuncts that can be tested once this token is matched.
    tests: list[ast.expr] = field(default_factory=list)
    # Any token will do: nothing else depends on which.
    is_free: bool = False

    @property
    def is_taken(self) -> bool:
        return self.arc.way == "takes"


@dataclass(eq=False)
class Out:
    arc: Arc
    place: FlatPlace
    output: Output
    where: str
    # Whether each value is known to be of the place's colour set, by expression.
    proven: dict[int, bool] = field(default_factory=dict)


class Analysis:
    """Raises `NetError` where the transition makes no sense."""

    def __init__(self, transition: FlatTransition) -> None:
        self.transition = transition
        self._node = transition.node
        self.scope = transition.net.scope
        self.code = statements(self._node.code, self._where("code"))
        self.inputs = self._ordered(self._inputs())
        self.bound: dict[str, Colour] = {}
        for each in self.inputs:
            self.bound.update(each.pattern.variables)
        self._guard()
        self._check_code()
        self._mark_free()
        self.outputs = [self._out(arc) for arc in self._node.arcs if arc.way == "gives"]

    @property
    def variables(self) -> list[str]:
        return list(self.bound)

    @property
    def fed(self) -> list[FlatPlace]:
        """Places that get tokens which are there at once; for those with a delay of zero, the simulator sees to it."""
        return [out.place for out in self.outputs if any(leaf.delay is None for leaf in leaves(out.output))]

    @property
    def uses_time(self) -> bool:
        """Whether time alone can make it enabled."""
        asked = [test for each in self.inputs for test in each.tests] + [each.pattern.node for each in self.inputs]
        return any(NOW in names(node) for node in asked)

    def _where(self, arc: str = "") -> str:
        return at(self.transition.net.name, "transition", self._node.name, arc)

    def _inputs(self) -> list[Input]:
        found: list[Input] = []
        for arc in self._node.arcs:
            if arc.way == "gives":
                continue
            where = self._where(arc.label)
            node, count = self._counted(expression(arc.text, where), where)
            place = self.transition.places[arc.place]
            for _ in range(count):
                found.append(Input(len(found), arc, place, Pattern(node, place.colour, self.scope, where)))
        return found

    def _counted(self, node: ast.expr, where: str) -> tuple[ast.expr, int]:
        if not (isinstance(node, ast.Call) and isinstance(node.func, ast.Name) and node.func.id == "times"):
            return node, 1
        number, value = node.args
        if isinstance(number, ast.Name):
            count = self.scope.get(number.id)
        else:
            count = number.value if isinstance(number, ast.Constant) else None
        if type(count) is not int or count < 1:
            raise InvalidExpression(
                where, f"{source(node)}: the number of tokens taken must be a constant of 1 or more"
            )
        return value, count

    def _ordered(self, inputs: list[Input]) -> list[Input]:
        """Those that are given by what is known come first, as they leave least to try."""
        known: set[str] = set()
        found: list[Input] = []
        left = list(inputs)
        while left:
            ready = [each for each in left if each.pattern.needs <= known]
            if not ready:
                missing = sorted(set().union(*(each.pattern.needs for each in left)) - known)
                raise self._unbound(left[0].pattern.where, missing)
            given = [each for each in ready if known and set(each.pattern.variables) <= known]
            chosen = (given or ready)[0]
            known |= set(chosen.pattern.variables)
            left.remove(chosen)
            found.append(chosen)
        return found

    def _guard(self) -> None:
        if not self._node.guard:
            return
        where = self._where("guard")
        guard = expression(self._node.guard, where)
        if drawn := names(guard) & set(RANDOM):
            raise InvalidExpression(where, f"it must not depend on chance, as {', '.join(sorted(drawn))} does")
        self._require(guard, set(self.bound), where)
        for test in conjuncts(guard):
            wanted = names(test) & set(self.bound)
            known: set[str] = set()
            for each in self.inputs:
                known |= set(each.pattern.variables)
                if wanted <= known:
                    each.tests.append(test)
                    break
            else:
                raise InvalidExpression(where, "a transition with a guard needs an arc into it")

    def _check_code(self) -> None:
        made = assigned(self.code)
        if wrong := sorted(made & RESERVED):
            raise InvalidExpression(
                self._where("code"), f"{', '.join(wrong)} has a meaning of its own, and no other value"
            )
        for statement in self.code:
            self._require(statement, {*self.bound, *made}, self._where("code"))

    def _mark_free(self) -> None:
        for each in self.inputs:
            own = set(each.pattern.variables)
            others = [other for other in self.inputs if other is not each]
            asked = {name for other in others for name in {*other.pattern.variables, *other.pattern.needs}}
            asked |= {name for other in self.inputs for test in other.tests for name in names(test)}
            tested = any(not step.name for step in each.pattern.steps("_", set()))
            shared = any(other.place is each.place for other in others)
            each.is_free = not (own & asked or tested or shared or each.tests)

    def _out(self, arc: Arc) -> Out:
        where = self._where(arc.label)
        delay = expression(self._node.delay, where) if self._node.delay else None
        place = self.transition.places[arc.place]
        found = output(expression(arc.text, where), delay if place.colour.is_timed else None, where)
        known = {*self.bound, *assigned(self.code)}
        for node in expressions(found):
            self._require(node, known, where)
        made = Out(arc, place, found, where)
        typing = Typing(self.scope, {k: v for k, v in self.bound.items() if k not in assigned(self.code)}, where)
        for leaf in leaves(found):
            if leaf.delay is not None and not place.colour.is_timed:
                raise ColourMismatch(where, f"@+ on a place of {place.colour.name}, which is not timed")
            made.proven[id(leaf)] = not leaf.is_each and typing.proves(leaf.value, place.colour)
        return made

    def _require(self, node: ast.AST, known: set[str], where: str) -> None:
        missing = sorted(names(node) - known - set(self.scope) - _KNOWN)
        if missing:
            raise self._unbound(where, missing)

    def _unbound(self, where: str, missing: list[str]) -> UnboundVariable:
        has = ", ".join(sorted(self.bound)) if getattr(self, "bound", None) else "nothing"
        return UnboundVariable(where, f"{', '.join(missing)} has no value; the arcs into the transition bind {has}")
