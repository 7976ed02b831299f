"""Runs a net: fires enabled transitions, and lets time go on when there are none."""

from __future__ import annotations

import math
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from heapq import heappop, heappush
from itertools import chain, count
from random import Random
from typing import Any, Literal, NoReturn

from rockdove.capacity.petri.analysis import Analysis
from rockdove.capacity.petri.chance import functions
from rockdove.capacity.petri.error import ColourMismatch, InvalidExpression, NetError, at
from rockdove.capacity.petri.flat import FlatNet, flatten
from rockdove.capacity.petri.hook import hooks
from rockdove.capacity.petri.initial import initial
from rockdove.capacity.petri.monitor import Monitor
from rockdove.capacity.petri.net import Net
from rockdove.capacity.petri.output import counted
from rockdove.capacity.petri.program import Program, program
from rockdove.capacity.petri.state import Event, PlaceState
from rockdove.capacity.petri.statistic import Level, Observations, Sample

Fire = Callable[[float], bool]


@dataclass(frozen=True)
class Token:
    """A value in a place, and the time from which it is there; 0 for those that are."""

    value: Any
    time: float = 0


@dataclass(frozen=True)
class Binding:
    """A transition that may fire, and the values of its variables."""

    transition: str
    values: Mapping[str, Any]
    index: int
    _indices: tuple[int, ...] = ()

    def __str__(self) -> str:
        values = ", ".join(f"{name} = {value!r}" for name, value in self.values.items())
        return f"{self.transition} ({values})" if values else self.transition


class Simulator:
    """One run of a net, from its initial marking.

    The choice between enabled transitions of the same priority is random, and so is that between tokens, as in CPN
    Tools: each that is possible happens with some probability. With ``choice="first"`` the oldest token goes first.
    With ``check=False``, values that transitions put are not compared with colour sets; this is for nets that are known
    to be right, and more than twice as fast on those that handle lists.

    Raises `NetError` for a net that cannot run, and so do all methods that fire transitions.
    """

    def __init__(
        self,
        net: Net | FlatNet,
        *,
        seed: int = 0,
        monitors: Sequence[Monitor] = (),
        choice: Literal["random", "first"] = "random",
        check: bool = True,
    ) -> None:
        self.flat = flatten(net) if isinstance(net, Net) else net
        self.now: float = 0
        self.firings = 0
        self._random = Random(seed)
        self._events: list[Event] = []
        self._next = count().__next__
        self._states = [PlaceState(place.index) for place in self.flat.places]
        self._analyses = [Analysis(transition) for transition in self.flat.transitions]
        self._hooks = hooks(self.flat, self._analyses, self._states, monitors)
        self._programs = [
            program(analysis, self._hooks.lines.get(index, ()), choice == "random", check)
            for index, analysis in enumerate(self._analyses)
        ]
        linked = [self._link(*pair) for pair in zip(self._analyses, self._programs, strict=True)]
        self._fires: list[Fire] = [each["_fire"] for each in linked]
        self._bindings: list[Callable[[float], Iterator[Any]]] = [each["_bindings"] for each in linked]
        self._commits: list[Callable[..., None]] = [each["_commit"] for each in linked]
        self._connect()
        self._place_initial()

    def _link(self, analysis: Analysis, made: Program) -> dict[str, Any]:
        def wrong(number: int, value: object) -> NoReturn:
            out = analysis.outputs[number]
            colour = out.place.colour
            raise ColourMismatch(out.where, f"{value!r} is no value of {colour.name} ({colour.definition()})")

        def at_once(state: PlaceState, value: object, delay: float, number: int) -> None:
            if not delay >= 0:
                raise InvalidExpression(analysis.outputs[number].where, f"a delay of {delay}")
            state.ready.append(value)
            self._wake(state.consumers)

        names: dict[str, Any] = {**functions(self._random), **analysis.scope, **self._hooks.names}
        names |= {"_events": self._events, "_push": heappush, "_next": self._next, "_random": self._random.random}
        names |= {"_wrong": wrong, "_now": at_once, "_many": counted, "_turn": self._turn, "_once": (0,)}
        for place, state in zip(self.flat.places, self._states, strict=True):
            names[f"_p{place.index}"], names[f"_s{place.index}"] = state.ready, state
            names[f"_c{place.index}"] = place.colour.contains
        exec(made.code, names)
        return names

    def _turn(self, length: int) -> Iterable[int]:
        """Indices from a random one on, around."""
        begin = int(self._random.random() * length)
        return chain(range(begin, length), range(begin))

    def _connect(self) -> None:
        """Who is to be looked at when, and in which order."""
        levels = sorted({each.node.priority for each in self.flat.transitions})
        self._pools: list[list[int]] = [[] for _ in levels]
        self._pool_of = [self._pools[levels.index(each.node.priority)] for each in self.flat.transitions]
        self._is_queued = [False] * len(self._analyses)
        takers: dict[int, list[int]] = {}
        for index, analysis in enumerate(self._analyses):
            for place in dict.fromkeys(each.place.index for each in analysis.inputs):
                takers.setdefault(place, []).append(index)
        for state in self._states:
            state.consumers = tuple(takers.get(state.index, ()))
        self._wakes = [
            tuple(dict.fromkeys(taker for place in each.fed for taker in takers.get(place.index, ())))
            for each in self._analyses
        ]
        self._by_time = [index for index, analysis in enumerate(self._analyses) if analysis.uses_time]

    def _place_initial(self) -> None:
        chance = functions(self._random)
        for place, state in zip(self.flat.places, self._states, strict=True):
            for value, time in initial(place, chance):
                self._put(state, value, time)
        self._wake(range(len(self._analyses)))
        self._look(self._hooks.levels)

    def _put(self, state: PlaceState, value: object, time: float) -> None:
        if time > self.now:
            heappush(self._events, (time, self._next(), state, value))
            state.pending += 1
        else:
            state.ready.append(value)

    def _look(self, levels: Iterable[str]) -> None:
        for name in levels:
            try:
                self._hooks.levels[name].note(self.now, self._hooks.looks[name]())
            except Exception as error:
                where = at(self.flat.name, "monitor", name)
                raise InvalidExpression(where, f"{type(error).__name__}: {error}") from error

    def _wake(self, transitions: Iterable[int]) -> None:
        for index in transitions:
            if not self._is_queued[index]:
                self._is_queued[index] = True
                self._pool_of[index].append(index)

    # Running.

    def run(self, until: float = math.inf, firings: float = math.inf) -> int:
        """Fire until nothing can happen before or at `until`, a breakpoint is reached, or so often; gives how often.

        Time is then `until`, unless the run ended before it or there is no such time. Raises `NetError` for NaN.
        """
        if math.isnan(until) or math.isnan(firings):
            raise NetError(at(self.flat.name), f"a run until {until} and of {firings} firings has no end")
        until = min([until, *(end for end in self._hooks.ends if end > self.now)])
        self._hooks.reached.clear()
        began = self.firings
        try:
            is_over = self._run(until, began + firings)
        except NetError:
            raise
        except Exception as error:
            raise self._failure(error) from error
        if is_over and until < math.inf:
            self.now = max(self.now, until)
        return self.firings - began

    def _run(self, until: float, limit: float) -> bool:
        """Whether nothing more happens up to `until`."""
        fires, wakes, pools, pool_of, queued = self._fires, self._wakes, self._pools, self._pool_of, self._is_queued
        reached, random, now, done = self._hooks.reached, self._random.random, self.now, self.firings
        try:
            while True:
                for pool in pools:
                    if pool:
                        break
                else:
                    if not self._advance(until):
                        return True
                    now = self.now
                    continue
                if done >= limit:
                    return False
                place = int(random() * len(pool)) if len(pool) > 1 else 0
                index = pool[place]
                if not fires[index](now):
                    pool[place] = pool[-1]
                    pool.pop()
                    queued[index] = False
                    continue
                done += 1
                for other in wakes[index]:
                    if not queued[other]:
                        queued[other] = True
                        pool_of[other].append(other)
                if reached:
                    return False
        finally:
            self.firings = done

    def _advance(self, until: float) -> bool:
        """Go on to the time of the next token, if there is one up to `until`."""
        events = self._events
        if not events or events[0][0] > until:
            return False
        now = self.now = events[0][0]
        queued, pool_of = self._is_queued, self._pool_of
        while events and events[0][0] <= now:
            _, _, state, value = heappop(events)
            state.pending -= 1
            state.ready.append(value)
            for index in state.consumers:
                if not queued[index]:
                    queued[index] = True
                    pool_of[index].append(index)
        if self._by_time:
            self._wake(self._by_time)
        if self._hooks.ripening:
            self._look(self._hooks.ripening)
        return True

    def _failure(self, error: Exception) -> NetError:
        """The error of an inscription, with the place where it stands."""
        label, index = "", -1
        trace = error.__traceback__
        names = {made.code.co_filename: index for index, made in enumerate(self._programs)}
        while trace is not None:
            file = trace.tb_frame.f_code.co_filename
            if file in names:
                index = names[file]
                label = self._programs[index].labels[trace.tb_lineno - 1]
            trace = trace.tb_next
        if index < 0:
            raise error
        flat = self.flat.transitions[index]
        where = at(flat.net.name, "transition", flat.node.name, label)
        return InvalidExpression(where, f"{type(error).__name__}: {error}")

    # Step by step.

    def enabled(self) -> list[Binding]:
        """What may happen now: the bindings of the transitions of the highest priority among those that have any."""
        for priority in sorted({each.node.priority for each in self.flat.transitions}):
            found = [
                binding
                for each in self.flat.transitions
                if each.node.priority == priority
                for binding in self._of(each.index)
            ]
            if found:
                return found
        return []

    def _of(self, index: int) -> list[Binding]:
        analysis = self._analyses[index]
        found: dict[Any, Binding] = {}
        try:
            for indices, values in self._bindings[index](self.now):
                named = dict(zip(analysis.variables, values, strict=True))
                found.setdefault(
                    (
                        values,
                        *(
                            self._states[each.place.index].ready[i]
                            for each, i in zip(analysis.inputs, indices, strict=True)
                        ),
                    ),
                    Binding(self.flat.transitions[index].name, named, index, indices),
                )
        except Exception as error:
            raise self._failure(error) from error
        return list(found.values())

    def fire(self, binding: Binding) -> None:
        """Fire one of those that are `enabled`, before anything else happens."""
        analysis = self._analyses[binding.index]
        values = tuple(binding.values[name] for name in analysis.variables)
        try:
            self._commits[binding.index](self.now, binding._indices, values)
        except NetError:
            raise
        except Exception as error:
            raise self._failure(error) from error
        self.firings += 1
        self._wake((*self._wakes[binding.index], binding.index))

    def step(self, until: float = math.inf) -> Binding | None:
        """Fire one at random, after time has gone on if it has to; None if nothing can happen up to `until`."""
        while not (choices := self.enabled()):
            if not self.advance(until):
                return None
        chosen = choices[int(self._random.random() * len(choices))]
        self.fire(chosen)
        return chosen

    def advance(self, until: float = math.inf) -> bool:
        """Let time go on to the next token that waits for it, if there is one up to `until`."""
        return self._advance(until)

    # Looking.

    def marking(self) -> dict[str, list[Token]]:
        """The tokens of each place, those whose time has come first."""
        found = {place.name: [Token(value) for value in self._states[place.index].ready] for place in self.flat.places}
        for time, _, state, value in sorted(self._events, key=lambda event: event[:2]):
            found[self.flat.places[state.index].name].append(Token(value, time))
        return found

    def restore(self, marking: Mapping[str, Iterable[Token]], now: float = 0) -> None:
        """Put tokens where they were."""
        self.now = now
        self._events.clear()
        for place, state in zip(self.flat.places, self._states, strict=True):
            state.ready.clear()
            state.pending = 0
            for token in marking.get(place.name, ()):
                self._put(state, token.value, token.time)
        self._wake(range(len(self._analyses)))
        self._look(self._hooks.levels)

    def describe(self, binding: Binding) -> str:
        """A transition and its variables, in the words of their colour sets."""
        bound = self._analyses[binding.index].bound
        values = ", ".join(f"{name} = {bound[name].show(value)}" for name, value in binding.values.items())
        return f"{binding.transition} ({values})" if values else binding.transition

    def tokens(self, place: str) -> list[Token]:
        """Those of one place. Raises `UnknownNode`."""
        return self.marking()[self.flat.place(place).name]

    def restart_monitors(self) -> None:
        """Forget what was collected so far: what happened until now was warming up."""
        found: list[Sample | Observations | Level] = [*self._hooks.samples.values(), *self._hooks.tallies.values()]
        for each in (*found, *self._hooks.levels.values()):
            each.restart(self.now)

    @property
    def is_at_breakpoint(self) -> bool:
        """Whether a breakpoint ended the last run, or one would that goes up to now."""
        return bool(self._hooks.reached) or self.now in self._hooks.ends

    def sample(self, name: str) -> Sample:
        """What a `Collector` has collected."""
        return self._hooks.samples[name]

    def tally(self, name: str) -> Observations:
        """What a `Count` has counted."""
        return self._hooks.tallies[name]

    def mean(self, name: str) -> float:
        """The mean over time of an `Average`, up to now."""
        return self._hooks.levels[name].mean(self.now)
