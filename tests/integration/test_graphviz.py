"""Graphviz draws every net of the performance model."""

from pathlib import Path
from xml.etree import ElementTree

import pytest

from rockdove.capacity.petri import DrawingFailed, Simulator
from rockdove.capacity.petri.dot import dot, page_marking, render
from rockdove.capacity.vma.net.catalogue import NETS, Entry
from rockdove.capacity.vma.net.colour import SECOND
from rockdove.capacity.vma.net.layer import layer_1
from rockdove.capacity.vma.scenario import Option, Scenario


@pytest.mark.parametrize("option", Option)
@pytest.mark.parametrize("entry", NETS, ids=lambda entry: entry.name)
def test_a_net_becomes_a_picture(entry: Entry, option: Option, tmp_path: Path) -> None:
    scenario = Scenario(
        arrival=30.3, sender_rate=10, broker_rate=10, n1=5, n2=5, q=0.9, link_s=0.02, timeout_s=1, option=option
    )
    run = Simulator(layer_1(scenario), seed=1)
    run.run(until=5 * SECOND)
    page = entry.build(scenario)
    file = tmp_path / "net.svg"
    render(dot(page, page_marking(run, page, entry.path)), file)
    root = ElementTree.parse(file).getroot()
    texts = {node.text for node in root.iter() if node.tag.endswith("}text")}
    assert {*page.places, *page.transitions, *page.substitutions} <= texts


def test_what_graphviz_cannot_write_is_told(tmp_path: Path) -> None:
    with pytest.raises(DrawingFailed, match=r"Graphviz cannot write .*net\.nonsense"):
        render("digraph {}", tmp_path / "net.nonsense")
