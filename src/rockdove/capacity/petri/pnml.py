"""Nets as PNML, the interchange format for Petri nets (ISO/IEC 15909-2).

A net whose places are all of UNIT, with neither time nor guards, is written as a place/transition net, which every tool
reads. Others are written as high-level nets with their inscriptions as text; what the standard has no word for (time,
code, priority) is in elements of our own, which other tools pass over. Pages of a hierarchy are nested pages; ports and
fused places refer to the place that they are one with.
"""

from __future__ import annotations

from itertools import count
from random import Random
from xml.etree.ElementTree import Element, SubElement, indent, tostring

from rockdove.capacity.petri.chance import functions
from rockdove.capacity.petri.colour import declared, plain
from rockdove.capacity.petri.flat import FlatNet, FlatPlace, flatten
from rockdove.capacity.petri.initial import initial
from rockdove.capacity.petri.net import NORMAL, Arc, Net, Transition

_GRAMMAR = "http://www.pnml.org/version-2009/grammar"
_TOOL = {"tool": "rockdove", "version": "1"}


def pnml(net: Net) -> str:
    """Raises `NetError` for a net whose hierarchy or initial marking makes no sense."""
    return _Exporter(net).text()


class _Exporter:
    def __init__(self, net: Net) -> None:
        self._net = net
        self._flat: FlatNet = flatten(net)
        self._is_plain = _is_plain(self._flat)
        self._numbers = count(1)
        # The id of the place that each flat place is.
        self._ids: dict[int, str] = {}

    def text(self) -> str:
        root = Element("pnml", xmlns=f"{_GRAMMAR}/pnml")
        kind = "ptnet" if self._is_plain else "highlevelnet"
        body = SubElement(root, "net", id=self._id("net"), type=f"{_GRAMMAR}/{kind}")
        _text(body, "name", self._net.name)
        self._page(body, self._net, "", self._net.name)
        if not self._is_plain:
            self._declarations(body)
        indent(root)
        return '<?xml version="1.0" encoding="UTF-8"?>\n' + tostring(root, encoding="unicode") + "\n"

    def _id(self, kind: str) -> str:
        return f"{kind}{next(self._numbers)}"

    def _page(self, parent: Element, net: Net, path: str, name: str) -> None:
        page = SubElement(parent, "page", id=self._id("page"))
        _text(page, "name", name)
        here = {place: self._place(page, self._flat.place(path + place), place) for place in net.places}
        for transition in net.transitions.values():
            self._transition(page, transition, here)
        for each in net.substitutions.values():
            self._page(page, each.page, f"{path}{each.name}.", each.name)

    def _place(self, page: Element, place: FlatPlace, name: str) -> str:
        known = self._ids.get(place.index)
        own = self._id("place")
        if known is not None:
            node = SubElement(page, "referencePlace", id=own, ref=known)
            _text(node, "name", name)
            return own
        self._ids[place.index] = own
        node = SubElement(page, "place", id=own)
        _text(node, "name", name)
        tokens = initial(place, functions(Random(0)))
        if self._is_plain:
            if tokens:
                _text(node, "initialMarking", str(len(tokens)))
            return own
        _text(node, "type", place.colour.name)
        if tokens:
            stated = place.initial if isinstance(place.initial, str) else None
            shown = stated or " ++ ".join(f"1`{place.colour.show(value)}" for value, _ in tokens)
            _text(node, "hlinitialMarking", shown)
        return own

    def _transition(self, page: Element, transition: Transition, places: dict[str, str]) -> None:
        own = self._id("transition")
        node = SubElement(page, "transition", id=own)
        _text(node, "name", transition.name)
        if transition.guard:
            _text(node, "condition", transition.guard)
        ours = {"code": transition.code, "delay": transition.delay}
        if transition.priority != NORMAL:
            ours["priority"] = str(transition.priority)
        if any(ours.values()):
            tool = SubElement(node, "toolspecific", _TOOL)
            for name, text in ours.items():
                if text:
                    SubElement(tool, name).text = text
        for arc in self._merged(transition):
            # Weights are positive in a place/transition net.
            if self._is_plain and not _weight(arc.text):
                continue
            self._arc(page, arc, places[arc.place], own)

    def _merged(self, transition: Transition) -> list[Arc]:
        """One arc for each place and direction, as the standard has it; what is read is taken and given back."""
        found: dict[tuple[str, str], list[str]] = {}
        for arc in transition.arcs:
            for way in ("takes", "gives") if arc.way == "reads" else (arc.way,):
                found.setdefault((arc.place, way), []).append(arc.text)
        return [Arc(place, way, " ++ ".join(texts)) for (place, way), texts in found.items()]

    def _arc(self, page: Element, arc: Arc, place: str, transition: str) -> None:
        source, target = (transition, place) if arc.way == "gives" else (place, transition)
        node = SubElement(page, "arc", id=self._id("arc"), source=source, target=target)
        if self._is_plain:
            _text(node, "inscription", str(_weight(arc.text)))
        else:
            _text(node, "hlinscription", arc.text)

    def _declarations(self, body: Element) -> None:
        found = declared(place.colour for place in self._flat.places)
        _text(body, "declaration", "\n".join(colour.declaration() for colour in found))


def _is_plain(flat: FlatNet) -> bool:
    return all(plain(place.colour).form == "unit" and not place.colour.is_timed for place in flat.places) and all(
        not (each.node.guard or each.node.code) and all(_is_counted(arc.text) for arc in each.node.arcs)
        for each in flat.transitions
    )


def _is_counted(text: str) -> bool:
    try:
        _weight(text)
    except ValueError:
        return False
    return True


def _weight(text: str) -> int:
    """How many tokens an inscription of black tokens is. Raises `ValueError` if it is none."""
    total = 0
    for part in text.split("++"):
        one = part.strip().replace(" ", "")
        if one.startswith("times(") and one.endswith(",unit)"):
            total += int(one[len("times(") : -len(",unit)")])
        elif one in ("unit", "()"):
            total += 1
        else:
            raise ValueError(one)
    return total


def _text(parent: Element, name: str, text: str) -> None:
    SubElement(SubElement(parent, name), "text").text = text
