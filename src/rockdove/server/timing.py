"""How long requests take, by operation: counted up on the hot path, so it is a list of numbers and little else."""

from bisect import bisect_left
from collections.abc import Sequence
from itertools import accumulate

# Upper bounds in seconds. A send is answered after an fsync (milliseconds), a receive may wait for 20 seconds.
BOUNDS = (0.0005, 0.001, 0.0025, 0.005, 0.01, 0.025, 0.05, 0.1, 0.25, 0.5, 1.0, 2.5, 5.0, 10.0, 20.0, 30.0)


class Timing:
    """The times of one operation's requests, from the last byte read to the answer."""

    __slots__ = ("counts", "seconds")

    def __init__(self) -> None:
        # One for each bound, and one for what took longer.
        self.counts = [0] * (len(BOUNDS) + 1)
        self.seconds = 0.0

    def add(self, seconds: float) -> None:
        self.counts[bisect_left(BOUNDS, seconds)] += 1
        self.seconds += seconds


def buckets(counts: Sequence[int]) -> list[tuple[str, float]]:
    """Bounds, and how many requests took no longer, as Prometheus has them."""
    return list(zip([*map(str, BOUNDS), "+Inf"], map(float, accumulate(counts)), strict=True))
