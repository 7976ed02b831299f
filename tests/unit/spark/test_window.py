"""How the time of a trace is cut."""

import pytest

from rockdove.spark.spell import merge, spread
from rockdove.spark.window import MOST, USUAL, Windows, cut

SECOND = 1_000_000


@pytest.mark.parametrize(
    ("length_s", "width_s"),
    [(0, 1), (60, 1), (240, 1), (241, 2), (3600, 15), (7 * 86400, 3600), (1000 * 86400, 5 * 86400)],
)
def test_a_window_has_a_length_that_one_would_choose(length_s: int, width_s: int) -> None:
    windows = cut(0, length_s * SECOND)
    assert windows.width == width_s * SECOND
    assert windows.number <= USUAL + 1


def test_windows_begin_at_multiples_of_their_length() -> None:
    assert cut(25 * SECOND, 39 * SECOND, 10) == Windows(20 * SECOND, 10 * SECOND, 2)


def test_too_many_windows_are_refused() -> None:
    with pytest.raises(ValueError, match="--window"):
        cut(0, (MOST + 1) * 1000, 0.001)


def test_work_is_shared_out_to_windows() -> None:
    import numpy as np

    begins, ends = merge(np.array([25, 5, 8, 40]), np.array([28, 12, 9, 41]))
    assert (begins.tolist(), ends.tolist()) == ([5, 25, 40], [12, 28, 41])
    assert spread(begins, ends, Windows(0, 10, 3)).tolist() == [5, 2, 3]
