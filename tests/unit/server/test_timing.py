"""Times of requests in buckets."""

from rockdove.server.timing import BOUNDS, Timing, buckets


def test_buckets_are_cumulative_and_bounds_belong_to_theirs() -> None:
    timing = Timing()
    for seconds in (0.0, BOUNDS[0], 0.0006, 31.0):
        timing.add(seconds)
    counted = dict(buckets(timing.counts))
    assert counted[str(BOUNDS[0])] == 2
    assert counted["0.001"] == 3
    assert counted[str(BOUNDS[-1])] == 3
    assert counted["+Inf"] == 4
    assert len(counted) == len(BOUNDS) + 1
    assert timing.seconds == sum((0.0, BOUNDS[0], 0.0006, 31.0))
