"""Five minutes of a queue, from counters that only grow."""

import math

import pytest

from rockdove.client import QueueFigures
from rockdove.console.history import BAR_S, BARS, COLUMNS, KEPT, History, percentile


def figures(**values: int | list[int]) -> QueueFigures:
    return QueueFigures(queue_name="jobs", created_timestamp=0, **values)  # type: ignore[arg-type]


def column(points: list[tuple[float, ...]], name: str) -> list[float]:
    return [point[COLUMNS.index(name)] for point in points]


def test_rates_are_differences_of_counters_over_the_time_between() -> None:
    history = History(figures(sent=10, visible=10), 100.0)
    history.add(2, 2.0, figures(sent=30, received=4, deleted=2, empty=6, visible=26, in_flight=2), 102.0)
    point = dict(zip(COLUMNS, history.point(2) or (), strict=True))
    assert point["sent"] == 10
    assert point["received"] == 2
    assert point["deleted"] == 1
    assert point["empty"] == 3
    assert (point["visible"], point["in_flight"]) == (26, 2)


def test_where_nothing_changed_the_numbers_of_messages_stay_and_the_rates_are_nothing() -> None:
    history = History(figures(visible=5), 0.0)
    history.add(4, 1.0, figures(sent=3, visible=8), 4.0)
    history.add(7, 1.0, figures(sent=3, visible=1), 7.0)
    points = list(history.points(range(1, 10)))
    assert column(points, "visible") == [5, 5, 5, 8, 8, 8, 1, 1, 1]
    assert column(points, "sent") == [0, 0, 0, 3, 0, 0, 0, 0, 0]


def test_it_forgets_what_is_older_than_five_minutes() -> None:
    history = History(figures(), 0.0)
    for tick in range(1, 2 * KEPT):
        history.add(tick, 1.0, figures(visible=tick), float(tick))
    points = list(history.points(range(KEPT, 2 * KEPT)))
    assert column(points, "visible") == [float(tick) for tick in range(KEPT, 2 * KEPT)]
    assert history.point(KEPT - 1) is None


def test_a_service_that_counts_anew_makes_no_negative_rates() -> None:
    history = History(figures(sent=1000, received=1000), 0.0)
    history.add(1, 1.0, figures(sent=3, received=1, visible=2), 1.0)
    point = history.point(1)
    assert point is not None
    assert min(value for value in point if not math.isnan(value)) == 0
    assert history.rates(1.0) == (0.0, 0.0)


def test_the_rate_of_the_table_is_that_of_five_seconds_and_goes_back_to_nothing() -> None:
    history = History(figures(), 0.0)
    history.add(100, 1.0, figures(sent=50, received=10), 100.0)
    assert history.rates(100.0) == (10.0, 2.0)
    for second in range(101, 105):
        assert history.rates(float(second)) == (10.0, 2.0)
    assert history.rates(105.0) == (0.0, 0.0)


def test_a_sparkline_has_bars_that_move_with_time() -> None:
    history = History(figures(), 1000.0)
    assert history.bars(1000.0) is None
    history.add(1, 1.0, figures(sent=20), 1001.0)
    history.add(2, 1.0, figures(sent=30, received=5), 1002.0)
    bars = history.bars(1003.0)
    assert bars is not None
    sent, received = bars
    assert len(sent) == len(received) == BARS
    assert (sent[-1], received[-1]) == (6.0, 1.0)
    later = history.bars(1003.0 + BAR_S)
    assert later is not None
    assert later[0][-2:] == [6.0, 0]
    assert history.bars(1010.0 + BAR_S * BARS) is None


def test_a_number_that_the_store_cannot_tell_is_a_gap() -> None:
    history = History(figures(), 0.0)
    history.add(1, 1.0, QueueFigures(queue_name="jobs", created_timestamp=0, visible=None), 1.0)
    assert math.isnan(column(list(history.points(range(1, 2))), "visible")[0])


@pytest.mark.parametrize(
    ("histogram", "share", "seconds"),
    [
        ([10], 0.5, 0.0005),
        ([0, 10], 0.5, 0.0015),
        ([0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 4], 1.0, 1.024),
        ([50, 0, 0, 50], 0.75, 0.006),
    ],
)
def test_percentiles_come_out_of_the_bins(histogram: list[int], share: float, seconds: float) -> None:
    assert percentile(histogram, share) == pytest.approx(seconds)


def test_without_deliveries_there_is_no_percentile() -> None:
    assert math.isnan(percentile([0, 0, 0], 0.5))
    assert math.isnan(percentile([], 0.5))
