"""The two engines are one model: the Petri net and the compiled loop have the same means, and where there is one, the
formulas have it, too."""

import math
from typing import Any

import pytest

from rockdove.capacity.analytic.network import Network
from rockdove.capacity.interval import interval
from rockdove.capacity.vma import compiled, petri
from rockdove.capacity.vma.scenario import METRICS, Option, Scenario

GRID: list[dict[str, Any]] = [
    {"n1": 5, "n2": 5, "q": 0.99},
    {"n1": 6, "n2": 10, "q": 0.88},
    {"n1": 7, "n2": 7, "q": 0.88, "timeout_s": 0.5},
    {"n1": 5, "n2": 6, "q": 0.88, "sender_scv": 0.25, "broker_scv": 2.0},
]


@pytest.mark.parametrize("option", list(Option))
@pytest.mark.parametrize("given", GRID, ids=str)
def test_both_engines_have_the_same_means(given: dict[str, Any], option: Option) -> None:
    base = {"arrival": 30.3, "sender_rate": 10.0, "broker_rate": 10.0, "link_s": 0.02, "warm_up_s": 10.0, **given}
    nets = petri.replicate(Scenario(**base, option=option, duration_s=90.0), 8, 1)
    long = Scenario(**base, option=option, duration_s=1000.0)
    loops = compiled.replicate(long, 20, 1)
    for name in METRICS:
        net, loop = (interval([getattr(run, name) for run in runs]) for runs in (nets, loops))
        apart = math.hypot(net.ci95, loop.ci95)
        # Of 48 comparisons two or three are further apart than that by chance, and hardly one twice as far.
        assert net.mean == pytest.approx(loop.mean, abs=2 * apart), name
        assert name == "waiting" or apart < 0.06 * loop.mean, name
    if option is Option.OUT_OF_ORDER:
        delivery = interval([run.delivery_s for run in loops])
        assert delivery.mean == pytest.approx(Network(long).delivery_s, abs=2 * delivery.ci95, rel=0.02)
