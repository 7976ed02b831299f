"""The cheapest threads that meet a target, by the analytic model."""

from collections.abc import Callable
from enum import StrEnum
from functools import cache, partial

from msgspec import Struct

from rockdove.capacity.analytic.spread import percentiles_s
from rockdove.capacity.error import require_positive
from rockdove.capacity.plan.knee import knee_arrival, knee_threads
from rockdove.capacity.plan.load import Load

# How far above the least that is possible a plan is that is offered instead of an impossible one.
_OFFERED = 1.05


class Figure(StrEnum):
    """What a target is about."""

    MEAN = "mean"
    P99 = "p99"


class Target(Struct, frozen=True):
    """Delivery within `seconds`, on average or for 99 of 100 messages."""

    figure: Figure
    seconds: float


class Check(Struct, frozen=True):
    """What a simulation says to the mean, with the half-width of its 95 % interval."""

    mean_s: float
    ci95: float


class Plan(Struct, frozen=True, kw_only=True):
    """This is also its JSON. If it is not feasible, it is what would be possible instead."""

    n1: int
    n2: int
    cost: float
    mean_s: float
    p50_s: float
    p95_s: float
    p99_s: float
    waiting: float
    utilisation_sender: float
    utilisation_broker: float
    knee_arrival: float
    feasible: bool
    check: Check | None = None


def plan(load: Load, target: Target | None, cost_sender: float = 1.0, cost_broker: float = 1.0) -> Plan:
    """Of equally cheap ones the fastest; without a target the threads at the knee.

    Raises `InvalidScenario`.
    """
    require_positive(cost_sender=cost_sender, cost_broker=cost_broker)
    if target is None:
        return describe(load, *knee_threads(load, cost_sender, cost_broker), cost_sender, cost_broker)
    require_positive(target=target.seconds)
    figure = _figure(load, target.figure)
    least_s = figure(*load.ample())
    feasible = least_s <= target.seconds
    n1, n2 = _cheapest(load, figure, target.seconds if feasible else least_s * _OFFERED, cost_sender, cost_broker)
    return describe(load, n1, n2, cost_sender, cost_broker, feasible)


def least_s(load: Load, figure: Figure) -> float:
    """What no number of threads is faster than."""
    return _figure(load, figure)(*load.ample())


def describe(
    load: Load, n1: int, n2: int, cost_sender: float = 1.0, cost_broker: float = 1.0, feasible: bool = True
) -> Plan:
    network = load.network(n1, n2)
    p50_s, p95_s, p99_s = percentiles_s(network, (0.5, 0.95, 0.99))
    return Plan(
        n1=n1,
        n2=n2,
        cost=cost_sender * n1 + cost_broker * n2,
        mean_s=network.delivery_s,
        p50_s=p50_s,
        p95_s=p95_s,
        p99_s=p99_s,
        waiting=network.waiting,
        utilisation_sender=network.sender.utilisation,
        utilisation_broker=network.broker.utilisation,
        knee_arrival=knee_arrival(load, n1, n2),
        feasible=feasible,
    )


def _figure(load: Load, figure: Figure) -> Callable[[int, int], float]:
    @cache
    def value(n1: int, n2: int) -> float:
        network = load.network(n1, n2)
        return network.delivery_s if figure is Figure.MEAN else percentiles_s(network, (0.99,))[0]

    return value


def _cheapest(
    load: Load, figure: Callable[[int, int], float], target_s: float, cost_sender: float, cost_broker: float
) -> tuple[int, int]:
    """Along the border of what is fast enough: the fewest broker threads for each number of senders.

    More broker threads are never slower. More senders can be: they pass on bursts, or let go what fewer of them had
    made regular, unless what they get and what they do are both exponential.
    """
    (n1, least2), (ample1, ample2) = load.fewest(), load.ample()

    def enough(n1: int, n2: int) -> bool:
        return figure(n1, n2) <= target_s

    if load.arrival_scv == load.sender_scv == 1:
        n1 = _first(n1, ample1, lambda n: enough(n, ample2))
        least2 = _first(least2, ample2, lambda n: enough(ample1, n))
    n2 = ample2
    best: tuple[float, float, int, int] | None = None
    while n1 <= ample1 and (best is None or cost_sender * n1 + cost_broker * least2 <= best[0]):
        if enough(n1, ample2):
            n2 = _near(least2, ample2, n2, partial(enough, n1))
            found = (cost_sender * n1 + cost_broker * n2, figure(n1, n2), n1, n2)
            best = found if best is None else min(best, found)
        n1 += 1
    return (ample1, ample2) if best is None else (best[2], best[3])


def _near(low: int, high: int, guess: int, holds: Callable[[int], bool]) -> int:
    """As `_first`, and quick where the guess is nearly right."""
    step = 1
    if holds(guess):
        while guess - step >= low and holds(guess - step):
            guess, step = guess - step, 2 * step
        return _first(max(guess - step + 1, low), guess, holds)
    while guess + step <= high and not holds(guess + step):
        guess, step = guess + step, 2 * step
    return _first(guess + 1, min(guess + step, high), holds)


def _first(low: int, high: int, holds: Callable[[int], bool]) -> int:
    """The smallest number for which it holds; for `high` it does, and for all above one for which it does."""
    while low < high:
        middle = (low + high) // 2
        if holds(middle):
            high = middle
        else:
            low = middle + 1
    return low
