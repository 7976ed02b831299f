"""Nets as pictures: what is in the description for Graphviz, and what is said without Graphviz."""

from pathlib import Path

import pytest

from rockdove.capacity.petri import INT, LOW, UNIT, DrawingFailed, Net, Simulator, Token, timed
from rockdove.capacity.petri.dot import dot, page_marking, render, tokens_shown


def net() -> Net:
    page = Net("Inner")
    page.port("In", INT)
    page.place("Kept", INT, fusion="shared")
    page.transition("Keep", {"In": "n"}, {"Kept": "n"}, guard='n < 5 and "<" != ">"', code="x = 1", priority=LOW)
    top = Net("Top")
    top.place("A", INT, [3, 3, 7])
    top.place("Clock", timed(UNIT), "unit @+ 5")
    top.substitute("Sub", page, {"In": "A"})
    top.transition("Tick", {"Clock": "unit"}, reads={"A": "n"})
    return top


def test_a_page_with_its_marking() -> None:
    run = Simulator(net())
    text = dot(run.flat.top, page_marking(run, run.flat.top))
    assert text.startswith('digraph "Top" {')
    assert "<b>A</b><br/><i>INT</i>" in text
    assert "<b>3</b> 2`3, 7" in text
    assert "unit @5" in text
    assert 'peripheries=2, label=<<b>Sub</b><br/><font color="#0550ae" point-size="9">Inner</font>>' in text
    assert '"p:Clock" -> "t:Tick" [label="unit"];' in text
    assert '"p:A" -> "t:Tick" [dir=both, style=dashed, label="n"];' in text
    assert '"p:A" -> "t:Sub" [label=""];' in text


def test_a_page_below_has_the_tokens_of_the_whole() -> None:
    run = Simulator(net())
    page = run.flat.top.substitutions["Sub"].page
    assert page_marking(run, page, "Sub") == {"In": [Token(3), Token(3), Token(7)], "Kept": []}
    text = dot(page, page_marking(run, page, "Sub"))
    assert "[n &lt; 5 and &quot;&lt;&quot; != &quot;&gt;&quot;]" in text
    assert "priority 10000" in text
    assert "fusion shared" in text
    assert ">port<" in text


def test_long_markings_are_cut_and_whole_in_the_tooltip() -> None:
    made = Net("Long")
    place = made.place("Many", INT, range(100, 150))
    text = dot(made, page_marking(Simulator(made), made))
    assert "<b>50</b> 100, 101, 102, 103, 104, 105, 106…" in text
    assert "148\\n149" in text
    assert tokens_shown(place, [Token(1), Token(1), Token(2, 7)], second=2) == ["2`1", "2 @3.5"]


def test_a_description_needs_no_graphviz(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("PATH", str(tmp_path))
    render(dot(net()), tmp_path / "net.dot")
    assert (tmp_path / "net.dot").read_text() == dot(net())
    with pytest.raises(DrawingFailed, match="drawing needs Graphviz: install it, for example"):
        render(dot(net()), tmp_path / "net.svg")


def test_what_graphviz_cannot_do_is_told(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    program = tmp_path / "dot"
    program.write_text("#!/bin/sh\necho 'Format: not recognized' >&2\nexit 1\n")
    program.chmod(0o755)
    monkeypatch.setenv("PATH", f"{tmp_path}:/bin:/usr/bin")
    with pytest.raises(DrawingFailed, match=r"Graphviz cannot write .*net\.xyz: Format: not recognized"):
        render(dot(net()), tmp_path / "net.xyz")
