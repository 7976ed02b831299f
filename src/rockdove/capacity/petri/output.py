"""What an arc out of a transition puts: ``x``, ``x @+ 5``, ``times(3, x)``, ``each(xs)``, ``x if c else empty``."""

from __future__ import annotations

import ast
from collections.abc import Iterable, Mapping
from dataclasses import dataclass

from rockdove.capacity.petri.colour import INT, Colour, Listing, Product, Record, plain
from rockdove.capacity.petri.error import ColourMismatch, InvalidExpression
from rockdove.capacity.petri.expression import source


@dataclass(frozen=True)
class Tokens:
    """`count` tokens of one value, or, if `is_each`, one for each element of it; `delay` is None for at once."""

    value: ast.expr
    count: ast.expr | None = None
    is_each: bool = False
    delay: ast.expr | None = None


@dataclass(frozen=True)
class Choice:
    test: ast.expr
    yes: Output
    no: Output


Output = Tokens | Choice | None


def output(node: ast.expr, delay: ast.expr | None, where: str) -> Output:
    """Raises `InvalidExpression`."""
    if isinstance(node, ast.IfExp):
        return Choice(node.test, output(node.body, delay, where), output(node.orelse, delay, where))
    if isinstance(node, ast.Name) and node.id == "empty":
        return None
    if isinstance(node, ast.BinOp) and isinstance(node.op, ast.MatMult):
        if not (isinstance(node.right, ast.UnaryOp) and isinstance(node.right.op, ast.UAdd)):
            raise InvalidExpression(where, f"{source(node)}: a delay is written @+")
        own = node.right.operand
        return output(node.left, own if delay is None else ast.BinOp(own, ast.Add(), delay), where)
    for inner in ast.walk(node):
        if isinstance(inner, ast.BinOp) and isinstance(inner.op, ast.MatMult):
            raise InvalidExpression(where, f"{source(node)}: put what stands before @+ in parentheses")
    if isinstance(node, ast.Call) and isinstance(node.func, ast.Name) and not node.keywords:
        if node.func.id == "times" and len(node.args) == 2:
            return Tokens(node.args[1], node.args[0], delay=delay)
        if node.func.id == "each" and len(node.args) == 1:
            return Tokens(node.args[0], is_each=True, delay=delay)
    return Tokens(node, delay=delay)


def counted(count: object) -> int:
    """How many tokens ``times`` stands for. Raises ValueError."""
    if isinstance(count, bool) or not isinstance(count, int) or count < 0:
        raise ValueError(f"times takes a whole number of 0 or more, not {count!r}")
    return count


def leaves(found: Output) -> list[Tokens]:
    if found is None:
        return []
    return [found] if isinstance(found, Tokens) else [*leaves(found.yes), *leaves(found.no)]


def expressions(found: Output) -> list[ast.expr]:
    """All that has to be evaluated for it."""
    if found is None:
        return []
    if isinstance(found, Choice):
        return [found.test, *expressions(found.yes), *expressions(found.no)]
    return [each for each in (found.value, found.count, found.delay) if each is not None]


@dataclass(frozen=True)
class Typing:
    """What can be told of the colour set of an expression before it is evaluated."""

    scope: Mapping[str, object]
    variables: Mapping[str, Colour]
    where: str

    def proves(self, node: ast.expr, colour: Colour) -> bool:
        """Whether it is of the colour set for certain. Raises `ColourMismatch` if for certain it is not."""
        colour = plain(colour)
        if isinstance(node, ast.Name) and node.id in self.variables:
            return self._variable(node.id, colour)
        if isinstance(node, ast.Constant) or (isinstance(node, ast.Name) and node.id in self.scope):
            return self._constant(node, colour)
        if isinstance(node, ast.Tuple):
            return self._tuple(node, colour)
        if isinstance(node, ast.BinOp) and isinstance(node.op, ast.Add) and isinstance(colour, Listing):
            return self._all([(node.left, colour), (node.right, colour)])
        if isinstance(node, ast.BinOp) and isinstance(node.op, ast.Add | ast.Sub | ast.Mult) and colour is INT:
            return self._all([(node.left, colour), (node.right, colour)])
        if isinstance(node, ast.Call) and isinstance(node.func, ast.Name):
            return self._record(node, node.func.id, colour)
        return False

    def _variable(self, name: str, colour: Colour) -> bool:
        known = plain(self.variables[name])
        if known is colour:
            return True
        if known.form != colour.form and {known.form, colour.form} != {"int", "real"}:
            raise self._wrong(f"variable {name} is of {known.name}", colour)
        return known.name == colour.name

    def _constant(self, node: ast.expr, colour: Colour) -> bool:
        value = self.scope[node.id] if isinstance(node, ast.Name) else node.value  # type: ignore[attr-defined]
        if not colour.contains(value):
            raise self._wrong(f"{source(node)} is no value of it", colour)
        return True

    def _tuple(self, node: ast.Tuple, colour: Colour) -> bool:
        if isinstance(colour, Listing):
            return self._all(
                (each.value, colour) if isinstance(each, ast.Starred) else (each, colour.element) for each in node.elts
            )
        if isinstance(colour, Product):
            if len(node.elts) != len(colour.parts):
                raise self._wrong(f"{source(node)} has {len(node.elts)} parts", colour)
            return self._all(zip(node.elts, colour.parts, strict=True))
        if node.elts or not colour.is_single:
            raise self._wrong(f"{source(node)} is a tuple", colour)
        return True

    def _record(self, node: ast.Call, name: str, colour: Colour) -> bool:
        if not isinstance(colour, Record) or self.scope.get(name) is not colour.make:
            return False
        fields = list(colour.fields.items())
        given = [*zip(node.args, (of for _, of in fields), strict=False)]
        given += [(word.value, colour.fields[word.arg]) for word in node.keywords if word.arg in colour.fields]
        return self._all(given) and len(given) == len(fields)

    def _all(self, pairs: Iterable[tuple[ast.expr, Colour]]) -> bool:
        # All of them, even after one that cannot be proven: a later one may be wrong.
        proven = [self.proves(node, colour) for node, colour in pairs]
        return all(proven)

    def _wrong(self, what: str, colour: Colour) -> ColourMismatch:
        return ColourMismatch(self.where, f"{what}, and the place is of {colour.name} ({colour.definition()})")
