"""``rockdove net show``."""

from __future__ import annotations

import inspect
from typing import TYPE_CHECKING, Any

from rockdove.cli import option
from rockdove.cli.net import subject
from rockdove.cli.output import Output

if TYPE_CHECKING:
    from rockdove.capacity.petri import Net


def show(
    net: subject.Name,
    consistency: subject.Option = subject.Order.OUT_OF_ORDER,
    as_json: option.Json = False,
) -> None:
    """Show a net: its colour sets, places, transitions and arcs.

    \b
    Examples:
      rockdove net show Visibility_Timeout
      rockdove net show Broker --option in_order --json
    """
    found = subject.find(net, consistency).page
    output = Output(as_json)
    if as_json:
        output.document(_document(found))
    else:
        _print(found, output)


def _document(net: Net) -> dict[str, Any]:
    return {
        "name": net.name,
        "description": inspect.cleandoc(net.description),
        "colours": [colour.declaration() for colour in net.colours],
        "places": [
            {
                "name": place.name,
                "colour": place.colour.name,
                "initial": _initial(place),
                "port": place.is_port,
                "fusion": place.fusion or None,
            }
            for place in net.places.values()
        ],
        "transitions": [
            {
                "name": each.name,
                "arcs": [{"place": arc.place, "way": arc.way, "inscription": arc.text} for arc in each.arcs],
                "guard": each.guard or None,
                "code": each.code or None,
                "delay": each.delay or None,
                "priority": each.priority,
            }
            for each in net.transitions.values()
        ],
        "substitutions": [
            {"name": each.name, "page": each.page.name, "ports": dict(each.ports)}
            for each in net.substitutions.values()
        ],
    }


def _initial(place: Any) -> str:
    if isinstance(place.initial, str):
        return place.initial
    return ", ".join(place.colour.show(value) for value in place.initial)


def _print(net: Net, output: Output) -> None:
    output.line(f"{net.name}\n")
    if net.description:
        output.line(inspect.cleandoc(net.description) + "\n")
    for colour in net.colours:
        output.line(colour.declaration())
    output.line("")
    rows = [
        [place.name, place.colour.name, _initial(place), "port" if place.is_port else place.fusion]
        for place in net.places.values()
    ]
    output.table(("place", "colour set", "initial marking", ""), rows)
    for each in net.transitions.values():
        output.line(f"\n{each.name}" + (f"  [{each.guard}]" if each.guard else ""))
        for arc in each.arcs:
            output.line(f"  {arc.way} {arc.place}: {arc.text}")
        for name, text in (("code", each.code), ("delay", each.delay)):
            if text:
                output.line(f"  {name}: {'; '.join(text.splitlines())}")
    for sub in net.substitutions.values():
        output.line(f"\n{sub.name} is the net {sub.page.name}, by {', '.join(sub.ports)}")
