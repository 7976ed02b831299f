"""The paper's claims, held against the figures with their default seeds: those that hold, and how far the others do."""

from functools import cache

import pytest

from rockdove.capacity.interval import Interval, interval
from rockdove.capacity.vma.experiment import Figure, Point, Run, analytic, points
from rockdove.capacity.vma.scenario import METRICS, Option
from rockdove.spark.sweep.task import Engine, simulator, stream

REPLICATIONS, SEED = 20, 1
BOTH_Q = pytest.mark.parametrize("q", [0.99, 0.88])


Place = tuple[float, int, int, float]


@cache
def _intervals(figure: Figure, option: Option) -> dict[Place, dict[str, Interval]]:
    """By what is on the axis, threads and q; as `rockdove simulate` gives them."""
    simulate = simulator(Engine.COMPILED)
    found = {}
    for place, point in enumerate(points(figure, Run())):
        s = point.scenario
        if s.option is option:
            runs = [simulate(s, stream(SEED, figure, place, number)) for number in range(REPLICATIONS)]
            found[point.x, s.n1, s.n2, s.q] = {name: interval([getattr(run, name) for run in runs]) for name in METRICS}
    return found


@cache
def _means(figure: Figure, option: Option) -> dict[Place, dict[str, float]]:
    by_place = _intervals(figure, option)
    return {place: {name: one.mean for name, one in found.items()} for place, found in by_place.items()}


def _model(figure: Figure) -> dict[tuple[float, int, int, float], dict[str, float]]:
    def key(point: Point) -> tuple[float, int, int, float]:
        return point.x, point.scenario.n1, point.scenario.n2, point.scenario.q

    free = [point for point in points(figure, Run()) if point.scenario.option is Option.OUT_OF_ORDER]
    return {key(point): analytic(point.scenario) for point in free}


def _by_n(figure: Figure, option: Option, metric: str, q: float) -> dict[int, float]:
    return {n1: values[metric] for (_, n1, _, at), values in _means(figure, option).items() if at == q}


@BOTH_Q
def test_out_of_order_agrees_with_the_analytic_model(q: float) -> None:
    model = {n1: values["delivery_s"] for (_, n1, _, at), values in _model(Figure.FIG11).items() if at == q}
    for n, mean in _by_n(Figure.FIG11, Option.OUT_OF_ORDER, "delivery_s", q).items():
        assert mean == pytest.approx(model[n], rel=0.08 if n == 4 else 0.03), n


@BOTH_Q
def test_in_order_takes_about_half_as_long_again(q: float) -> None:
    free = _by_n(Figure.FIG11, Option.OUT_OF_ORDER, "delivery_s", q)
    ordered = _by_n(Figure.FIG11, Option.IN_ORDER, "delivery_s", q)
    assert set(free) == set(range(4, 11))
    for n in free:
        # The issue is content with 1.35 to 1.70.
        assert 1.395 <= ordered[n] / free[n] < 1.525, n


@BOTH_Q
def test_the_options_are_about_equally_far_apart_from_six_threads_on(q: float) -> None:
    free = _by_n(Figure.FIG11, Option.OUT_OF_ORDER, "delivery_s", q)
    ordered = _by_n(Figure.FIG11, Option.IN_ORDER, "delivery_s", q)
    assert all(0.10 < ordered[n] - free[n] < 0.13 for n in range(6, 11))
    assert 0.165 <= ordered[4] - free[4] < 0.185


@BOTH_Q
def test_threads_of_the_broker_help_in_order_more_than_threads_of_the_senders(q: float) -> None:
    means = _means(Figure.FIG12, Option.IN_ORDER)
    broker = {n: means[n, 6, n, q]["waiting"] for n in range(4, 11)}
    sender = {n: means[n, n, 6, q]["waiting"] for n in range(4, 11)}
    assert broker[4] - broker[10] > 2 * (sender[4] - sender[10])
    assert all(broker[n] < sender[n] for n in range(7, 11))


def test_what_threads_save_in_order() -> None:
    means = _means(Figure.FIG12, Option.IN_ORDER)
    assert means[4, 6, 4, 0.99]["waiting"] - means[10, 6, 10, 0.99]["waiting"] == pytest.approx(3.9, abs=0.05)
    assert means[4, 4, 6, 0.99]["waiting"] - means[10, 10, 6, 0.99]["waiting"] == pytest.approx(1.2, abs=0.05)


def test_in_order_plateaus_near_three_and_four_messages() -> None:
    means = _means(Figure.FIG12, Option.IN_ORDER)
    for n in range(7, 11):
        assert 3.15 <= means[n, 6, n, 0.99]["waiting"] < 3.75
        assert 3.75 <= means[n, n, 6, 0.99]["waiting"] < 4.05


@BOTH_Q
def test_the_number_waiting_falls_sharply_and_is_steady_from_seven_threads_on(q: float) -> None:
    ordered, free = (_means(Figure.FIG12, option) for option in (Option.IN_ORDER, Option.OUT_OF_ORDER))
    for place in ((lambda n: (n, 6, n, q)), (lambda n: (n, n, 6, q))):
        curve = {n: ordered[place(n)]["waiting"] for n in range(4, 11)}
        assert 1.0 <= curve[4] - curve[7] < 6.45
        assert max(curve[n] for n in range(7, 11)) - min(curve[n] for n in range(7, 11)) < 0.55
        assert curve[7] - curve[10] < 0.5
        assert all(free[place(n)]["waiting"] < 0.3 for n in range(7, 11))


def test_the_number_waiting_out_of_order_agrees_with_the_analytic_model() -> None:
    model, means = _model(Figure.FIG12), _means(Figure.FIG12, Option.OUT_OF_ORDER)
    for place, values in means.items():
        predicted = model[place]["waiting"]
        near = 0.08 * predicted if predicted >= 0.5 else 0.04
        assert values["waiting"] == pytest.approx(predicted, abs=near), place
    named = [(4, 6, 4, 0.88), (7, 7, 6, 0.88)]
    assert [round(means[place]["waiting"], 2) for place in named] == [4.17, 0.22]
    assert [round(model[place]["waiting"], 2) for place in named] == [4.50, 0.26]


def test_senders_are_as_busy_whatever_the_option_and_the_reliability() -> None:
    for n in range(4, 11):
        values = [_by_n(Figure.FIG13, option, "active_sender", q)[n] for option in Option for q in (0.99, 0.88)]
        assert max(values) - min(values) < 0.01, n


@BOTH_Q
def test_in_order_leaves_the_broker_idle_more_often_and_the_more_so_the_more_threads(q: float) -> None:
    free = _by_n(Figure.FIG13, Option.OUT_OF_ORDER, "active_broker", q)
    ordered = _by_n(Figure.FIG13, Option.IN_ORDER, "active_broker", q)
    assert all(ordered[n] < free[n] - 0.03 for n in free)
    assert ordered[4] - ordered[10] > 3 * (free[4] - free[10])


def test_out_of_order_broker_and_senders_fall_alike_when_little_is_lost() -> None:
    sender = _by_n(Figure.FIG13, Option.OUT_OF_ORDER, "active_sender", 0.99)
    broker = _by_n(Figure.FIG13, Option.OUT_OF_ORDER, "active_broker", 0.99)
    assert sender[4] - sender[10] == pytest.approx(broker[4] - broker[10], abs=0.01)


def test_with_losses_the_broker_is_busier_than_the_senders_and_in_order_less_busy() -> None:
    sender = _by_n(Figure.FIG13, Option.OUT_OF_ORDER, "active_sender", 0.88)
    free = _by_n(Figure.FIG13, Option.OUT_OF_ORDER, "active_broker", 0.88)
    ordered = _by_n(Figure.FIG13, Option.IN_ORDER, "active_broker", 0.88)
    assert all(free[n] > sender[n] for n in free)
    # The paper says so from six threads on; here it is so from four.
    assert all(ordered[n] < sender[n] for n in ordered)


def test_busy_threads_are_the_same_for_both_options() -> None:
    for q in (0.99, 0.88):
        free = _by_n(Figure.FIG13, Option.OUT_OF_ORDER, "busy_broker", q)
        ordered = _by_n(Figure.FIG13, Option.IN_ORDER, "busy_broker", q)
        assert all(ordered[n] == pytest.approx(free[n], rel=0.03) for n in free)


def _over_service_time(n: int, metric: str) -> dict[float, float]:
    means = _means(Figure.FIG14, Option.OUT_OF_ORDER)
    return {x: values[metric] for (x, n1, _, _), values in sorted(means.items()) if n1 == n}


@pytest.mark.parametrize(("n", "turn_ms"), [(5, 100), (7, 140)])
def test_delivery_time_leaves_its_line_where_the_paper_has_it(n: int, turn_ms: float) -> None:
    curve = _over_service_time(n, "delivery_s")
    slope = (curve[60] - curve[20]) / 40
    straight = {x: curve[20] + slope * (x - 20) for x in curve}
    assert max(x for x in curve if curve[x] <= 1.1 * straight[x]) == turn_ms


@pytest.mark.parametrize(("service_ms", "sooner"), [(80, 0.03), (100, 0.09), (140, 0.38)])
def test_more_threads_help_with_long_services(service_ms: float, sooner: float) -> None:
    few, many = _over_service_time(5, "delivery_s"), _over_service_time(8, "delivery_s")
    assert 1 - many[service_ms] / few[service_ms] == pytest.approx(sooner, abs=0.005)


@pytest.mark.parametrize("metric", ["busy_sender", "busy_broker"])
@pytest.mark.parametrize("n", [5, 6, 7, 8])
def test_threads_are_busy_in_proportion_to_the_service_time_without_a_steady_stretch(n: int, metric: str) -> None:
    curve, model = _over_service_time(n, metric), _model(Figure.FIG14)
    for x, share in curve.items():
        predicted = model[x, n, n, 0.99].get(metric)
        assert predicted is None or share == pytest.approx(predicted, rel=0.025), x
        if predicted is not None and x > 20:
            step = predicted - model[x - 20, n, n, 0.99][metric]
            assert share - curve[x - 20] == pytest.approx(step, rel=0.2), x


@pytest.mark.parametrize(("n", "turn_ms"), [(5, 80), (7, 120)])
def test_messages_begin_to_wait_where_the_paper_has_it(n: int, turn_ms: float) -> None:
    curve = _over_service_time(n, "waiting")
    assert max(x for x in curve if curve[x] <= 0.25) == turn_ms


@pytest.mark.parametrize("n", [5, 6, 7, 8])
def test_delivery_time_rises_slowly_and_then_steeply_with_the_arrival_rate(n: int) -> None:
    means = _means(Figure.FIG15, Option.OUT_OF_ORDER)
    curve = {x: values["delivery_s"] for (x, n1, _, _), values in sorted(means.items()) if n1 == n}
    capacity = n * 10 * 0.88
    half = max(x for x in curve if x <= capacity / 2)
    near = max(x for x in curve if x <= capacity)
    assert curve[half] < 1.15 * curve[5]
    assert curve[near] - curve[near - 5] > 3 * (curve[half] - curve[5])


@pytest.mark.parametrize("n", [5, 6, 7, 8])
def test_more_messages_wait_the_more_arrive(n: int) -> None:
    means = _means(Figure.FIG15, Option.OUT_OF_ORDER)
    curve = {x: values["waiting"] for (x, n1, _, _), values in sorted(means.items()) if n1 == n}
    # With eight threads nobody waits at 5 a second, and at 10 neither.
    assert all(curve[x] <= curve[x + 5] for x in curve if x + 5 in curve)
    assert curve[65] > 1


def test_how_many_wait_with_five_threads() -> None:
    means, model = _means(Figure.FIG15, Option.OUT_OF_ORDER), _model(Figure.FIG15)
    assert [round(means[x, 5, 5, 0.88]["waiting"], 1) for x in (20, 30, 40)] == [0.1, 1.1, 10.7]
    assert [round(model[x, 5, 5, 0.88]["waiting"], 1) for x in (20, 30, 40)] == [0.1, 1.1, 10.0]


def test_with_losses_the_broker_has_more_to_do_until_it_is_full() -> None:
    model = _model(Figure.FIG15)
    for place, values in _means(Figure.FIG15, Option.OUT_OF_ORDER).items():
        if model[place]:
            assert values["busy_broker"] / values["busy_sender"] == pytest.approx(1 / 0.88, rel=0.04), place
    for x in (55, 60, 65):
        values = _means(Figure.FIG15, Option.OUT_OF_ORDER)[x, 5, 5, 0.88]
        assert values["busy_broker"] > 0.99
        assert 0.997 < values["busy_broker"] / values["busy_sender"] < 0.9995, x


def test_how_near_runs_of_100_s_come_just_before_the_system_is_unstable() -> None:
    def ratio(figure: Figure, x: float, n: int, q: float) -> float:
        place = x, n, n, q
        return _means(figure, Option.OUT_OF_ORDER)[place]["delivery_s"] / _model(figure)[place]["delivery_s"]

    last = [(40, 5), (50, 6), (60, 7), (65, 8)]
    assert [round(ratio(Figure.FIG15, x, n, 0.88), 2) for x, n in last] == [1.03, 0.93, 1.06, 1.03]
    for x, n in last:
        found = _intervals(Figure.FIG15, Option.OUT_OF_ORDER)[x, n, n, 0.88]["delivery_s"]
        assert abs(found.mean - _model(Figure.FIG15)[x, n, n, 0.88]["delivery_s"]) <= found.ci95
    assert round(ratio(Figure.FIG14, 160, 5, 0.99), 2) == 0.68


def test_where_the_system_is_not_stable_there_is_no_formula() -> None:
    model = _model(Figure.FIG15)
    assert model[65, 5, 5, 0.88] == {}
    assert set(model[5, 5, 5, 0.88]) == set(METRICS)


def test_in_order_has_a_formula_only_for_what_it_does_not_change() -> None:
    ordered = next(point for point in points(Figure.FIG11, Run()) if point.scenario.option is Option.IN_ORDER)
    assert set(analytic(ordered.scenario)) == {"busy_sender", "busy_broker", "active_sender"}
