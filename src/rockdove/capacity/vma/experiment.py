"""The paper's experiments, figures 11 to 15: which systems are simulated, and what is asked of each.

What the paper leaves open is chosen here: the link takes 0.02 s, a lost message waits for no timeout, a run starts
empty and counts from its first moment on, and figures 14 and 15 go a little beyond where the smallest system becomes
unstable. The paper draws those two without in-order delivery; here it is part of every figure.
"""

from collections.abc import Iterator
from enum import StrEnum
from itertools import product
from typing import Final

from msgspec import Struct

from rockdove.capacity.analytic.network import Network
from rockdove.capacity.error import Unstable
from rockdove.capacity.vma.scenario import METRICS, Option, Scenario

_ARRIVAL: Final = 30.3
_RATE: Final = 10.0
_THREADS: Final = range(4, 11)
_RELIABILITIES: Final = (0.99, 0.88)
# What stays as it is in figure 12 while the other number of threads grows.
_FIXED: Final = 6
# The numbers of threads that figures 14 and 15 compare.
_SEVERAL: Final = (5, 6, 7, 8)
_UTILISATION: Final = METRICS[2:]


class Figure(StrEnum):
    """The figures of the paper's evaluation."""

    FIG11 = "fig11"
    FIG12 = "fig12"
    FIG13 = "fig13"
    FIG14 = "fig14"
    FIG15 = "fig15"


class Run(Struct, frozen=True, kw_only=True):
    """What all runs of an experiment share."""

    duration_s: float = 100.0
    link_s: float = 0.02
    timeout_s: float = 0.0


class Point(Struct, frozen=True, kw_only=True):
    """One system of a figure, and what each panel shows of it."""

    figure: Figure
    panels: tuple[tuple[str, tuple[str, ...]], ...]
    x_name: str
    x: float
    scenario: Scenario


def points(figure: Figure, run: Run) -> list[Point]:
    """All systems of a figure, with both options of each."""
    return list(_POINTS[figure](run))


def _delivery(run: Run) -> Iterator[Point]:
    for (panel, q), n in product(zip("ab", _RELIABILITIES, strict=True), _THREADS):
        yield from _both(run, Figure.FIG11, ((panel, ("delivery_s",)),), ("n", n), n, n, q)


def _waiting(run: Run) -> Iterator[Point]:
    for q, n in product(_RELIABILITIES, _THREADS):
        yield from _both(run, Figure.FIG12, (("a", ("waiting",)),), ("n2", n), _FIXED, n, q)
        yield from _both(run, Figure.FIG12, (("b", ("waiting",)),), ("n1", n), n, _FIXED, q)


def _utilisation(run: Run) -> Iterator[Point]:
    for (panel, q), n in product(zip("ab", _RELIABILITIES, strict=True), _THREADS):
        yield from _both(run, Figure.FIG13, ((panel, _UTILISATION),), ("n", n), n, n, q)


_THREE: Final = (("a", ("delivery_s",)), ("b", ("waiting",)), ("c", _UTILISATION))


def _service_time(run: Run) -> Iterator[Point]:
    for n, service_ms in product(_SEVERAL, range(20, 201, 20)):
        x = ("service_ms", service_ms)
        yield from _both(run, Figure.FIG14, _THREE, x, n, n, 0.99, 30.0, 1000 / service_ms)


def _arrival(run: Run) -> Iterator[Point]:
    for n, arrival in product(_SEVERAL, range(5, 66, 5)):
        yield from _both(run, Figure.FIG15, _THREE, ("arrival", arrival), n, n, 0.88, float(arrival))


_POINTS: Final = {
    Figure.FIG11: _delivery,
    Figure.FIG12: _waiting,
    Figure.FIG13: _utilisation,
    Figure.FIG14: _service_time,
    Figure.FIG15: _arrival,
}


def _both(
    run: Run,
    figure: Figure,
    panels: tuple[tuple[str, tuple[str, ...]], ...],
    x: tuple[str, float],
    n1: int,
    n2: int,
    q: float,
    arrival: float = _ARRIVAL,
    rate: float = _RATE,
) -> Iterator[Point]:
    for option in Option:
        scenario = Scenario(
            arrival=arrival,
            sender_rate=rate,
            broker_rate=rate,
            n1=n1,
            n2=n2,
            q=q,
            link_s=run.link_s,
            timeout_s=run.timeout_s,
            option=option,
            duration_s=run.duration_s,
        )
        yield Point(figure=figure, panels=panels, x_name=x[0], x=float(x[1]), scenario=scenario)


def analytic(scenario: Scenario) -> dict[str, float]:
    """What the analytic model says of each metric; nothing where the system has no steady state.

    In-order delivery has no formula, but for what does not depend on it: how much the threads have to do, and all that
    concerns the senders.
    """
    try:
        network = Network(scenario)
    except Unstable:
        return {}
    known = {
        "busy_sender": network.sender.utilisation,
        "busy_broker": network.broker.utilisation,
        "active_sender": 1 - float(network.sender.markov.length_probabilities(0)[0]),
    }
    if scenario.option is Option.IN_ORDER:
        return known
    return {
        **known,
        "delivery_s": network.delivery_s,
        "waiting": network.waiting,
        "active_broker": 1 - float(network.broker.markov.length_probabilities(0)[0]),
    }
