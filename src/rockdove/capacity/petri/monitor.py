"""Monitors: what to observe of a run, or when to end it, without a change to the net."""

from __future__ import annotations

from dataclasses import dataclass


@dataclass(frozen=True)
class Collector:
    """Observes `value`, an expression over the variables of a transition and ``now``, at each of its firings for which
    `when` holds. Gives a `Sample`."""

    name: str
    transition: str
    value: str
    when: str = ""


@dataclass(frozen=True)
class Count:
    """Counts the firings of a transition for which `when` holds. Gives a `Tally`."""

    name: str
    transition: str
    when: str = ""


@dataclass(frozen=True)
class Average:
    """The mean over time of an expression over a place: ``size`` is how many tokens it has, ``tokens`` are those whose
    time has come. Gives a `Level`."""

    name: str
    place: str
    value: str = "size"


@dataclass(frozen=True)
class Breakpoint:
    """Ends a run: at a time, or after a firing of a transition for which `when` holds."""

    name: str
    transition: str = ""
    when: str = ""
    at: float | None = None


Monitor = Collector | Count | Average | Breakpoint
