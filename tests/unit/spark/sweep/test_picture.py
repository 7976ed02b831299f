"""Where pictures are cut."""

import re
import warnings
from typing import Any

import pytest
from matplotlib.legend import Legend
from msgspec.structs import replace

from rockdove.capacity.vma.experiment import Figure, Run, analytic, points
from rockdove.capacity.vma.scenario import METRICS, Option
from rockdove.spark.sweep.picture import picture
from rockdove.spark.sweep.row import Drawn, SweepRow, rows

ENDLESS_S = 1_000.0


def of_the_model(figure: Figure, run: Run) -> list[SweepRow]:
    """As if simulations were the analytic model, and had long queues where it has none."""
    found = []
    for point in points(figure, run):
        model = analytic(replace(point.scenario, option=Option.OUT_OF_ORDER))
        found += rows(point, "compiled", 2, {name: [model.get(name, ENDLESS_S)] * 2 for name in METRICS})
    return found


@pytest.mark.parametrize("timeout_s", [0.0, 30.0])
@pytest.mark.parametrize("figure", [Figure.FIG14, Figure.FIG15])
def test_what_is_stable_is_inside_whatever_was_asked(figure: Figure, timeout_s: float) -> None:
    made = of_the_model(figure, Run(timeout_s=timeout_s))
    free = [row for row in made if row.metric == "delivery_s" and row.option == "out_of_order"]
    stable = [row for row in free if row.analytic is not None]
    told = re.search(r"<!-- \(a\) (\d+) points are further up -->", picture(Drawn(figure, made)).decode())
    assert told is not None
    endless = 2 * (len(free) - len(stable))
    # Both options, and the analytic model.
    assert endless <= int(told[1]) <= endless + 0.06 * 3 * len(stable)


def test_a_figure_of_stable_systems_is_not_cut() -> None:
    drawn = picture(Drawn(Figure.FIG11, of_the_model(Figure.FIG11, Run()))).decode()
    assert "further up" not in drawn


def test_utilisation_is_drawn_for_both_options() -> None:
    drawn = picture(Drawn(Figure.FIG14, of_the_model(Figure.FIG14, Run()))).decode()
    panel = drawn[drawn.index("(c) busy threads") :]
    assert "<!-- in order -->" in panel
    assert "<!-- out of order -->" in panel


def test_a_machine_that_is_slow_is_told_nothing_of_legends(monkeypatch: pytest.MonkeyPatch) -> None:
    place = vars(Legend)["_find_best_position"]

    def find(legend: Any, *arguments: Any, **options: Any) -> Any:
        warnings.warn('Creating legend with loc="best" can be slow with large amounts of data.', stacklevel=2)
        return place(legend, *arguments, **options)

    monkeypatch.setattr(Legend, "_find_best_position", find)
    assert picture(Drawn(Figure.FIG11, of_the_model(Figure.FIG11, Run()))).startswith(b"<?xml")
