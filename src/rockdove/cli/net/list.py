"""``rockdove net list``."""

from rockdove.cli import option
from rockdove.cli.net import subject
from rockdove.cli.output import Output


def list_nets(as_json: option.Json = False) -> None:
    """List the nets of the performance model.

    \b
    Example:
      rockdove net list
    """
    subject.require()
    from rockdove.capacity.vma.net.catalogue import NETS

    rows = []
    for entry in NETS:
        net = entry.build(subject.usual(subject.Order.OUT_OF_ORDER))
        rows.append(
            {
                "name": entry.name,
                "figure": entry.figure,
                "places": len(net.places),
                "transitions": len(net.transitions),
                "substitutions": len(net.substitutions),
                "about": net.description.strip().split("\n")[0],
            }
        )
    output = Output(as_json)
    if as_json:
        output.document(rows)
        return
    headings = ("net", "figure", "places", "transitions", "subtransitions", "about")
    output.table(headings, [[str(value) for value in row.values()] for row in rows], numbers=(2, 3, 4))
