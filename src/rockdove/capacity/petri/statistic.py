"""What monitors collect, and what can be said of it: means, over observations and over time."""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass, field
from itertools import pairwise
from typing import Any


@dataclass
class Sample:
    """Observations, in the order in which they were made; what is not a number has no mean."""

    values: list[Any] = field(default_factory=list)

    @property
    def count(self) -> int:
        return len(self.values)

    @property
    def mean(self) -> float:
        """NaN if there are none."""
        return math.fsum(self.values) / len(self.values) if self.values else math.nan

    @property
    def deviation(self) -> float:
        """The standard deviation; NaN with less than two observations."""
        if len(self.values) < 2:
            return math.nan
        mean = self.mean
        return math.sqrt(math.fsum((value - mean) ** 2 for value in self.values) / (len(self.values) - 1))

    def quantile(self, share: float) -> float:
        """The smallest observation that so great a share is not over; NaN if there are none."""
        if not self.values:
            return math.nan
        return float(sorted(self.values)[max(0, math.ceil(share * len(self.values)) - 1)])

    def restart(self, now: float) -> None:
        self.values.clear()


@dataclass
class Observations:
    """A number of firings."""

    count: int = 0

    def note(self) -> None:
        self.count += 1

    def restart(self, now: float) -> None:
        self.count = 0


class Level:
    """A value that holds until it changes, and its mean over time."""

    __slots__ = ("_area", "_began", "_since", "value")

    def __init__(self) -> None:
        self.value: float = 0
        self._area: float = 0
        self._since: float = 0
        self._began: float = 0

    def note(self, now: float, value: float) -> None:
        self._area += self.value * (now - self._since)
        self._since = now
        self.value = value

    def mean(self, now: float) -> float:
        """NaN if no time has passed."""
        if now <= self._began:
            return math.nan
        return (self._area + self.value * (now - self._since)) / (now - self._began)

    def restart(self, now: float) -> None:
        self._area = 0
        self._since = self._began = now


def batch_means(values: Sequence[float], batches: int = 20) -> list[float]:
    """Means of consecutive batches of one long run, which are nearly independent if the batches are long."""
    cuts = [round(i * len(values) / batches) for i in range(batches + 1)]
    return [Sample(list(values[low:high])).mean for low, high in pairwise(cuts) if high > low]
