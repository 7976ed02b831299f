"""``rockdove net export``."""

from pathlib import Path
from typing import Annotated

import typer

from rockdove.cli import option
from rockdove.cli.failure import Failure
from rockdove.cli.net import subject
from rockdove.cli.output import Output


def export(
    net: subject.Name,
    pnml: Annotated[Path, typer.Option("--pnml", metavar="FILE", help="The PNML file to write.")],
    consistency: subject.Option = subject.Order.OUT_OF_ORDER,
    as_json: option.Json = False,
) -> None:
    """Write a net, with all pages below it, as PNML for other tools.

    \b
    Example:
      rockdove net export Layer_1 --pnml model.pnml
    """
    found = subject.find(net, consistency).page
    from rockdove.capacity.petri.pnml import pnml as written

    try:
        pnml.write_text(written(found))
    except OSError as error:
        raise Failure(f"cannot write {pnml}: {error.strerror}") from None
    output = Output(as_json)
    if as_json:
        output.document({"net": found.name, "file": str(pnml)})
    else:
        output.line(str(pnml))
