"""What a calibration says of service times that tell nothing."""

import pytest

from rockdove.capacity.error import Untold
from rockdove.capacity.fit.histogram import Histogram
from rockdove.spark.calibrate.stage import stage


def test_the_link_is_taken_out_once() -> None:
    found = stage(Histogram.of([0.08, 0.12] * 20), 0.02, "sends")
    assert found.mean_s is not None
    assert found.mean_s.value == pytest.approx(0.08)
    assert found.rate.value == pytest.approx(12.5)
    assert found.services == 40


@pytest.mark.parametrize("link_s", [0.0, 0.02])
def test_times_of_nothing_are_no_rate(link_s: float) -> None:
    with pytest.raises(Untold, match="sends: all of them took 0 s by these traces"):
        stage(Histogram.of([0.0] * 40), link_s, "sends")


def test_a_link_longer_than_all_services_is_said() -> None:
    with pytest.raises(Untold, match=r"services: the link, 0\.3 s on average, is longer than each of them"):
        stage(Histogram.of([0.001, 0.1, 0.3] * 20), 0.3, "services")


def test_a_link_longer_than_some_leaves_the_others() -> None:
    assert stage(Histogram.of([0.001, 0.1, 0.5] * 20), 0.3, "services").rate.value == pytest.approx(15)
