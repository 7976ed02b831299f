"""Nets as they are drawn: places, transitions with their arcs, and transitions that stand for other nets."""

from __future__ import annotations

import re
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

from rockdove.capacity.petri.colour import Colour, closure, declared
from rockdove.capacity.petri.error import DuplicateName, InvalidExpression, NetError, UnknownNode, at
from rockdove.capacity.petri.expression import NOW, expression, statements

# Priorities as CPN Tools has them: the smaller goes first.
HIGH, NORMAL, LOW = 100, 1_000, 10_000

# What XML has no way to write.
_UNWRITABLE = re.compile("[^\t\n\r -\ud7ff\ue000-\ufffd\U00010000-\U0010ffff]")

Inscription = str | Sequence[str]
# Tokens, or an inscription such as "times(4, thread)".
Initial = str | Iterable[Any]


@dataclass(frozen=True, eq=False)
class Place:
    """Places with the same `fusion` name are one place, wherever they are in a hierarchy. A port is what a net that
    stands under a substitution transition shares with the net above it."""

    name: str
    colour: Colour
    initial: str | tuple[Any, ...] = ()
    fusion: str = ""
    is_port: bool = False


@dataclass(frozen=True)
class Arc:
    """An inscription between a place and a transition. ``way`` is ``takes``, ``reads`` or ``gives``."""

    place: str
    way: str
    text: str

    @property
    def label(self) -> str:
        return f"arc {'to' if self.way == 'gives' else 'from'} {self.place}"


@dataclass(frozen=True, eq=False)
class Transition:
    """Fires when every arc in finds its tokens and the guard holds; then its code segment runs, and its arcs out put
    tokens, `delay` later on timed places."""

    name: str
    arcs: tuple[Arc, ...]
    guard: str = ""
    code: str = ""
    delay: str = ""
    priority: int = NORMAL


@dataclass(frozen=True, eq=False)
class Substitution:
    """A transition that stands for a net: `ports` tells which place of ours each of its ports is."""

    name: str
    page: Net
    ports: Mapping[str, str]


@dataclass
class Net:
    """A coloured Petri net, or one page of a hierarchy.

    `declare` has the constants and functions that inscriptions may use.
    """

    name: str
    declare: Mapping[str, object] = field(default_factory=dict)
    # What the figure leaves open, and what it was taken to mean.
    description: str = ""
    # Units of model time in a second, for those who show times.
    second: float = 1
    places: dict[str, Place] = field(default_factory=dict, init=False)
    transitions: dict[str, Transition] = field(default_factory=dict, init=False)
    substitutions: dict[str, Substitution] = field(default_factory=dict, init=False)

    def __post_init__(self) -> None:
        if NOW in self.declare:
            raise InvalidExpression(at(self.name), f"{NOW} is the model time, and cannot be declared")

    def place(self, name: str, colour: Colour, initial: Initial = (), *, fusion: str = "") -> Place:
        """Raises `NetError` for a name that is taken or an initial marking that is no expression."""
        return self._add(name, colour, initial, fusion, is_port=False)

    def port(self, name: str, colour: Colour, initial: Initial = ()) -> Place:
        """A place that the net above may share; simulated alone, a place like any other."""
        return self._add(name, colour, initial, "", is_port=True)

    def _add(self, name: str, colour: Colour, initial: Initial, fusion: str, is_port: bool) -> Place:
        self._refuse_taken("place", name)
        if isinstance(initial, str):
            expression(initial, at(self.name, "place", name, "initial marking"))
        kept = initial if isinstance(initial, str) else tuple(initial)
        self.places[name] = Place(name, colour, kept, fusion, is_port)
        return self.places[name]

    def transition(
        self,
        name: str,
        takes: Mapping[str, Inscription] | None = None,
        gives: Mapping[str, Inscription] | None = None,
        *,
        reads: Mapping[str, Inscription] | None = None,
        guard: str = "",
        code: str = "",
        delay: str = "",
        priority: int = NORMAL,
    ) -> Transition:
        """Arcs are given by place. What is read is looked at and stays.

        Raises `NetError`: the syntax of inscriptions and the names of places are looked at here, variables and colours
        when the net is compiled.
        """
        self._refuse_taken("transition", name)
        arcs = [
            *self._arcs(name, "takes", takes or {}),
            *self._arcs(name, "reads", reads or {}),
            *self._arcs(name, "gives", gives or {}),
        ]
        for what, text in (("guard", guard), ("delay", delay)):
            if text:
                expression(text, at(self.name, "transition", name, what))
        statements(code, at(self.name, "transition", name, "code"))
        self.transitions[name] = Transition(name, tuple(arcs), guard, code, delay, priority)
        return self.transitions[name]

    def _arcs(self, transition: str, way: str, given: Mapping[str, Inscription]) -> Iterable[Arc]:
        for place, texts in given.items():
            for text in [texts] if isinstance(texts, str) else texts:
                arc = Arc(place, way, text)
                where = at(self.name, "transition", transition, arc.label)
                if place not in self.places:
                    raise UnknownNode(where, self._unknown("place", place, self.places))
                expression(text, where)
                yield arc

    def substitute(self, name: str, page: Net, ports: Mapping[str, str]) -> Substitution:
        """Raises `NetError` if a port or a place is not there or left out, or their colour sets differ."""
        self._refuse_taken("transition", name)
        if any(each is self for each in page.pages()):
            raise NetError(at(self.name, "substitution", name), f"net {self.name} would stand under itself")
        for port, place in ports.items():
            where = at(self.name, "substitution", name, f"port {port}")
            if port not in page.places or not page.places[port].is_port:
                has = {name for name, each in page.places.items() if each.is_port}
                raise UnknownNode(where, f"net {page.name} has no port {port}; it has {_listed(has)}")
            if place not in self.places:
                raise UnknownNode(where, self._unknown("place", place, self.places))
            ours, theirs = self.places[place].colour, page.places[port].colour
            if (ours.form, ours.is_timed) != (theirs.form, theirs.is_timed):
                raise NetError(where, f"place {place} is of {ours.name}, the port of {theirs.name}")
        for port in (each.name for each in page.places.values() if each.is_port and each.name not in ports):
            where = at(self.name, "substitution", name, f"port {port}")
            raise NetError(where, f"it has no place here; give one of {_listed(self.places)}")
        self.substitutions[name] = Substitution(name, page, dict(ports))
        return self.substitutions[name]

    def pages(self) -> list[Net]:
        """This net and all that stand under it."""
        return [self, *(each for below in self.substitutions.values() for each in below.page.pages())]

    def _refuse_taken(self, kind: str, name: str) -> None:
        taken = self.places if kind == "place" else {**self.transitions, **self.substitutions}
        if not name or _UNWRITABLE.search(name):
            raise NetError(at(self.name, kind, repr(name)), "a name that cannot be drawn or exported")
        if name in taken:
            raise DuplicateName(at(self.name, kind, name), "there is one of this name already")

    def _unknown(self, kind: str, name: str, there: Iterable[str]) -> str:
        return f"there is no {kind} {name}; there are {_listed(there)}"

    @property
    def colours(self) -> list[Colour]:
        """All colour sets in use, each after those that it is made of."""
        return declared(place.colour for place in self.places.values())

    @property
    def scope(self) -> dict[str, object]:
        """What the inscriptions of this net may name: what is declared, and what its colour sets bring."""
        found: dict[str, object] = {}
        for place in self.places.values():
            for colour in closure(place.colour):
                found.update(colour.names)
        return {**found, **self.declare}


def _listed(names: Iterable[str]) -> str:
    return ", ".join(sorted(names)) or "none"
