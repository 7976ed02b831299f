"""Transitions as Python source: a function that finds tokens and fires, one that lists bindings, one that fires one."""

from __future__ import annotations

import ast
from collections.abc import Iterable
from dataclasses import dataclass, field
from types import CodeType

from rockdove.capacity.petri.analysis import Analysis, Input, Out
from rockdove.capacity.petri.expression import source
from rockdove.capacity.petri.output import Choice, Output, Tokens


@dataclass
class Writer:
    """Lines of source, each with what to name when it fails."""

    lines: list[str] = field(default_factory=list)
    labels: list[str] = field(default_factory=list)

    def line(self, depth: int, text: str, label: str = "") -> None:
        for each in text.splitlines():
            self.lines.append("    " * depth + each)
            self.labels.append(label)


@dataclass(frozen=True)
class Hook:
    """A line that runs after each firing of a transition, for a monitor."""

    text: str
    label: str


@dataclass(frozen=True)
class Program:
    """Compiled code that defines `_fire`, `_bindings` and `_commit`; `labels` names what each line is about."""

    code: CodeType
    source: str
    labels: tuple[str, ...]


def program(analysis: Analysis, hooks: Iterable[Hook], is_random: bool, is_checked: bool) -> Program:
    maker = _Maker(analysis, list(hooks), is_random, is_checked)
    text = maker.text()
    flat = analysis.transition
    code = compile(text, f"<net {flat.net.name}, transition {flat.name}>", "exec")
    return Program(code, text, tuple(maker.writer.labels))


class _Maker:
    """`_p3` are the tokens that are there in place 3, `_s3` is its state, `_i0` the index of the token for arc 0."""

    def __init__(self, analysis: Analysis, hooks: list[Hook], is_random: bool, is_checked: bool) -> None:
        self.writer = Writer()
        self._analysis = analysis
        self._hooks = hooks
        self._is_random = is_random
        self._is_checked = is_checked

    def text(self) -> str:
        self._fire()
        self._bindings()
        self._commit()
        return "\n".join(self.writer.lines) + "\n"

    def _fire(self) -> None:
        line = self.writer.line
        line(0, "def _fire(now):")
        places = dict.fromkeys(f"_p{each.place.index}" for each in self._analysis.inputs)
        if places:
            line(1, f"if not ({' and '.join(places)}): return False")
        free = [each for each in self._analysis.inputs if each.is_free]
        depth = self._search(1, [each for each in self._analysis.inputs if not each.is_free])
        self._take(depth, [each for each in self._analysis.inputs if not each.is_free])
        for each in free:
            self._take_any(depth, each)
        self._effect(depth)
        line(depth, "return True")
        if depth > 1:
            line(1, "return False")

    def _bindings(self) -> None:
        line = self.writer.line
        line(0, "def _bindings(now):")
        depth = self._search(1, self._analysis.inputs, is_random=False)
        line(depth, f"yield ({self._indices()}), ({self._values()})")

    def _commit(self) -> None:
        line = self.writer.line
        line(0, "def _commit(now, _i, _v):")
        if self._analysis.inputs:
            line(1, f"({self._indices()}) = _i")
        if self._analysis.variables:
            line(1, f"({self._values()}) = _v")
        self._take(1, self._analysis.inputs)
        self._effect(1)

    def _indices(self) -> str:
        return "".join(f"_i{each.number}, " for each in self._analysis.inputs)

    def _values(self) -> str:
        return "".join(f"{name}, " for name in self._analysis.variables)

    def _search(self, depth: int, inputs: list[Input], is_random: bool | None = None) -> int:
        """Nested loops over the tokens of each place; gives the depth at which all are matched."""
        is_random = self._is_random if is_random is None else is_random
        known: set[str] = set()
        seen: list[Input] = []
        for each in inputs:
            tokens, index, value = f"_p{each.place.index}", f"_i{each.number}", f"_t{each.number}"
            label = each.arc.label
            if is_random and not each.place.colour.is_single:
                self.writer.line(depth, f"for {index} in _once if len({tokens}) == 1 else _turn(len({tokens})):")
                self.writer.line(depth + 1, f"{value} = {tokens}[{index}]")
            else:
                self.writer.line(depth, f"for {index}, {value} in enumerate({tokens}):")
            depth += 1
            for other in seen:
                if other.place is each.place:
                    self.writer.line(depth, f"if {index} == _i{other.number}: continue")
            for step in each.pattern.steps(value, known):
                if step.name:
                    self.writer.line(depth, f"{step.name} = {step.text}", label)
                else:
                    self.writer.line(depth, f"if not ({step.text}): continue", label)
            for test in each.tests:
                self.writer.line(depth, f"if not ({source(test)}): continue", "guard")
            known |= set(each.pattern.variables)
            seen.append(each)
        return depth

    def _take(self, depth: int, inputs: list[Input]) -> None:
        groups: dict[int, list[int]] = {}
        for each in inputs:
            if each.is_taken:
                groups.setdefault(each.place.index, []).append(each.number)
        for place, numbers in groups.items():
            if len(numbers) == 1:
                self.writer.line(depth, f"del _p{place}[_i{numbers[0]}]")
            else:
                listed = ", ".join(f"_i{number}" for number in numbers)
                self.writer.line(depth, f"for _k in sorted(({listed}), reverse=True): del _p{place}[_k]")

    def _take_any(self, depth: int, each: Input) -> None:
        tokens, value = f"_p{each.place.index}", f"_t{each.number}"
        if each.place.colour.is_single:
            index = "-1"
        elif self._is_random:
            index = f"0 if len({tokens}) == 1 else int(_random() * len({tokens}))"
        else:
            index = "0"
        taken = f"{tokens}.pop({index})" if each.is_taken else f"{tokens}[{index}]"
        steps = each.pattern.steps(value, set())
        if len(steps) == 1 and steps[0].text == value:
            self.writer.line(depth, f"{steps[0].name} = {taken}")
            return
        self.writer.line(depth, f"{value} = {taken}" if steps else taken)
        for step in steps:
            self.writer.line(depth, f"{step.name} = {step.text}", each.arc.label)

    def _effect(self, depth: int) -> None:
        for statement in self._analysis.code:
            self.writer.line(depth, source(statement), "code")
        for number, out in enumerate(self._analysis.outputs):
            self._put(depth, number, out, out.output)
        for hook in self._hooks:
            self.writer.line(depth, hook.text, hook.label)

    def _put(self, depth: int, number: int, out: Out, what: Output) -> None:
        line = self.writer.line
        label = out.arc.label
        if what is None:
            line(depth, "pass")
        elif isinstance(what, Choice):
            line(depth, f"if {source(what.test)}:", label)
            self._put(depth + 1, number, out, what.yes)
            line(depth, "else:")
            self._put(depth + 1, number, out, what.no)
        else:
            self._put_tokens(depth, number, out, what)

    def _put_tokens(self, depth: int, number: int, out: Out, what: Tokens) -> None:
        line, label, place = self.writer.line, out.arc.label, out.place.index
        value = source(what.value)
        is_tested = self._is_checked and not out.proven[id(what)]
        if what.is_each or what.count is not None:
            values = value if what.is_each else f"[{value}] * _many({source(what.count or ast.Constant(1))})"
            line(depth, f"for _o in {values}:", label)
            depth, value = depth + 1, "_o"
        elif is_tested or what.delay is not None:
            line(depth, f"_o = {value}", label)
            value = "_o"
        if is_tested:
            line(depth, f"if not _c{place}(_o): _wrong({number}, _o)", label)
        if what.delay is None:
            line(depth, f"_p{place}.append({value})", label)
            return
        line(depth, f"_d = {source(what.delay)}", label)
        line(depth, "if _d > 0:", label)
        line(depth + 1, f"_push(_events, (now + _d, _next(), _s{place}, {value}))")
        line(depth + 1, f"_s{place}.pending += 1")
        line(depth, "else:")
        line(depth + 1, f"_now(_s{place}, {value}, _d, {number})")
