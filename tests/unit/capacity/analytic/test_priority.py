"""Classes of messages beside closed forms."""

import pytest

from rockdove.capacity.analytic.mmn import MMn
from rockdove.capacity.analytic.priority import class_waits_s
from rockdove.capacity.error import InvalidScenario, Unstable


def test_one_class_waits_as_all_do() -> None:
    assert class_waits_s([30.3], 10, 4) == pytest.approx([MMn(30.3, 10, 4).mean_wait_s])


def test_two_classes_at_one_thread_are_cobhams() -> None:
    # Residual work: 0.6 * 0.1 s; loads 0.2 and 0.6.
    assert class_waits_s([2, 4], 10, 1) == pytest.approx([0.06 / 0.8, 0.06 / (0.8 * 0.4)])


def test_constant_service_halves_the_residual_work_of_one_thread() -> None:
    assert class_waits_s([2, 4], 10, 1, service_scv=0) == pytest.approx([0.03 / 0.8, 0.03 / (0.8 * 0.4)])


def test_the_best_class_hardly_feels_the_others() -> None:
    alone, beside = class_waits_s([1], 10, 2)[0], class_waits_s([1, 18.9], 10, 2)
    assert beside[0] < 0.06
    assert alone < beside[0] < beside[1]
    assert beside[1] > 5


def test_all_classes_together_must_be_stable() -> None:
    with pytest.raises(Unstable):
        class_waits_s([5, 5], 10, 1)


@pytest.mark.parametrize("arrivals", [[], [1, -1]])
def test_nonsense_is_refused(arrivals: list[float]) -> None:
    with pytest.raises(InvalidScenario):
        class_waits_s(arrivals, 10, 1)
