"""How the time of a trace is cut."""

import numpy as np
import pytest

from rockdove.spark.line import Shown, Walk
from rockdove.spark.spell import Spells, merge
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
    """That of the second queue begins before that of the first."""
    columns = ([0, 0, 0, 0, 1], [25, 5, 8, 40, 1], [28, 12, 9, 41, 22])
    windows = Windows(0, 10, 3)
    spells = merge(Spells(*map(np.array, columns)), windows)
    assert [column.tolist() for column in spells] == [[0, 0, 0, 1], [5, 25, 30, 1], [12, 28, 30, 22]]
    none = np.zeros(0, np.int64)
    shown = Shown(np.zeros(2, np.int64), np.array([0, 1]), np.array([2, 2]))
    [lines] = Walk(windows, shown, none, none, none, spells)
    assert [column.tolist() for column in (lines.queue, lines.window, lines.busy)] == [
        [0, 0, 0, 1, 1],
        [0, 1, 2, 1, 2],
        [5, 2, 3, 10, 2],
    ]
