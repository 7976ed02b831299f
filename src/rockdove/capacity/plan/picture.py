"""A plan as a picture: delivery time over threads, and over arrivals, with the knees marked."""

from collections.abc import Sequence
from typing import Any, Final

import numpy as np
from msgspec.structs import replace

from rockdove.capacity.analytic.network import Network
from rockdove.capacity.analytic.spread import percentiles_s
from rockdove.capacity.plan.load import Load
from rockdove.capacity.plan.planner import Figure, Plan, Target
from rockdove.picture.plot import Line, Point, chart
from rockdove.picture.scale import counts, numbers
from rockdove.picture.sheet import Panel, sheet
from rockdove.picture.word import milliseconds

# What is slower than so many times the plan is not drawn: the curves go to infinity.
_TALL: Final = 4.0
# Steps of threads, and places of arrivals, that are drawn.
_STEPS: Final = 8
_PLACES: Final = 60


def picture(load: Load, plan: Plan, target: Target | None, knee: tuple[int, int]) -> str:
    """An SVG file of its own; `knee` is that over threads."""
    title = f"{plan.n1} sender and {plan.n2} broker threads for {load.arrival:g} messages a second"
    return sheet(title, [_over_threads(load, plan, target, knee), _over_arrivals(load, plan, target)])


def _over_threads(load: Load, plan: Plan, target: Target | None, knee: tuple[int, int]) -> Panel:
    """Each step is a thread more for both, so that the curve goes through the plan."""
    fewest = load.fewest()
    below = min(plan.n1 - fewest[0], plan.n2 - fewest[1])
    steps = range(-min(below, _STEPS), _STEPS - min(below, _STEPS // 2) + 1)
    totals = [plan.n1 + plan.n2 + 2 * step for step in steps]
    lines = _lines([load.network(plan.n1 + step, plan.n2 + step) for step in steps], plan, target)
    points = [Point(plan.n1 + plan.n2, plan.mean_s, f"plan: {plan.n1} + {plan.n2}", 1, below=True)]
    if knee == (plan.n1, plan.n2):
        points = [points[0]._replace(text=f"plan, at the knee: {plan.n1} + {plan.n2}", below=False)]
    elif totals[0] <= sum(knee) <= totals[-1]:
        points.append(Point(sum(knee), load.network(*knee).delivery_s, f"knee: {knee[0]} + {knee[1]}", 2))
    drawn = chart(totals, lines, _seconds, least=plan.mean_s * 1.2, marks=counts, points=points)
    return Panel("Delivery time over threads", "sender and broker threads", drawn, lines)


def _over_arrivals(load: Load, plan: Plan, target: Target | None) -> Panel:
    most = min(plan.n1 * load.sender_rate, plan.n2 * load.broker_rate * load.q)
    arrivals = [float(arrival) for arrival in np.linspace(most / _PLACES, most * 0.999, _PLACES)]

    def network(arrival: float) -> Network:
        return replace(load, arrival=arrival).network(plan.n1, plan.n2)

    lines = _lines([network(arrival) for arrival in arrivals], plan, target)
    bend = plan.knee_arrival
    points = [
        Point(bend, network(bend).delivery_s, f"knee: {bend:.3g}/s", 2),
        Point(load.arrival, plan.mean_s, f"plan: {load.arrival:.3g}/s", 1, below=True),
    ]
    drawn = chart(arrivals, lines, _seconds, least=plan.mean_s * 1.2, marks=numbers, points=points)
    return Panel("The same threads over arrivals", "messages a second", drawn, lines)


def _lines(networks: Sequence[Network], plan: Plan, target: Target | None) -> list[Line]:
    lines = [Line("mean", [_cut(network.delivery_s, plan.mean_s) for network in networks], 1)]
    if target is None:
        return lines
    if target.figure is Figure.P99:
        times = [_cut(percentiles_s(network, (0.99,))[0], plan.p99_s) for network in networks]
        lines.append(Line("99 %", times, 2))
    of = "99 %" if target.figure is Figure.P99 else "mean"
    return [*lines, Line(f"target, {of}", [target.seconds] * len(networks), 3)]


def _cut(time_s: float, plan_s: float) -> float | None:
    return time_s if time_s <= _TALL * plan_s else None


def _seconds(value: Any) -> str:
    return milliseconds(None if value is None else value * 1000)
