"""A plan that becomes the settings of an elastic queue."""

import msgspec
import pytest

from rockdove.console.plan import Chosen, merged
from rockdove.console.wrong import Wrong
from rockdove.core.elastic import ScalingPolicy, read

CHOSEN = Chosen(queue="jobs", policy="model", min_workers=2, max_workers=8, max_load=4)


def test_a_queue_that_was_not_elastic() -> None:
    elastic = read(merged(None, CHOSEN))
    assert (elastic.policy, elastic.min_workers, elastic.max_workers) == (ScalingPolicy.MODEL, 2, 8)
    assert (elastic.max_load, elastic.min_load) == (4, 1)


def test_what_the_plan_does_not_say_stays() -> None:
    before = (
        '{"periodS": 2, "slots": 3, "minLoad": 50, "maxLoad": 200, "sla": {"delta": 1, "startupS": 2, "capacity": 3}}'
    )
    document = msgspec.json.decode(merged(before, CHOSEN))
    assert (document["periodS"], document["slots"], document["sla"]["delta"]) == (2, 3, 1)
    # It would be above maxLoad now.
    assert "minLoad" not in document


@pytest.mark.parametrize(
    ("chosen", "field"),
    [
        (Chosen("jobs", "model", 0, 8, 4), "min_workers"),
        (Chosen("jobs", "model", 9, 8, 4), "min_workers"),
        (Chosen("jobs", "model", 1, 1001, 4), "max_workers"),
        (Chosen("jobs", "model", 1, 8, 0), "max_load"),
        (Chosen("jobs", "guess", 1, 8, 4), None),
    ],
)
def test_what_cannot_be_is_told_at_its_input(chosen: Chosen, field: str | None) -> None:
    with pytest.raises(Wrong) as caught:
        merged(None, chosen)
    assert caught.value.field == field
