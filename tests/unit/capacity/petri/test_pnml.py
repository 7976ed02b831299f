"""Nets as PNML: plain ones as any tool reads them, others with their inscriptions, hierarchies as pages."""

from xml.etree import ElementTree

import pytest

from rockdove.capacity.petri import INT, LOW, UNIT, Listing, Net, timed
from rockdove.capacity.petri.pnml import pnml
from rockdove.capacity.vma.net import layer_1
from rockdove.capacity.vma.scenario import Option, Scenario

NS = {"p": "http://www.pnml.org/version-2009/grammar/pnml"}


def parsed(net: Net) -> ElementTree.Element:
    return ElementTree.fromstring(pnml(net))


def texts(root: ElementTree.Element, path: str) -> list[str | None]:
    return [node.findtext("p:text", namespaces=NS) for node in root.findall(path, NS)]


def test_a_net_of_black_tokens() -> None:
    net = Net("Plain")
    net.place("A", UNIT, "times(3, unit)")
    net.place("B", UNIT)
    net.transition("Go", {"A": ["unit", "unit"]}, {"B": "times(4, unit)"}, reads={"B": "unit"})
    root = parsed(net)
    kind = root.find("p:net", NS)
    assert kind is not None
    assert kind.get("type") == "http://www.pnml.org/version-2009/grammar/ptnet"
    assert texts(root, ".//p:place/p:name") == ["A", "B"]
    assert texts(root, ".//p:initialMarking") == ["3"]
    # Two of A are taken; one of B is read, so taken and given back, which makes five given.
    assert texts(root, ".//p:inscription") == ["2", "1", "5"]


def test_a_coloured_net() -> None:
    net = Net("Coloured")
    net.place("A", Listing("Ints", INT), [(1, 2)])
    net.place("B", timed(INT, "Later"))
    net.transition("Go", {"A": "[x, *xs]"}, {"A": "xs", "B": "x @+ 5"}, guard="x < 9", code="y = 1", priority=LOW)
    root = parsed(net)
    assert texts(root, ".//p:hlinitialMarking") == ["1`[1, 2]"]
    assert texts(root, ".//p:place/p:type") == ["Ints", "Later"]
    assert texts(root, ".//p:hlinscription") == ["[x, *xs]", "xs", "x @+ 5"]
    assert texts(root, ".//p:condition") == ["x < 9"]
    assert texts(root, ".//p:declaration") == ["colset INT = int;\ncolset Ints = list INT;\ncolset Later = int timed;"]
    ours = root.find(".//p:toolspecific", NS)
    assert ours is not None
    assert ours.get("tool") == "rockdove"
    assert (ours.findtext("p:code", namespaces=NS), ours.findtext("p:priority", namespaces=NS)) == ("y = 1", "10000")


@pytest.mark.parametrize("option", Option)
def test_the_paper_s_hierarchy_is_whole(option: Option) -> None:
    scenario = Scenario(arrival=30.3, sender_rate=10, broker_rate=10, n1=5, n2=5, option=option)
    root = parsed(layer_1(scenario))
    assert texts(root, ".//p:page/p:name") == [
        *("Layer_1", "Cloud_queue", "Send_Proc", "Broker", "Visibility_Timeout", "Recv_Proc")
    ]
    assert len(root.findall(".//p:transition", NS)) == 15
    places = {node.get("id") for node in root.findall(".//p:place", NS)}
    shared = {node.get("id"): node.get("ref") for node in root.findall(".//p:referencePlace", NS)}
    assert set(shared.values()) <= places
    ids = [node.get("id") for node in root.iter() if node.get("id")]
    assert len(ids) == len(set(ids))
    # Arcs stay within a page, as the standard demands.
    for page in root.iter(f"{{{NS['p']}}}page"):
        here = {node.get("id") for node in page}
        for arc in page.findall("p:arc", NS):
            assert {arc.get("source"), arc.get("target")} <= here


def test_an_arc_of_no_tokens_is_left_out() -> None:
    net = Net("Sink")
    net.place("P", UNIT, "times(3, unit)")
    net.transition("T", {"P": "times(2, unit)"}, {"P": "times(0, unit)"})
    assert texts(parsed(net), ".//p:inscription") == ["2"]
