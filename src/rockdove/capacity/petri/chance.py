"""The random functions that inscriptions may use, all drawing from one seeded source."""

from __future__ import annotations

from collections.abc import Callable
from random import Random
from typing import Any


def functions(random: Random) -> dict[str, Callable[..., Any]]:
    """By the names in `rockdove.capacity.petri.expression.RANDOM`."""
    draw = random.random

    def bernoulli(probability: float) -> bool:
        return draw() < probability

    def erlang(phases: int, rate: float) -> float:
        """The sum of `phases` exponential times of that rate each."""
        return random.gammavariate(phases, 1 / rate)

    return {
        "bernoulli": bernoulli,
        # Both ends are included, as in CPN Tools.
        "discrete": random.randint,
        "erlang": erlang,
        # By its rate, as in CPN Tools.
        "exponential": random.expovariate,
        "gamma": random.gammavariate,
        "normal": random.gauss,
        "uniform": random.uniform,
    }
