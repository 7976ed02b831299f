"""What an arc into a transition asks of a token: how its inscription is matched, and which variables that binds."""

from __future__ import annotations

import ast
from collections.abc import Mapping
from dataclasses import dataclass

from rockdove.capacity.petri.colour import Colour, Listing, Product, Record, plain
from rockdove.capacity.petri.error import ColourMismatch, InvalidExpression
from rockdove.capacity.petri.expression import NOW, RESERVED, names, source


@dataclass(frozen=True)
class Step:
    """Give `name` the value of an expression, or, without a name, go on only if the expression holds."""

    text: str
    name: str = ""


@dataclass
class Pattern:
    """A variable, ``_`` for anything, or tuples, lists and records of patterns; all else is an expression whose value
    the token has to have. ``[head, *rest]`` is a list that is not empty."""

    node: ast.expr
    colour: Colour
    scope: Mapping[str, object]
    where: str

    def __post_init__(self) -> None:
        # What it can bind, with the colour sets, and what must be known from elsewhere.
        self.variables: dict[str, Colour] = {}
        self.needs: set[str] = set()
        self._look(self.node, plain(self.colour))

    def _look(self, node: ast.expr, colour: Colour) -> None:
        if isinstance(node, ast.Name) and self._is_variable(node.id):
            self.variables.setdefault(node.id, colour)
            return
        if isinstance(node, ast.Name) and node.id in RESERVED - {NOW, *self.scope}:
            raise InvalidExpression(self.where, f"{node.id} is a word with a meaning of its own, and no variable")
        parts = self._parts(node, colour, "")
        if parts is None:
            self.needs |= {name for name in names(node) if self._is_variable(name)}
            self._refuse_constant(node, colour)
            return
        for part, of, _ in parts:
            self._look(part, of)

    def _is_variable(self, name: str) -> bool:
        return name not in self.scope and name not in RESERVED and name != "_"

    def steps(self, value: str, known: set[str]) -> list[Step]:
        """How to match a value when some variables are known already."""
        found: list[Step] = []
        self._match(self.node, plain(self.colour), value, set(known), found)
        return found

    def _match(self, node: ast.expr, colour: Colour, value: str, known: set[str], found: list[Step]) -> None:
        if isinstance(node, ast.Name) and node.id == "_":
            return
        if isinstance(node, ast.Name) and self._is_variable(node.id) and node.id not in known:
            known.add(node.id)
            found.append(Step(value, node.id))
            return
        parts = self._parts(node, colour, value)
        if parts is None:
            # Of one that is alone of its kind there is nothing to compare.
            if not colour.is_single or names(node) - set(self.scope):
                found.append(Step(f"{value} == ({source(node)})"))
            return
        if isinstance(colour, Listing):
            found.append(Step(self._length(node, value)))
        for part, of, each in parts:
            self._match(part, of, each, known, found)

    def _length(self, node: ast.expr, value: str) -> str:
        assert isinstance(node, ast.Tuple)
        fixed = sum(not isinstance(each, ast.Starred) for each in node.elts)
        if fixed == len(node.elts):
            return f"len({value}) == {fixed}"
        return value if fixed == 1 else f"len({value}) >= {fixed}"

    def _parts(self, node: ast.expr, colour: Colour, value: str) -> list[tuple[ast.expr, Colour, str]] | None:
        """The patterns that a pattern is made of, each with its colour set and how to get at its value."""
        if isinstance(node, ast.Tuple):
            return self._tuple(node, colour, value)
        if not (isinstance(node, ast.Call) and isinstance(node.func, ast.Name) and isinstance(colour, Record)):
            return None
        return self._record(node, colour, value) if self.scope.get(node.func.id) is colour.make else None

    def _tuple(self, node: ast.Tuple, colour: Colour, value: str) -> list[tuple[ast.expr, Colour, str]] | None:
        if isinstance(colour, Listing):
            return self._list(node, colour, value)
        if isinstance(colour, Product):
            if len(node.elts) != len(colour.parts):
                raise self._wrong(f"({source(node)}) has {len(node.elts)} parts", colour)
            return [
                (each, part, f"{value}[{i}]")
                for i, (each, part) in enumerate(zip(node.elts, colour.parts, strict=True))
            ]
        if not node.elts:
            return None
        raise self._wrong(f"{source(node)} is a tuple", colour)

    def _list(self, node: ast.Tuple, colour: Listing, value: str) -> list[tuple[ast.expr, Colour, str]]:
        stars = [i for i, each in enumerate(node.elts) if isinstance(each, ast.Starred)]
        if len(stars) > 1:
            raise InvalidExpression(self.where, f"{source(node)} has more than one starred part")
        star = stars[0] if stars else len(node.elts)
        found: list[tuple[ast.expr, Colour, str]] = []
        for i, each in enumerate(node.elts):
            behind = i - len(node.elts)
            if isinstance(each, ast.Starred):
                end = f"{behind + 1}" if behind + 1 else ""
                found.append((each.value, colour, f"{value}[{i}:{end}]"))
            else:
                found.append((each, colour.element, f"{value}[{i if i < star else behind}]"))
        return found

    def _record(self, node: ast.Call, colour: Record, value: str) -> list[tuple[ast.expr, Colour, str]]:
        fields = list(colour.fields)
        given = dict(zip(fields, node.args, strict=False))
        given.update({word.arg: word.value for word in node.keywords if word.arg})
        if len(node.args) > len(fields) or not set(given) <= set(fields):
            raise self._wrong(f"{source(node)} has other fields", colour)
        return [(each, colour.fields[name], f"{value}[{fields.index(name)}]") for name, each in given.items()]

    def _refuse_constant(self, node: ast.expr, colour: Colour) -> None:
        value: object
        if isinstance(node, ast.Constant):
            value = node.value
        elif isinstance(node, ast.Name) and node.id in self.scope:
            value = self.scope[node.id]
        else:
            return
        if not colour.contains(value):
            raise self._wrong(f"{source(node)} is no value", colour)

    def _wrong(self, what: str, colour: Colour) -> ColourMismatch:
        return ColourMismatch(self.where, f"{what} of colour set {colour.name} ({colour.definition()})")
