"""`rockdove net`: the paper's nets and one's own, listed, shown, drawn, stepped through and exported."""

import json
from pathlib import Path
from xml.etree import ElementTree

import pytest

from tests.unit.cli.outcome import Cli

OWN = """
from rockdove.capacity.petri import INT, Net, timed

def make():
    net = Net("Mine")
    net.place("A", timed(INT), "each([1, 2]) @+ 3")
    net.place("B", INT)
    net.transition("Go", {"A": "x"}, {"B": "10 * x"})
    return net

net = make()
number = 5
"""


@pytest.fixture
def own(tmp_path: Path) -> str:
    (tmp_path / "mine.py").write_text(OWN)
    return "mine.py:net"


def test_list(cli: Cli) -> None:
    rows = cli("net", "list", "--json").document
    assert [row["name"] for row in rows] == [
        *("Layer_1", "Layer_2", "Send_Proc", "Broker", "Recv_Proc", "Visibility_Timeout")
    ]
    assert (rows[2]["places"], rows[2]["transitions"], rows[2]["figure"]) == (13, 7, "6")
    assert "Send_Proc" in cli("net", "list").out


def test_show(cli: Cli, own: str) -> None:
    text = cli("net", "show", "send-proc").out
    assert "colset ThreadxMsg = product Thread * Msg timed;" in text
    assert "takes Buffer: [(msg, since), *waiting]" in text
    assert "Chosen:" in text
    document = cli("net", "show", "Broker", "--option", "in_order", "--json").document
    assert document["transitions"][0]["guard"] == "ifMsgArrived(msgs, msgid)"
    assert document["substitutions"][0]["page"] == "Visibility_Timeout"
    assert cli("net", "show", own, "--json").document["places"][0]["initial"] == "each([1, 2]) @+ 3"
    assert "Visibility_Timeout is the net Visibility_Timeout" in cli("net", "show", "Broker").out


def test_draw(cli: Cli, own: str, tmp_path: Path) -> None:
    outcome = cli("net", "draw", "Broker", "--option", "in_order", "--at", "5", "--out", "broker.dot", "--json")
    assert outcome.document == {"net": "Broker", "at_s": 5.0, "file": "broker.dot"}
    text = (tmp_path / "broker.dot").read_text()
    assert "Broker, at 5 s" in text
    assert "Queue_Index" in text
    assert cli("net", "draw", "mine.py:make", "--out", "mine.dot").out == "mine.dot\n"
    assert "1 @3" in (tmp_path / "mine.dot").read_text()
    assert cli("net", "draw", own, "--out", "no/such.dot").err == (
        "rockdove: cannot write no/such.dot: No such file or directory\n"
    )


def test_export(cli: Cli, tmp_path: Path) -> None:
    assert cli("net", "export", "Layer_1", "--pnml", "model.pnml").out == "model.pnml\n"
    assert ElementTree.parse(tmp_path / "model.pnml").getroot().tag.endswith("pnml")
    assert cli("net", "export", "Layer_1", "--pnml", "x.pnml", "--json").document["net"] == "Layer_1"
    assert "cannot write no/x" in cli("net", "export", "Layer_1", "--pnml", "no/x").err


def test_random_steps(cli: Cli, own: str) -> None:
    outcome = cli("net", "step", own, "--steps", "5", "--json")
    lines = [json.loads(line) for line in outcome.out.splitlines()]
    assert [line["transition"] for line in lines] == ["Go", "Go"]
    assert {line["values"]["x"] for line in lines} == {1, 2}
    assert lines[0]["time"] == 3
    assert outcome.err == "nothing can fire any more\n"
    first = json.loads(cli("net", "step", "Layer_1", "--steps", "12", "--json").out.splitlines()[-1])
    assert first["transition"].startswith("Cloud_queue.")


def test_records_are_objects_in_json(cli: Cli) -> None:
    lines = cli("net", "step", "Layer_1", "--steps", "40", "--json").out.splitlines()
    joined = next(line for line in map(json.loads, lines) if line["transition"].endswith(".Join"))
    assert joined["values"]["msg"]["id"] == 1
    assert joined["values"]["waiting"] == []


def test_steps_that_are_chosen(cli: Cli, own: str) -> None:
    outcome = cli("net", "step", own, stdin=b"what\n2\nm\n\n")
    assert outcome.out == "3.000000  Go (x = 2)\n3.000000  Go (x = 1)\n"
    assert "  1  Go (x = 1)\n  2  Go (x = 2)\n" in outcome.err
    # After a step, what has changed.
    assert "  A: 1\n  B: 20\n" in outcome.err
    assert outcome.err.count("number: fire that one") == 2
    assert outcome.err.endswith("nothing can fire any more\n")


def test_stepping_ends_when_asked_to(cli: Cli, own: str) -> None:
    assert cli("net", "step", own, stdin=b"+1\nq\n1\n").out.count("\n") == 1
    assert cli("net", "step", own, stdin=b"").out == ""


@pytest.mark.parametrize(
    ("name", "told"),
    [
        ("Layer_3", "there is no net Layer_3; there are Layer_1, Layer_2, Send_Proc"),
        ("yours.py:net", "there is no file yours.py"),
        ("mine.py:number", "number of mine.py is no net but of type int; name a Net, or a function without arguments"),
        ("mine.py:nothing", "mine.py has no net nothing"),
    ],
)
def test_nets_that_are_not_there(cli: Cli, own: str, name: str, told: str) -> None:
    outcome = cli("net", "show", name)
    assert (outcome.code, outcome.out) == (3, "")
    assert outcome.err.startswith(f"rockdove: {told}")


@pytest.mark.parametrize("time", ["nan", "inf", "-1"])
def test_a_time_that_never_comes_is_a_usage_error(cli: Cli, time: str) -> None:
    outcome = cli("net", "draw", "Broker", f"--at={time}", "--out", "x.dot")
    assert (outcome.code, outcome.out) == (2, "")
    assert outcome.err == f"rockdove: --at must be a number of 0 or more, not {time}\n"


def test_a_net_whose_time_stands_still_is_not_waited_for(cli: Cli, tmp_path: Path) -> None:
    (tmp_path / "live.py").write_text(
        OWN.replace("timed(INT)", "INT").replace(" @+ 3", "").replace('"B": "10 ', '"A": "1 ')
    )
    outcome = cli("net", "draw", "live.py:net", "--at", "1", "--out", "x.dot")
    assert (outcome.code, outcome.out) == (1, "")
    assert "net Mine does not get to 1 s: it fired 100,000 times while its time stood at 0 s" in outcome.err


def test_an_error_in_ones_own_file_is_told_as_such(cli: Cli, tmp_path: Path) -> None:
    (tmp_path / "bad.py").write_text("def make():\n    return 1 / 0\n")
    outcome = cli("net", "show", "bad.py:make")
    assert (outcome.code, outcome.out) == (1, "")
    assert outcome.err == ("rockdove: make of bad.py failed in line 2 of bad.py: ZeroDivisionError: division by zero\n")
    (tmp_path / "bad.py").write_text("import nothing_of_this_name\n")
    assert "rockdove: bad.py failed in line 1 of bad.py: ModuleNotFoundError" in cli("net", "show", "bad.py:x").err


def test_a_broken_net_is_one_line(cli: Cli, tmp_path: Path) -> None:
    (tmp_path / "bad.py").write_text(OWN.replace('"10 * x"', '"10 * y"'))
    outcome = cli("net", "step", "bad.py:net")
    assert outcome.code == 1
    assert outcome.err == (
        "rockdove: net Mine, transition Go, arc to B: y has no value; the arcs into the transition bind x\n"
    )


def test_without_the_extra_the_command_to_install_it_is_named(cli: Cli, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("rockdove.cli.net.subject._NEEDED", ("numpy", "not_there"))
    outcome = cli("net", "list")
    assert (outcome.code, outcome.out) == (1, "")
    assert outcome.err == 'rockdove: not_there not found; install the models with: pip install "rockdove[capacity]"\n'
