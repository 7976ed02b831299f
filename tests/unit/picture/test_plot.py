"""Charts: what is drawn where, and what is said beside it."""

from xml.etree import ElementTree

import pytest

from rockdove.picture.plot import HEIGHT, WIDTH, Line, Point, chart, heat
from rockdove.picture.scale import counts, numbers
from rockdove.picture.style import style
from rockdove.picture.word import short


def texts(drawn: str) -> list[str]:
    return ["".join(node.itertext()) for node in ElementTree.fromstring(drawn).iter("text")]


def test_over_time_the_marks_are_a_clock() -> None:
    drawn = chart([0, 30, 60], [Line("sent", [1, 2, 3], 1)], short)
    assert {"00:00:00", "00:00:30", "00:01:00"} <= set(texts(drawn))


def test_over_numbers_they_are_numbers() -> None:
    drawn = chart([0, 10, 20], [Line("mean", [1, 2, 3], 1)], short, marks=numbers)
    assert {"0", "5", "10", "15", "20"} <= set(texts(drawn))


def test_over_counts_there_are_no_halves() -> None:
    assert [word for _, word in counts(4, 8)] == ["4", "5", "6", "7", "8"]
    assert [word for _, word in counts(4, 6)] == ["4", "5", "6"]


def test_a_gap_parts_a_line() -> None:
    drawn = chart([0, 1, 2, 3, 4], [Line("mean", [1, 2, None, 2, 1], 1)], short, marks=numbers)
    assert drawn.count("<path") == 2


def test_a_point_is_within_the_picture_and_has_its_name() -> None:
    drawn = chart([0, 10], [Line("mean", [1, 2], 1)], short, marks=numbers, points=[Point(9, 1.9, "knee", 2)])
    (circle,) = ElementTree.fromstring(drawn).iter("circle")
    assert 0 < float(circle.get("cx", "")) < WIDTH
    assert 0 < float(circle.get("cy", "")) < HEIGHT
    assert "knee" in texts(drawn)


@pytest.mark.parametrize("windows", [1, 2, 7, 500])
def test_a_cell_stands_over_its_time(windows: int) -> None:
    times = [60.0 * number for number in range(windows)]
    drawn = ElementTree.fromstring(heat(["jobs"], times, [[1] * windows], short))
    stride = -(-windows // 160)
    cells = [float(cell.get("x", "")) for cell in drawn.iter("rect")]
    begin = dict(zip([clock_of(time) for time in times[::stride]], cells, strict=True))
    ticks = [float(line.get("x1", "")) for line in drawn.iter("line")]
    words = ["".join(node.itertext()) for node in drawn.iter("text")][1:]
    assert ticks
    for word, tick in zip(words, ticks, strict=True):
        if word in begin:
            assert tick == pytest.approx(begin[word], abs=0.2)


def clock_of(seconds: float) -> str:
    minutes = round(seconds) // 60
    return f"{minutes // 60:02}:{minutes % 60:02}"


def test_the_style_is_for_light_and_dark() -> None:
    assert "prefers-color-scheme: dark" in style()
