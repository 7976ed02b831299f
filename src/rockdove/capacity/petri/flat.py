"""A hierarchy as one net: substitution transitions replaced by their pages, ports and fusion sets by one place each."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any, TypeVar

from rockdove.capacity.petri.colour import Colour
from rockdove.capacity.petri.error import NetError, UnknownNode, at
from rockdove.capacity.petri.net import Net, Place, Transition


@dataclass(eq=False)
class FlatPlace:
    """`name` is the path to it, such as ``Cloud_queue.Send_Proc.Msg_ID``; ports and fused places have further ones."""

    name: str
    colour: Colour
    net: Net
    initial: str | tuple[Any, ...]
    index: int = 0
    aliases: list[str] = field(default_factory=list)


@dataclass(eq=False)
class FlatTransition:
    name: str
    net: Net
    node: Transition
    places: Mapping[str, FlatPlace]
    index: int = 0


Node = TypeVar("Node", FlatPlace, FlatTransition)


@dataclass(eq=False)
class FlatNet:
    name: str
    top: Net
    places: list[FlatPlace]
    transitions: list[FlatTransition]

    def place(self, name: str) -> FlatPlace:
        """By its path, or any end of it that only one has. Raises `UnknownNode`."""
        paths = {path: place for place in self.places for path in (place.name, *place.aliases)}
        return _find("place", name, self.name, paths)

    def transition(self, name: str) -> FlatTransition:
        """Raises `UnknownNode`."""
        return _find("transition", name, self.name, {each.name: each for each in self.transitions})


def _find(kind: str, name: str, net: str, paths: Mapping[str, Node]) -> Node:
    if name in paths:
        return paths[name]
    found = {paths[path].name: paths[path] for path in paths if path.endswith(f".{name}")}
    if len(found) == 1:
        return next(iter(found.values()))
    listed = ", ".join(sorted(found or paths)) or "none"
    what = "there are several of that name" if found else f"there is no such {kind}; there are"
    raise UnknownNode(at(net, kind, name), f"{what} {listed}" if not found else f"{what}: {listed}")


def flatten(net: Net) -> FlatNet:
    """Raises `NetError` for fused places that do not fit together."""
    flat = _Flattener()
    flat.add(net, "", {})
    for index, place in enumerate(flat.places):
        place.index = index
    for index, transition in enumerate(flat.transitions):
        transition.index = index
    return FlatNet(net.name, net, flat.places, flat.transitions)


class _Flattener:
    def __init__(self) -> None:
        self.places: list[FlatPlace] = []
        self.transitions: list[FlatTransition] = []
        self._fused: dict[str, FlatPlace] = {}

    def add(self, net: Net, path: str, sockets: Mapping[str, FlatPlace]) -> None:
        here = {name: self._place(net, place, path, sockets) for name, place in net.places.items()}
        for name, transition in net.transitions.items():
            self.transitions.append(FlatTransition(path + name, net, transition, here))
        for name, substitution in net.substitutions.items():
            given = {port: here[place] for port, place in substitution.ports.items()}
            self.add(substitution.page, f"{path}{name}.", given)

    def _place(self, net: Net, place: Place, path: str, sockets: Mapping[str, FlatPlace]) -> FlatPlace:
        if place.name in sockets:
            return self._same(sockets[place.name], net, place, path)
        if place.fusion in self._fused:
            return self._same(self._fused[place.fusion], net, place, path)
        made = FlatPlace(path + place.name, place.colour, net, place.initial)
        self.places.append(made)
        if place.fusion:
            self._fused[place.fusion] = made
        return made

    def _same(self, known: FlatPlace, net: Net, place: Place, path: str) -> FlatPlace:
        where = at(net.name, "place", place.name)
        ours, theirs = place.colour, known.colour
        if (ours.form, ours.is_timed) != (theirs.form, theirs.is_timed):
            raise NetError(where, f"it is of {ours.name}, and {known.name}, with which it is one, of {theirs.name}")
        if place.initial and not known.initial:
            known.initial, known.net = place.initial, net
        elif place.initial and place.initial != known.initial:
            raise NetError(where, f"its initial marking is not that of {known.name}, with which it is one")
        known.aliases.append(path + place.name)
        return known
