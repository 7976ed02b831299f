"""A scenario that no system could have is refused where it is made."""

import math

import pytest

from rockdove.capacity.error import InvalidScenario
from rockdove.capacity.vma.scenario import METRICS, Measure, Option, Scenario

GOOD = {"arrival": 30.3, "sender_rate": 10.0, "broker_rate": 10.0, "n1": 4, "n2": 4}


def test_the_defaults_are_a_perfect_link_and_exponential_times() -> None:
    scenario = Scenario(**GOOD)  # type: ignore[arg-type]
    assert (scenario.q, scenario.link_s, scenario.timeout_s) == (1, 0, 0)
    assert (scenario.sender_scv, scenario.broker_scv) == (1, 1)
    assert scenario.option is Option.OUT_OF_ORDER


@pytest.mark.parametrize(
    ("name", "value"),
    [
        ("arrival", 0.0),
        ("arrival", math.nan),
        ("sender_rate", -1.0),
        ("broker_rate", math.inf),
        ("n1", 0),
        ("n2", -1),
        ("q", 0.0),
        ("q", 1.1),
        ("link_s", -0.1),
        ("timeout_s", math.nan),
        ("sender_scv", -1.0),
        ("warm_up_s", 100.0),
        ("duration_s", 0.0),
    ],
)
def test_a_value_out_of_bounds_is_named(name: str, value: float) -> None:
    with pytest.raises(InvalidScenario, match=name):
        Scenario(**{**GOOD, name: value})  # type: ignore[arg-type]


def test_every_metric_is_measured() -> None:
    assert set(METRICS) < set(Measure.__struct_fields__)
