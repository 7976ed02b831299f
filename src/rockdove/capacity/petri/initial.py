"""The tokens that places hold before anything happens."""

from __future__ import annotations

import ast
import builtins
from collections.abc import Iterator, Mapping
from typing import Any

from rockdove.capacity.petri.error import ColourMismatch, InvalidExpression, NetError, UnboundVariable, at
from rockdove.capacity.petri.expression import FORMS, expression, names
from rockdove.capacity.petri.flat import FlatPlace
from rockdove.capacity.petri.output import Choice, Output, counted, expressions, output


def initial(place: FlatPlace, chance: Mapping[str, object]) -> list[tuple[Any, float]]:
    """Tokens and their times; `chance` has the random functions. Raises `NetError`."""
    where = at(place.net.name, "place", place.name, "initial marking")
    if isinstance(place.initial, str):
        found = list(_evaluated(place.initial, place, chance, where))
    else:
        found = [(value, 0) for value in place.initial]
    for value, time in found:
        if not place.colour.contains(value):
            raise ColourMismatch(where, f"{value!r} is no value of {place.colour.name} ({place.colour.definition()})")
        if time and not place.colour.is_timed:
            raise ColourMismatch(where, f"@+ on a place of {place.colour.name}, which is not timed")
    return found


def _evaluated(text: str, place: FlatPlace, chance: Mapping[str, object], where: str) -> Iterator[tuple[Any, float]]:
    scope = {**chance, **place.net.scope}
    tree = output(expression(text, where), None, where)
    for node in expressions(tree):
        missing = sorted(names(node) - set(scope) - set(FORMS) - set(vars(builtins)))
        if missing:
            raise UnboundVariable(where, f"{', '.join(missing)} has no value; an initial marking has no variables")
    try:
        yield from _tokens(tree, scope)
    except NetError:
        raise
    except Exception as error:
        raise InvalidExpression(where, f'"{text}" fails: {type(error).__name__}: {error}') from error


def _tokens(tree: Output, scope: dict[str, object]) -> Iterator[tuple[Any, float]]:
    if tree is None:
        return
    if isinstance(tree, Choice):
        yield from _tokens(tree.yes if _value(tree.test, scope) else tree.no, scope)
        return
    value = _value(tree.value, scope)
    time = 0 if tree.delay is None else _value(tree.delay, scope)
    count = 1 if tree.count is None else counted(_value(tree.count, scope))
    for each in value if tree.is_each else [value] * count:
        yield each, time


def _value(node: ast.expr, scope: dict[str, object]) -> Any:
    return eval(compile(ast.fix_missing_locations(ast.Expression(node)), "<initial marking>", "eval"), dict(scope))
