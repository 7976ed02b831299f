"""Colour sets: the types of tokens.

A value is plain Python: the unit is ``()`` (``unit`` in expressions), an element of an enumeration is a string, a
product is a tuple, a record is a named tuple and a list is a tuple. All can be compared and hashed, and none can be
changed.
"""

from __future__ import annotations

from collections import namedtuple
from collections.abc import Iterable
from typing import Any


class Colour:
    """A colour set. Tokens of a timed one may have a time from which they are there."""

    def __init__(self, name: str, is_timed: bool = False) -> None:
        self.name = name
        self.is_timed = is_timed

    @property
    def form(self) -> object:
        """What it is made of: colour sets of different forms have no value in common."""
        return type(self).__name__

    @property
    def parts(self) -> tuple[Colour, ...]:
        return ()

    @property
    def names(self) -> dict[str, object]:
        """What it brings into the expressions of a net: the elements of an enumeration, the maker of a record."""
        return {}

    @property
    def is_single(self) -> bool:
        """Whether all its tokens are alike."""
        return False

    def contains(self, value: object) -> bool:
        raise NotImplementedError

    def show(self, value: object) -> str:
        return repr(value)

    def definition(self) -> str:
        """As CPN Tools would declare it."""
        raise NotImplementedError

    def declaration(self) -> str:
        return f"colset {self.name} = {self.definition()}{' timed' if self.is_timed else ''};"

    def __repr__(self) -> str:
        return self.name


class _Plain(Colour):
    """One of Python's types."""

    def __init__(self, name: str, kind: type, word: str) -> None:
        super().__init__(name)
        self._kind = kind
        self._word = word

    @property
    def form(self) -> object:
        return self._word

    @property
    def names(self) -> dict[str, object]:
        return {"unit": ()} if self._word == "unit" else {}

    @property
    def is_single(self) -> bool:
        return self._word == "unit"

    def contains(self, value: object) -> bool:
        # bool is an int to Python, but not to anybody who types a net. A time may be a whole number.
        if self._kind is float:
            return type(value) is float or type(value) is int
        return type(value) is self._kind and (self._word != "unit" or value == ())

    def show(self, value: object) -> str:
        return "unit" if self._word == "unit" else repr(value)

    def definition(self) -> str:
        return self._word


class Range(Colour):
    """Whole numbers from `low` to `high`, both of them included."""

    def __init__(self, name: str, low: int, high: int) -> None:
        super().__init__(name)
        self.low = low
        self.high = high

    @property
    def form(self) -> object:
        return "int"

    def contains(self, value: object) -> bool:
        return type(value) is int and self.low <= value <= self.high

    def definition(self) -> str:
        return f"int with {self.low}..{self.high}"


class Enumeration(Colour):
    def __init__(self, name: str, *elements: str) -> None:
        super().__init__(name)
        self.elements = elements

    @property
    def form(self) -> object:
        return ("enumeration", self.elements)

    @property
    def names(self) -> dict[str, object]:
        return {element: element for element in self.elements}

    @property
    def is_single(self) -> bool:
        return len(self.elements) == 1

    def contains(self, value: object) -> bool:
        return type(value) is str and value in self.elements

    def show(self, value: object) -> str:
        return str(value)

    def definition(self) -> str:
        return f"with {' | '.join(self.elements)}"


class Product(Colour):
    def __init__(self, name: str, *parts: Colour) -> None:
        super().__init__(name)
        self._parts = parts

    @property
    def form(self) -> object:
        return ("product", tuple(part.form for part in self._parts))

    @property
    def parts(self) -> tuple[Colour, ...]:
        return self._parts

    def contains(self, value: object) -> bool:
        return (
            type(value) is tuple
            and len(value) == len(self._parts)
            and all(part.contains(each) for part, each in zip(self._parts, value, strict=True))
        )

    def show(self, value: Any) -> str:
        return f"({', '.join(part.show(each) for part, each in zip(self._parts, value, strict=True))})"

    def definition(self) -> str:
        return f"product {' * '.join(part.name for part in self._parts)}"


class Record(Colour):
    """`make` builds its values, and is what its name means in expressions."""

    def __init__(self, name: str, **fields: Colour) -> None:
        super().__init__(name)
        self.fields = fields
        self.make: Any = namedtuple(name, fields)  # type: ignore[misc]

    @property
    def form(self) -> object:
        return ("record", tuple((field, colour.form) for field, colour in self.fields.items()))

    @property
    def parts(self) -> tuple[Colour, ...]:
        return tuple(self.fields.values())

    @property
    def names(self) -> dict[str, object]:
        return {self.name: self.make}

    def contains(self, value: object) -> bool:
        return type(value) is self.make and all(
            colour.contains(each)
            for colour, each in zip(self.fields.values(), value, strict=True)  # type: ignore[call-overload]
        )

    def show(self, value: Any) -> str:
        shown = (f"{name}={colour.show(each)}" for (name, colour), each in zip(self.fields.items(), value, strict=True))
        return f"{self.name}({', '.join(shown)})"

    def definition(self) -> str:
        return f"record {' * '.join(f'{name}: {colour.name}' for name, colour in self.fields.items())}"


class Listing(Colour):
    def __init__(self, name: str, element: Colour) -> None:
        super().__init__(name)
        self.element = element

    @property
    def form(self) -> object:
        return ("list", self.element.form)

    @property
    def parts(self) -> tuple[Colour, ...]:
        return (self.element,)

    def contains(self, value: object) -> bool:
        return type(value) is tuple and all(map(self.element.contains, value))

    def show(self, value: Any) -> str:
        return f"[{', '.join(map(self.element.show, value))}]"

    def definition(self) -> str:
        return f"list {self.element.name}"


class Timed(Colour):
    """The tokens of another colour set, with times."""

    def __init__(self, name: str, of: Colour) -> None:
        super().__init__(name, is_timed=True)
        self.of = of

    @property
    def form(self) -> object:
        return self.of.form

    @property
    def parts(self) -> tuple[Colour, ...]:
        return (self.of,)

    @property
    def is_single(self) -> bool:
        return self.of.is_single

    def contains(self, value: object) -> bool:
        return self.of.contains(value)

    def show(self, value: object) -> str:
        return self.of.show(value)

    def definition(self) -> str:
        return self.of.definition() if isinstance(self.of, _Plain) or self.of.name == self.name else self.of.name


def timed(colour: Colour, name: str = "") -> Timed:
    """The same colour set with times, under its own name or another."""
    return Timed(name or colour.name, colour)


def plain(colour: Colour) -> Colour:
    """The colour set without its times."""
    return colour.of if isinstance(colour, Timed) else colour


def closure(colour: Colour) -> list[Colour]:
    """The colour set after all that it is made of."""
    found: list[Colour] = []
    for part in colour.parts:
        found += [each for each in closure(part) if each not in found]
    return [*found, colour]


def declared(colours: Iterable[Colour]) -> list[Colour]:
    """All that are needed to declare colour sets, each after those that it is made of; one for each name."""
    found: dict[str, Colour] = {}
    for colour in colours:
        for each in closure(colour):
            if each.is_timed or each.name not in found:
                found[each.name] = each
    return list(found.values())


UNIT = _Plain("UNIT", tuple, "unit")
BOOL = _Plain("BOOL", bool, "bool")
INT = _Plain("INT", int, "int")
REAL = _Plain("REAL", float, "real")
STRING = _Plain("STRING", str, "string")
