"""``rockdove net draw``."""

import math
from pathlib import Path
from typing import Annotated

import typer

from rockdove.cli import option
from rockdove.cli.failure import Code, Failure
from rockdove.cli.net import subject
from rockdove.cli.output import Output


def draw(
    net: subject.Name,
    out: Annotated[Path, typer.Option("--out", metavar="FILE", help="The picture: .svg, .png, .pdf or .dot.")],
    at: Annotated[
        float,
        typer.Option("--at", metavar="SECONDS", help="Show the marking at this model time."),
    ] = 0,
    seed: subject.Seed = 1,
    consistency: subject.Option = subject.Order.OUT_OF_ORDER,
    as_json: option.Json = False,
) -> None:
    """Draw a net with its marking.

    Needs Graphviz, except for a .dot file. A page of the model is shown as it is in the whole, which runs up to the
    time of the marking.

    \b
    Examples:
      rockdove net draw Send_Proc --out send.svg
      rockdove net draw Broker --option in_order --at 60 --out broker.svg
    """
    if not 0 <= at < math.inf:
        raise Failure(f"--at must be a number of 0 or more, not {at:g}", Code.USAGE)
    found = subject.find(net, consistency)
    from rockdove.capacity.petri.dot import dot, render

    run = found.run(seed)
    if at:
        found.run_to(run, at)
    title = f"{found.page.name}, at {at:g} s" if at else found.page.name
    try:
        render(dot(found.page, found.marking(run), title), out)
    except OSError as error:
        raise Failure(f"cannot write {out}: {error.strerror}") from None
    output = Output(as_json)
    if as_json:
        output.document({"net": found.page.name, "at_s": at, "file": str(out)})
    else:
        output.line(str(out))
