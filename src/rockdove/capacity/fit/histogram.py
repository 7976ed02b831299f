"""Times in buckets, small however many there were: what means, variability and distances are calculated from.

A bucket has its count, sum and sum of squares, so that mean and variance are exact. Buckets are 1.1 % wide: third and
fourth moments, which only intervals need, and percentiles are that exact.
"""

import math
from collections.abc import Iterable
from dataclasses import dataclass, replace
from functools import cached_property
from typing import Final, NamedTuple, Self

import numpy as np
from numpy.typing import NDArray
from scipy.special import stdtrit

from rockdove.capacity.estimate import Estimate

# Buckets from one number of microseconds to its double.
PER_OCTAVE: Final = 64
# The bucket of what takes less than a microsecond; others are numbered from 0, which begins with one.
BELOW: Final = -1

Floats = NDArray[np.float64]


class BucketRow(NamedTuple):
    """A bucket; sums are of microseconds and of their squares."""

    bucket: int
    number: int
    total: float
    squares: float


@dataclass(frozen=True, eq=False)
class Histogram:
    """In seconds; buckets in ascending order, each from its `start` up to its `edge`."""

    start: Floats
    edge: Floats
    count: Floats
    total: Floats
    squares: Floats

    @classmethod
    def of_rows(cls, rows: Iterable[BucketRow]) -> Self:
        """What Spark has counted; rows of the same bucket are added up."""
        table = np.asarray([tuple(row) for row in rows], np.float64).reshape(-1, 4)
        bucket, place = np.unique(table[:, 0], return_inverse=True)
        count, total, squares = (np.bincount(place, table[:, n], len(bucket)).astype(np.float64) for n in (1, 2, 3))
        start = np.where(bucket == BELOW, 0.0, 2 ** (bucket / PER_OCTAVE) / 1e6)
        return cls(start, 2 ** ((bucket + 1) / PER_OCTAVE) / 1e6, count, total / 1e6, squares / 1e12)

    @classmethod
    def of(cls, seconds: Iterable[float]) -> Self:
        return cls.of_rows(rows(seconds))

    @cached_property
    def number(self) -> int:
        return int(self.count.sum())

    @cached_property
    def mean(self) -> float:
        return float(self.total.sum() / self.number)

    @cached_property
    def variance(self) -> float:
        """Taken apart into that within and that between buckets, so that nothing is lost where it is small."""
        within = np.maximum(self.squares - self.count * self._middle**2, 0).sum()
        return float((within + self._moment(2) * self.number) / self.number)

    @property
    def scv(self) -> float:
        """Squared coefficient of variation."""
        return self.variance / self.mean**2

    @property
    def mean_estimate(self) -> Estimate:
        half = self._student * math.sqrt(self.variance / self.number)
        return Estimate(self.mean, max(self.mean - half, 0.0), self.mean + half)

    @property
    def scv_estimate(self) -> Estimate:
        """Of its logarithm, which is less skewed, by the delta method, from moments up to the fourth.

        The fourth moment of few times is too small more often than not. So the interval is as wide, at least, as that
        of times with a gamma distribution, among which are the exponential ones and Erlang's.
        """
        scv, mean = self.scv, self.mean
        if not scv:
            return Estimate(scv, scv, scv)
        measured = (
            (self._moment(4) - self.variance**2) / self.variance**2
            - 4 * self._moment(3) / (self.variance * mean)
            + 4 * scv
        )
        factor = math.exp(self._student * math.sqrt(max(measured, 2 + 2 * scv) / self.number))
        return Estimate(scv, scv / factor, scv * factor)

    def quantile(self, share: float) -> float:
        """The edge of the bucket that it falls into."""
        place = int(np.searchsorted(np.cumsum(self.count), share * self.number))
        return float(self.edge[min(place, len(self.edge) - 1)])

    def less(self, seconds: float) -> "Histogram":
        """All times shorter by so much, but not below 0."""
        middle = np.maximum(self._middle - seconds, 0.0)
        within = np.maximum(self.squares - self.count * self._middle**2, 0.0)
        squares = self.count * middle**2 + within
        start, edge = np.maximum(self.start - seconds, 0.0), np.maximum(self.edge - seconds, 0.0)
        return replace(self, start=start, edge=edge, total=self.count * middle, squares=squares)

    @cached_property
    def _middle(self) -> Floats:
        return self.total / self.count

    @property
    def _student(self) -> float:
        return float(stdtrit(max(self.number - 1, 1), 0.975))

    def _moment(self, power: int) -> float:
        """A central one, as if all times of a bucket were their mean."""
        return float((self.count * (self._middle - self.mean) ** power).sum() / self.number)


def rows(seconds: Iterable[float]) -> list[BucketRow]:
    """A row for each time; those of the same bucket are not added up."""
    found = []
    for second in seconds:
        us = second * 1e6
        found.append(BucketRow(BELOW if us < 1 else math.floor(math.log2(us) * PER_OCTAVE), 1, us, us * us))
    return found
