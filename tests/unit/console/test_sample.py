"""What is written down of an elastic queue."""

import math

from rockdove.console import sample
from rockdove.console.sample import Load, Samples, point


def test_production_is_what_was_sent_since_the_last_look() -> None:
    samples = Samples()
    assert math.isnan(samples.production(10, 100))
    assert samples.production(12, 150) == 25
    assert samples.production(14, 150) == 0


def test_production_is_not_known_when_the_service_has_begun_anew() -> None:
    samples = Samples()
    samples.production(10, 100)
    assert math.isnan(samples.production(12, 3))
    assert samples.production(14, 13) == 5


def test_loads_are_of_those_that_take_part() -> None:
    loads = [Load(0, "up", 30), Load(1, "draining", 10), Load(2, "starting", 0), Load(3, "away", 2)]
    made = point(1, 5, loads, 3)
    assert (made.max_load, made.average_load) == (30, 14)
    assert (made.workers, made.starting, made.target) == (2, 1, 3)


def test_without_physical_queues_there_is_no_load() -> None:
    made = point(1, 5, [], math.nan)
    assert math.isnan(made.max_load)
    assert made.workers == 0


def test_since_gives_what_is_younger_and_null_for_what_is_not_known() -> None:
    samples = Samples()
    for time in (1, 2, 3):
        samples.add(point(time, math.nan, [Load(0, "up", time)], 1))
    found = samples.since(1)
    assert found["time"] == [2, 3]
    assert found["max_load"] == [2, 3]
    assert found["production"] == [None, None]


def test_times_only_go_forward_and_there_is_an_end() -> None:
    samples = Samples()
    for time in range(sample.MOST + 10):
        samples.add(point(time, 0, [], 0))
    samples.add(point(5, 0, [], 0))
    times = samples.since(-1)["time"]
    assert len(times) == sample.MOST
    assert times[-1] == sample.MOST + 9
