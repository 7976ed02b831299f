"""Nets as pictures: a description for Graphviz, and Graphviz itself for SVG and its like."""

from __future__ import annotations

import shutil
import subprocess
from collections import Counter
from collections.abc import Iterator, Mapping, Sequence
from html import escape
from pathlib import Path

from rockdove.capacity.petri.error import DrawingFailed
from rockdove.capacity.petri.net import NORMAL, Net, Place, Substitution, Transition
from rockdove.capacity.petri.simulator import Simulator, Token

# What a place shows of its tokens; the whole marking is in its tooltip.
_SHOWN = 34
_MISSING = (
    'drawing needs Graphviz: install it, for example with "apt install graphviz", or give a file that ends in .dot'
)

# Local names of places, and their tokens.
Marking = Mapping[str, Sequence[Token]]


def dot(net: Net, marking: Marking | None = None, title: str = "") -> str:
    """One page: its places with their tokens, its transitions, and substitution transitions with a double border."""
    # Long nets go down the page, where inscriptions take less room.
    way = "LR" if len(net.transitions) < 3 else "TB"
    lines = [
        f"digraph {_quoted(net.name)} {{",
        f"  label={_quoted(title or net.name)}; labelloc=t; rankdir={way}; nodesep=0.4; ranksep=0.5;",
        '  node [fontname="Helvetica", fontsize=11]; edge [fontname="Helvetica", fontsize=9, arrowsize=0.7];',
    ]
    lines += [f"  {line}" for line in _page(net, marking or {})]
    return "\n".join([*lines, "}"]) + "\n"


def page_marking(run: Simulator, net: Net, path: str = "") -> dict[str, list[Token]]:
    """The tokens of one page of a running hierarchy; `path` leads to it, such as ``Cloud_queue.Send_Proc``."""
    marking = run.marking()
    prefix = f"{path}." if path else ""
    return {name: marking[run.flat.place(prefix + name).name] for name in net.places}


def render(text: str, file: Path) -> None:
    """Write a picture, of the kind that the file's name ends in. Raises `DrawingFailed`."""
    if file.suffix == ".dot":
        file.write_text(text)
        return
    if shutil.which("dot") is None:
        raise DrawingFailed(_MISSING)
    kind = file.suffix.removeprefix(".") or "svg"
    done = subprocess.run(
        ["dot", f"-T{kind}", "-o", str(file)], input=text, text=True, capture_output=True, check=False
    )
    if done.returncode:
        raise DrawingFailed(f"Graphviz cannot write {file}: {' '.join(done.stderr.split())}")


def _page(net: Net, marking: Marking) -> Iterator[str]:
    for place in net.places.values():
        yield _place(net, place, marking.get(place.name, ()))
    for transition in net.transitions.values():
        yield _transition(transition)
    for substitution in net.substitutions.values():
        yield _substitution(substitution)
    for transition in net.transitions.values():
        for arc in transition.arcs:
            yield _arc(arc.place, transition.name, arc.way, arc.text)
    for substitution in net.substitutions.values():
        for socket in dict.fromkeys(substitution.ports.values()):
            yield _arc(socket, substitution.name, _way(substitution, socket), "")


def _way(substitution: Substitution, place: str) -> str:
    """Whether the page below takes from the place, gives to it, or both."""
    ports = {port for port, socket in substitution.ports.items() if socket == place}
    page = substitution.page
    ways = {arc.way for each in page.transitions.values() for arc in each.arcs if arc.place in ports}
    for inner in page.substitutions.values():
        ways |= {_way(inner, port) for port in ports if port in inner.ports.values()}
    taken, given = bool(ways & {"takes", "both"}), bool(ways & {"gives", "both"})
    if taken and given:
        return "both"
    return "gives" if given else "takes" if taken else "reads"


def _place(net: Net, place: Place, tokens: Sequence[Token]) -> str:
    shown = tokens_shown(place, tokens, net.second)
    lines = [_bold(place.name), f"<i>{escape(place.colour.name)}</i>"]
    if tokens:
        text = escape(_cut(", ".join(shown)))
        # One kind of tokens has its number with it.
        number = f"<b>{len(tokens)}</b> " if len(shown) > 1 else ""
        lines.append(f'<font color="#1a7f37">{number}{text}</font>')
    tags = [f"fusion {place.fusion}"] if place.fusion else []
    tags += ["port"] if place.is_port else []
    if tags:
        lines.append(f'<font color="#0550ae" point-size="9">{escape(", ".join(tags))}</font>')
    tooltip = f"{place.name}: {place.colour.declaration()} " + ("\n".join(shown) or "no tokens")
    return f"{_node('p', place.name)} [shape=ellipse, label=<{'<br/>'.join(lines)}>, tooltip={_quoted(tooltip)}];"


def tokens_shown(place: Place, tokens: Sequence[Token], second: float = 1) -> list[str]:
    """Tokens as people read them, with how many there are of each (``3`thread``) and their times."""
    counts = Counter((place.colour.show(token.value), token.time) for token in tokens)
    return [
        (f"{count}`" if count > 1 else "") + text + (f" @{time / second:.10g}" if time else "")
        for (text, time), count in counts.items()
    ]


def _transition(transition: Transition) -> str:
    lines = [_bold(transition.name)]
    if transition.guard:
        lines.append(f"[{escape(transition.guard)}]")
    if transition.delay:
        lines.append(f"@+ {escape(transition.delay)}")
    if transition.code:
        code = "; ".join(line for line in transition.code.splitlines() if line)
        lines.append(f'<font color="#57606a" point-size="9">{escape(code)}</font>')
    if transition.priority != NORMAL:
        lines.append(f'<font color="#57606a" point-size="9">priority {transition.priority}</font>')
    return f"{_node('t', transition.name)} [shape=box, label=<{'<br/>'.join(lines)}>];"


def _substitution(each: Substitution) -> str:
    lines = [_bold(each.name)]
    if each.page.name != each.name:
        lines.append(f'<font color="#0550ae" point-size="9">{escape(each.page.name)}</font>')
    return f"{_node('t', each.name)} [shape=box, peripheries=2, label=<{'<br/>'.join(lines)}>];"


def _arc(place: str, transition: str, way: str, text: str) -> str:
    ends = (_node("p", place), _node("t", transition))
    first, second = reversed(ends) if way == "gives" else ends
    look = {"both": "dir=both, ", "reads": "dir=both, style=dashed, "}.get(way, "")
    return f"{first} -> {second} [{look}label={_quoted(text)}];"


def _node(kind: str, name: str) -> str:
    return _quoted(f"{kind}:{name}")


def _bold(name: str) -> str:
    return f"<b>{escape(name)}</b>"


def _cut(text: str) -> str:
    return text if len(text) <= _SHOWN else text[: _SHOWN - 1] + "…"


def _quoted(text: str) -> str:
    return '"' + text.replace("\\", "\\\\").replace('"', '\\"').replace("\n", "\\n") + '"'
