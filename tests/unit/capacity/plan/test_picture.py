"""A plan's picture is a file that any program for SVG can read."""

from xml.etree import ElementTree

import pytest

from rockdove.capacity.plan.knee import knee_threads
from rockdove.capacity.plan.load import Load
from rockdove.capacity.plan.picture import picture
from rockdove.capacity.plan.planner import Figure, Target, plan

PAPER = Load(arrival=30.3, sender_rate=10, broker_rate=10, q=0.99, link_s=0.02)


@pytest.mark.parametrize(
    ("target", "said"),
    [
        (Target(Figure.MEAN, 0.27), ["plan, at the knee: 5 + 5", "target, mean", "knee: 35.4/s", "plan: 30.3/s"]),
        (Target(Figure.P99, 0.72), ["plan: 6 + 6", "knee: 5 + 5", "99 %", "target, 99 %"]),
        (None, ["plan, at the knee: 5 + 5"]),
    ],
)
def test_it_names_plan_knee_and_target(target: Target | None, said: list[str]) -> None:
    drawn = picture(PAPER, plan(PAPER, target), target, knee_threads(PAPER))
    texts = [
        "".join(node.itertext()) for node in ElementTree.fromstring(drawn).iter("{http://www.w3.org/2000/svg}text")
    ]
    for words in said:
        assert any(words in text for text in texts), words


def test_its_lines_are_as_many_as_its_figures() -> None:
    drawn = picture(PAPER, plan(PAPER, None), None, knee_threads(PAPER))
    root = ElementTree.fromstring(drawn)
    paths = [node for node in root.iter("{http://www.w3.org/2000/svg}path") if "line" in node.get("class", "")]
    assert len(paths) == 2
