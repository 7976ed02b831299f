"""Monitors built into the transitions that they watch."""

from __future__ import annotations

import ast
import builtins
from collections.abc import Callable, Iterable
from dataclasses import dataclass, field
from typing import Any

from rockdove.capacity.petri.analysis import Analysis
from rockdove.capacity.petri.error import DuplicateName, UnboundVariable, at
from rockdove.capacity.petri.expression import NOW, assigned, expression, names, source
from rockdove.capacity.petri.flat import FlatNet, FlatPlace
from rockdove.capacity.petri.monitor import Average, Breakpoint, Collector, Count, Monitor
from rockdove.capacity.petri.program import Hook
from rockdove.capacity.petri.state import PlaceState
from rockdove.capacity.petri.statistic import Level, Observations, Sample


@dataclass
class Hooks:
    """What transitions are to do for monitors, by index; `names` are what those lines refer to."""

    lines: dict[int, list[Hook]] = field(default_factory=dict)
    names: dict[str, Any] = field(default_factory=dict)
    samples: dict[str, Sample] = field(default_factory=dict)
    tallies: dict[str, Observations] = field(default_factory=dict)
    levels: dict[str, Level] = field(default_factory=dict)
    # How to look at what each level is of.
    looks: dict[str, Callable[[], float]] = field(default_factory=dict)
    # Which levels change as time goes on, without a firing: those of tokens whose time comes.
    ripening: list[str] = field(default_factory=list)
    ends: list[float] = field(default_factory=list)
    # The names of breakpoints that were reached.
    reached: list[str] = field(default_factory=list)


def hooks(flat: FlatNet, analyses: list[Analysis], states: list[PlaceState], monitors: Iterable[Monitor]) -> Hooks:
    """Raises `NetError` for nodes and variables that are not there."""
    found = Hooks()
    builder = _Builder(flat, analyses, states, found)
    seen: set[str] = set()
    for number, monitor in enumerate(monitors):
        if monitor.name in seen:
            raise DuplicateName(at(flat.name, "monitor", monitor.name), "there is one of this name already")
        seen.add(monitor.name)
        builder.add(number, monitor)
    return found


class _Builder:
    def __init__(self, flat: FlatNet, analyses: list[Analysis], states: list[PlaceState], found: Hooks) -> None:
        self._flat = flat
        self._analyses = analyses
        self._states = states
        self._found = found

    def add(self, number: int, monitor: Monitor) -> None:
        call = f"_m{number}"
        match monitor:
            case Collector():
                sample = self._found.samples[monitor.name] = Sample()
                self._found.names[call] = sample.values.append
                self._on_transition(monitor, f"{call}({self._text(monitor, monitor.value)})")
            case Count():
                tally = self._found.tallies[monitor.name] = Observations()
                self._found.names[call] = tally.note
                self._on_transition(monitor, f"{call}()")
            case Average():
                level = self._found.levels[monitor.name] = Level()
                self._found.names[call] = level.note
                self._on_place(number, monitor)
            case Breakpoint():
                if monitor.at is not None:
                    self._found.ends.append(monitor.at)
                if monitor.transition:
                    self._found.names[call] = self._found.reached.append
                    self._on_transition(monitor, f"{call}({monitor.name!r})")

    def _on_transition(self, monitor: Collector | Count | Breakpoint, line: str) -> None:
        index = self._flat.transition(monitor.transition).index
        text = f"if {self._text(monitor, monitor.when)}: {line}" if monitor.when else line
        self._found.lines.setdefault(index, []).append(Hook(text, f"monitor {monitor.name}"))

    def _text(self, monitor: Collector | Count | Breakpoint, text: str) -> str:
        transition = self._flat.transition(monitor.transition)
        where = at(transition.net.name, "transition", transition.node.name, f"monitor {monitor.name}")
        node = expression(text, where)
        analysis = self._analyses[transition.index]
        known = {*analysis.variables, *assigned(analysis.code), *analysis.scope, *vars(builtins), NOW}
        self._require(node, known, where)
        return source(node)

    def _on_place(self, number: int, monitor: Average) -> None:
        place = self._flat.place(monitor.place)
        where = at(place.net.name, "place", place.name, f"monitor {monitor.name}")
        node = expression(monitor.value, where)
        scope = place.net.scope
        self._require(node, {"size", "tokens", *scope, *vars(builtins)}, where)
        if place.colour.is_timed and "tokens" in names(node):
            self._found.ripening.append(monitor.name)
        text = source(_Names(place).visit(node))
        state = self._states[place.index]
        own = {**scope, f"_p{place.index}": state.ready, f"_s{place.index}": state}
        look = eval(f"lambda: {text}", own)
        self._found.looks[monitor.name] = look
        if names(node) & set(scope):
            # The transition may be of a net where these names mean something else.
            self._found.names[f"_l{number}"] = look
            text = f"_l{number}()"
        for index, analysis in enumerate(self._analyses):
            if _touches(analysis, place):
                line = Hook(f"_m{number}(now, {text})", f"monitor {monitor.name}")
                self._found.lines.setdefault(index, []).append(line)

    def _require(self, node: ast.expr, known: set[str], where: str) -> None:
        missing = sorted(names(node) - known)
        if missing:
            raise UnboundVariable(where, f"{', '.join(missing)} has no value")


class _Names(ast.NodeTransformer):
    def __init__(self, place: FlatPlace) -> None:
        tokens = f"_p{place.index}"
        self._means = {"tokens": tokens, "size": f"(len({tokens}) + _s{place.index}.pending)"}

    def visit_Name(self, node: ast.Name) -> ast.AST:
        text = self._means.get(node.id)
        return ast.parse(text, mode="eval").body if text else node


def _touches(analysis: Analysis, place: FlatPlace) -> bool:
    taken = any(each.place is place and each.is_taken for each in analysis.inputs)
    return taken or any(out.place is place for out in analysis.outputs)
